// A chat call to its end: body, one exchange, one reader, the stop strings, and the answer added up.

import { randomUUID } from 'node:crypto'
import type { Logger } from '../../../shared/logging.ts'
import { accumulateEvents, createStopSequenceFilter, type NormalizedResponse } from '../../normalized/index.ts'
import type { ResponseReader } from '../../protocols/face.ts'
import type { TranslatedChat } from '../../translation/types.ts'
import type { AttachmentUploader } from '../native/attachments/uploader.ts'
import type { FileCalls } from '../native/files.ts'
import { createImageFetcher } from '../native/generated-images.ts'
import { substitutePlaceholders } from '../native/placeholders.ts'
import type { CreateReader } from '../native/reader.ts'
import type { CallContext } from '../types.ts'
import type { UpstreamCall, UpstreamClient } from './client.ts'
import type { ExchangeHead } from './exchange.ts'
import { readAnswerHead } from './response-head.ts'
import type { Answer } from './whole-response.ts'

export interface ChatDependencies {
  client: UpstreamClient
  attachments: AttachmentUploader
  files: FileCalls
  createReader: CreateReader
  log: Logger
  /** Whether request bodies may appear in the log at its lowest level. */
  logsPayloads: boolean
}

/** Runs a chat and resolves with its whole answer. Rejects with `GatewayError`. */
export function completeChat(
  dependencies: ChatDependencies,
  call: TranslatedChat,
  context: CallContext
): Promise<NormalizedResponse> {
  const fetchAnswer = (upstreamCall: UpstreamCall) =>
    dependencies.client
      .fetch(upstreamCall, context)
      .then(answer => dependencies.client.read('chat', context, () => readAnswer(dependencies, call, context, answer)))
  const prepared = prepareCall(dependencies, call, context)
  return prepared instanceof Promise ? prepared.then(fetchAnswer) : fetchAnswer(prepared)
}

/** A promise only for an answer with images that the client wants with their bytes. */
function readAnswer(
  dependencies: ChatDependencies,
  call: TranslatedChat,
  context: CallContext,
  answer: Answer
): NormalizedResponse | Promise<NormalizedResponse> {
  let events = openReader(dependencies, call, context, answer.headers).readBody(answer.bytes)
  const stops = stopSequences(call)
  if (stops !== undefined) {
    const filter = createStopSequenceFilter(stops)
    events = [...filter.push(events), ...filter.finish()]
  }
  const images = createImageFetcher(call, context, { download: dependencies.files.download, log: dependencies.log })
  return images?.isNeeded(events) === true ? images.complete(events).then(accumulateEvents) : accumulateEvents(events)
}

/** The call for a chat's body, with the client's attachments uploaded and their ids in place; a promise only when it has some. */
export function prepareCall(
  dependencies: ChatDependencies,
  call: TranslatedChat,
  context: CallContext
): UpstreamCall | Promise<UpstreamCall> {
  if (call.attachments.length === 0) return describeCall(dependencies, call, call.body, context)
  return dependencies.attachments
    .upload(call.attachments, context, call.request.protocol)
    .then(fileIds => describeCall(dependencies, call, substitutePlaceholders(call.body, fileIds), context))
}

function describeCall(
  dependencies: ChatDependencies,
  call: TranslatedChat,
  body: Uint8Array,
  context: CallContext
): UpstreamCall {
  const { endpoints } = dependencies.client.transport
  const base = call.plan.wire === 'native-v2' ? endpoints.v2Base : endpoints.v1Base
  logPayload(dependencies, body, context)
  return {
    operation: 'chat',
    method: 'POST',
    path: `${base}/chat/completions`,
    headers: ['content-type', 'application/json'],
    body
  }
}

/** The reader for one answer to a chat. */
export function openReader(
  dependencies: ChatDependencies,
  call: TranslatedChat,
  context: CallContext,
  headers: ExchangeHead['headers']
): ResponseReader {
  return dependencies.createReader(call.plan.wire, {
    reading: call.reading,
    head: readAnswerHead(headers),
    createNonce: randomUUID,
    onAnomaly(anomaly, details) {
      dependencies.log.warn(
        { event: 'upstream_anomaly', request_id: context.requestId, anomaly, ...details },
        'The upstream answered oddly'
      )
      context.onAnomaly?.(anomaly, details)
    }
  })
}

/** The stop strings that the gateway itself applies, because the upstream knows none. */
export function stopSequences(call: TranslatedChat): string[] | undefined {
  const stops = call.request.sampling.stop?.filter(stop => stop !== '')
  return stops === undefined || stops.length === 0 ? undefined : stops
}

/** Enough of a body to see what was sent, and not so much that a debug log swallows the disk. */
const LOGGED_BYTES_MAX = 64 * 1024

function logPayload({ log, logsPayloads }: ChatDependencies, body: Uint8Array, context: CallContext): void {
  if (!log.isLevelEnabled('debug')) return
  const payload = logsPayloads
    ? Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, LOGGED_BYTES_MAX)).toString('utf8')
    : '(payload omitted in PROD)'
  log.debug(
    { event: 'upstream_chat_completion_request', request_id: context.requestId, payload },
    'Upstream chat request'
  )
}
