// What whole and streamed chats have in common: the call with its final body, the reader of the response, and the stop strings.

import { randomUUID } from 'node:crypto'
import { type Bytes, joinBytes } from '../../../shared/bytes.ts'
import type { Logger } from '../../../shared/logging.ts'
import { createStopSequenceFilter, type StopSequenceFilter } from '../../normalized/index.ts'
import type { ProviderFace, ResponseEditor, ResponseHead, ResponseReader } from '../../protocols/provider-face.ts'
import { findProviderFace, type ProviderFaces } from '../../protocols/registry.ts'
import type { CallContext, ChatCall } from '../types.ts'
import type { ProviderClient } from './client.ts'
import { logIds } from './failure-report.ts'
import type { ExecutorHooks } from './hooks.ts'
import type { Anomaly, LargeResponses } from './large-responses.ts'
import type { ProviderCall } from './provider-call.ts'

/** The most bytes of one response to a chat. */
export interface ChatBounds {
  /** Of a whole response, before and after decompression. */
  wholeBytesMax: number
  /** Of all events of a stream together. */
  streamBytesMax: number
}

/**
 * As much text as a response may have: parsed JSON takes twenty times its size when it consists of empty objects. Streams are bounded by
 * what their events hold.
 */
export const defaultBounds: ChatBounds = { wholeBytesMax: 8 * 1024 * 1024, streamBytesMax: Number.POSITIVE_INFINITY }

export interface ChatDependencies {
  client: ProviderClient
  faces: ProviderFaces
  hooks: ExecutorHooks
  largeResponses: LargeResponses
  log: Logger
  /** `defaultBounds` unless given. */
  bounds?: ChatBounds
  /** Whether bodies of requests may appear in the log at its debug level. */
  logsPayloads: boolean
}

/** The body of a chat with its attachments uploaded. Rejects with `GatewayError` of the hook. */
export async function uploadAttachments(
  { hooks }: ChatDependencies,
  call: ChatCall,
  context: CallContext
): Promise<Bytes> {
  return (await hooks.uploadAttachments?.(call, context)) ?? call.body
}

/** The chat as a call to its provider, with its final body. */
export function describeChatCall(
  dependencies: ChatDependencies,
  call: ChatCall,
  written: Bytes,
  context: CallContext
): ProviderCall {
  const { path, headers, body: translated, ownMemory } = call
  const fallback = dependencies.hooks.openFallback?.(call, context)
  const body = fallback === undefined ? written : fallback.prepare(written)
  logPayload(dependencies, 'upstream_chat_completion_request', body, context)
  return {
    operation: 'chat',
    method: 'POST',
    path,
    headers,
    body,
    ownMemory: body === translated ? ownMemory : undefined,
    fallback
  }
}

/** The face that wrote the call and reads its response. */
export function findChatFace({ faces }: ChatDependencies, call: ChatCall): ProviderFace {
  return findProviderFace(faces, call.plan)
}

/** The reader for one response to a chat. */
export function openChatReader(
  dependencies: ChatDependencies,
  call: ChatCall,
  context: CallContext,
  head: ResponseHead
): ResponseReader {
  return findChatFace(dependencies, call).createReader(call.reading, head, {
    createNonce: randomUUID,
    onAnomaly(anomaly, details) {
      reportAnomaly(dependencies, call, context, { anomaly, details })
    }
  })
}

/**
 * Reports an anomaly in a usable response: to its request, and with one line in the log. What the reader of a response does not
 * know is none for a client of the provider's own wire: it gets it.
 */
export function reportAnomaly(
  { log }: ChatDependencies,
  { isSameWire }: ChatCall,
  context: CallContext,
  { anomaly, details }: Anomaly
): void {
  if (isSameWire === true) return
  log.warn(
    { event: 'upstream_anomaly', ...logIds(context), anomaly, ...details },
    'A response of the upstream has an anomaly'
  )
  context.onAnomaly?.(anomaly, details)
}

/** The editor of the response to a client of the provider's own wire; undefined for any other response. */
export function openEditor(dependencies: ChatDependencies, call: ChatCall): ResponseEditor | undefined {
  if (call.isSameWire !== true) return undefined
  const { plan, reading } = call
  const options = { publicModel: plan.publicModel, reading, createNonce: randomUUID }
  return findChatFace(dependencies, call).sameWire?.createEditor(options)
}

/** A filter for the stop strings; undefined when there are none. */
export function openStopFilter(stops: readonly string[]): StopSequenceFilter | undefined {
  return stops.length === 0 ? undefined : createStopSequenceFilter(stops)
}

/** Enough of a body to see what was sent, and little enough to keep a debug log small. */
const LOGGED_BYTES_MAX = 64 * 1024

/**
 * Logs what is sent to a provider, in DEBUG. In PROD the line has no payload (operations.md 12).
 */
export function logPayload(
  { log, logsPayloads }: Pick<ChatDependencies, 'log' | 'logsPayloads'>,
  event: 'upstream_chat_completion_request' | 'upstream_embeddings_request',
  body: Bytes,
  context: CallContext
): void {
  if (!log.isLevelEnabled('debug')) return
  const payload = logsPayloads ? readPayload(joinBytes(body)) : '(payload omitted in PROD)'
  log.debug({ event, ...logIds(context), payload }, 'Upstream request body')
}

/** JSON as a value, because the log masks secret members by their names; anything else, and what is too long, as text. */
function readPayload(body: Uint8Array): unknown {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, LOGGED_BYTES_MAX)).toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
