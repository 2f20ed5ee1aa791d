// Shared by the tests of the face of `messages_compatible` providers: readers with fixed nonces, and requests in the normalized form.

import type { JsonObject, NormalizedEvent, NormalizedRequest } from '../../../../../worker/normalized/index.ts'
import { GatewayError } from '../../../../../worker/normalized/index.ts'
import { messagesCompatibleFace } from '../../../../../worker/protocols/messages/provider/face.ts'
import type { MessagesCompatibleReading } from '../../../../../worker/protocols/messages/provider/reading.ts'
import type { ReaderDependencies, ResponseReader, WrittenChat } from '../../../../../worker/protocols/provider-face.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'

export const options = {
  messagesPath: '/v1/messages',
  countTokensPath: '/v1/messages/count_tokens',
  modelsPath: '/v1/models'
}

export interface Setup {
  reading?: Partial<MessagesCompatibleReading>
  onAnomaly?: NonNullable<ReaderDependencies['onAnomaly']>
}

/** Opens a reader whose nonces count from 0. */
export function openReader({ reading, onAnomaly }: Setup = {}): ResponseReader {
  let nonces = 0
  return messagesCompatibleFace.createReader(
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

/** Frames as the service sends them; text stands for itself. */
export function writeFrames(frames: ReadonlyArray<object | string>): Buffer {
  const written = frames.map(frame => {
    if (typeof frame === 'string') return `data: ${frame}\n\n`
    const name = 'type' in frame ? `event: ${frame.type}\n` : ''
    return `${name}data: ${JSON.stringify(frame)}\n\n`
  })
  return Buffer.from(written.join(''))
}

export const usage = { input_tokens: 10, output_tokens: 1 }

export function messageStart(more: object = {}): object {
  return {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'upstream-model',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
      ...more
    }
  }
}

export const start = (index: number, block: object) => ({ type: 'content_block_start', index, content_block: block })
export const delta = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta })
export const stop = (index: number) => ({ type: 'content_block_stop', index })
export const textDelta = (index: number, text: string) => delta(index, { type: 'text_delta', text })
export const inputDelta = (index: number, piece: string) =>
  delta(index, { type: 'input_json_delta', partial_json: piece })
export const messageDelta = (
  reason: unknown = 'end_turn',
  more: object = {},
  counts: object = { output_tokens: 5 }
) => ({
  type: 'message_delta',
  delta: { stop_reason: reason, stop_sequence: null, ...more },
  usage: counts
})
export const messageStop = { type: 'message_stop' }

/** The frames of blocks, between those of the message. */
export function stream(blocks: readonly (object | string)[], reason: unknown = 'end_turn', more: object = {}): Buffer {
  return writeFrames([messageStart(), ...blocks, messageDelta(reason, more), messageStop])
}

/** The frames of a text. */
export function text(index: number, ...pieces: string[]): object[] {
  return [start(index, { type: 'text', text: '' }), ...pieces.map(piece => textDelta(index, piece)), stop(index)]
}

/** The frames of a call. */
export function call(index: number, { id = `toolu_${index}`, name = 'f' } = {}, ...pieces: string[]): object[] {
  return [
    start(index, { type: 'tool_use', id, name, input: {} }),
    ...pieces.map(piece => inputDelta(index, piece)),
    stop(index)
  ]
}

/** A whole response. */
export function answer(content: readonly object[], reason: unknown = 'end_turn', more: object = {}): Buffer {
  return Buffer.from(
    JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'upstream-model',
      content,
      stop_reason: reason,
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 },
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

/** Writes a client's body on the wire. */
export function write(protocol: Protocol, body: JsonObject, isStream = false): WrittenChat<MessagesCompatibleReading> {
  const request = readRequest(protocol, body, isStream)
  return messagesCompatibleFace.writeChat(request, { upstreamModel: 'exact-model' }, options)
}

/** The messages on the wire for messages of chat completions. */
export function writeMessages(messages: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return write('completions', { model: 'a', messages: [...messages], ...more }).body
}
