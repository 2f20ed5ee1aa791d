// Shared by the tests of the face of `chat_compatible` providers: readers with fixed nonces, and requests in the normalized form.

import type { JsonObject, NormalizedEvent, NormalizedRequest } from '../../../../../worker/normalized/index.ts'
import { GatewayError } from '../../../../../worker/normalized/index.ts'
import { chatCompatibleFace } from '../../../../../worker/protocols/completions/provider/face.ts'
import type { ChatCompatibleReading } from '../../../../../worker/protocols/completions/provider/reading.ts'
import type {
  ChatTarget,
  ReaderDependencies,
  ResponseReader,
  WrittenChat
} from '../../../../../worker/protocols/provider-face.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'

export const options = { chatPath: '/v1/chat/completions', embeddingsPath: '/v1/embeddings', modelsPath: '/v1/models' }

export interface Setup {
  reading?: Partial<ChatCompatibleReading>
  onAnomaly?: NonNullable<ReaderDependencies['onAnomaly']>
}

/** Opens a reader whose nonces count from 0. */
export function openReader({ reading, onAnomaly }: Setup = {}): ResponseReader {
  let nonces = 0
  return chatCompatibleFace.createReader(
    { toolNames: new Map(), stops: [], droppedToolCalls: 0, ...reading },
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

/** A chunk with one choice. */
export function chunk(delta: unknown, finishReason: unknown = null, more: object = {}): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'upstream-model',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
    ...more
  }
}

/** A whole response with one choice. */
export function answer(message: object, finishReason: unknown = 'stop', more: object = {}): Buffer {
  return Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'upstream-model',
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }],
      ...more
    })
  )
}

export type Protocol = keyof typeof clientFaces

/** Reads a client's body in the normalized form. */
export function readRequest(protocol: Protocol, body: JsonObject, isStream = false): NormalizedRequest {
  const path = protocol === 'content' ? { path: { model: 'alias', isStream } } : {}
  return clientFaces[protocol].readRequest(body, { requestId: 'r', ...path })
}

/** Writes a client's body on the wire, for an alias that declares everything unless `target` says otherwise. */
export function write(
  protocol: Protocol,
  body: JsonObject,
  target: Partial<ChatTarget> = {}
): WrittenChat<ChatCompatibleReading> {
  return chatCompatibleFace.writeChat(readRequest(protocol, body), { upstreamModel: 'exact-model', ...target }, options)
}
