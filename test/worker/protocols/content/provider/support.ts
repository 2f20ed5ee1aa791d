// Shared by the tests of the face of `content_compatible` providers: readers with fixed nonces, and requests in the normalized form.

import type { JsonObject, NormalizedEvent, NormalizedRequest } from '../../../../../worker/normalized/index.ts'
import { GatewayError } from '../../../../../worker/normalized/index.ts'
import { contentCompatibleFace } from '../../../../../worker/protocols/content/provider/face.ts'
import type { ContentCompatibleReading } from '../../../../../worker/protocols/content/provider/reading.ts'
import type { ReaderDependencies, ResponseReader, WrittenChat } from '../../../../../worker/protocols/provider-face.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'

export const options = { modelsPath: '/v1beta/models' }

export interface Setup {
  reading?: Partial<ContentCompatibleReading>
  onAnomaly?: NonNullable<ReaderDependencies['onAnomaly']>
}

/** Opens a reader whose nonces count from 0. */
export function openReader({ reading, onAnomaly }: Setup = {}): ResponseReader {
  let nonces = 0
  return contentCompatibleFace.createReader(
    { toolNames: new Map(), droppedToolCalls: 0, ...reading },
    { status: 200, headers: {} },
    { createNonce: () => `nonce-${nonces++}`, ...(onAnomaly === undefined ? {} : { onAnomaly }) }
  )
}

export function readStream(pieces: readonly Uint8Array[], setup: Setup = {}): NormalizedEvent[] {
  const reader = openReader(setup)
  const events = pieces.flatMap(piece => reader.push(piece))
  return events.concat(reader.end())
}

/** The events of a whole response; a thrown error becomes the `error` event that would end a stream. */
export function readWhole(body: Uint8Array, setup: Setup = {}): NormalizedEvent[] {
  try {
    return openReader(setup).readBody(body)
  } catch (error) {
    if (GatewayError.is(error)) return [{ type: 'error', error }]
    throw error
  }
}

/** The detailed id of the error that ends a response; undefined for a response that ends well. */
export function findCause(events: readonly NormalizedEvent[]): unknown {
  const last = events.at(-1)
  return last?.type === 'error' ? last.error.cause : undefined
}

/** Frames as a server sends them; text stands for itself. */
export function writeFrames(frames: ReadonlyArray<object | string>): Buffer {
  return Buffer.from(
    frames.map(frame => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join('')
  )
}

/** A chunk of a stream, or a whole response, with one candidate. */
export function chunk(parts: unknown, finishReason?: unknown, more: object = {}): object {
  const reason = finishReason === undefined ? {} : { finishReason }
  const content = parts === undefined ? {} : { content: { role: 'model', parts } }
  return {
    candidates: [{ index: 0, ...content, ...reason }],
    modelVersion: 'gemini-exact',
    responseId: 'resp-1',
    ...more
  }
}

export function answer(parts: unknown, finishReason: unknown = 'STOP', more: object = {}): Buffer {
  return Buffer.from(JSON.stringify(chunk(parts, finishReason, more)))
}

export type Protocol = keyof typeof clientFaces

/** Reads a client's body in the normalized form. */
export function readRequest(protocol: Protocol, body: JsonObject, isStream = false): NormalizedRequest {
  const path = protocol === 'content' ? { path: { model: 'alias', isStream } } : {}
  return clientFaces[protocol].readRequest(body, { requestId: 'r', ...path })
}

export interface Target {
  isStream?: boolean
  upstreamModel?: string
  features?: readonly string[]
}

/** Writes a client's body on the wire. */
export function write(
  protocol: Protocol,
  body: JsonObject,
  { isStream = false, upstreamModel = 'gemini-2.5-pro', features }: Target = {}
): WrittenChat<ContentCompatibleReading> {
  return contentCompatibleFace.writeChat(readRequest(protocol, body, isStream), { upstreamModel, features }, options)
}
