// Shared by the tests of the face of providers on the Responses wire: readers with fixed nonces, and requests in the normalized form.

import type { JsonObject, NormalizedEvent, NormalizedRequest } from '../../../../../worker/normalized/index.ts'
import { GatewayError } from '../../../../../worker/normalized/index.ts'
import type {
  ChatTarget,
  ReaderDependencies,
  ResponseReader,
  WrittenChat
} from '../../../../../worker/protocols/provider-face.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'
import { responsesCompatibleFace } from '../../../../../worker/protocols/responses/provider/face.ts'
import type { ResponsesCompatibleReading } from '../../../../../worker/protocols/responses/provider/reading.ts'

export const options = { responsesPath: '/v1/responses', embeddingsPath: '/v1/embeddings', modelsPath: '/v1/models' }

export interface Setup {
  reading?: Partial<ResponsesCompatibleReading>
  onAnomaly?: NonNullable<ReaderDependencies['onAnomaly']>
}

/** Opens a reader whose nonces count from 0. */
export function openReader({ reading, onAnomaly }: Setup = {}): ResponseReader {
  let nonces = 0
  return responsesCompatibleFace.createReader(
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

const head = {
  id: 'resp_1',
  object: 'response',
  created_at: 1700000000,
  model: 'upstream-model',
  error: null,
  incomplete_details: null
}
const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 15
}

/** A whole response as an object. */
export function response(output: readonly object[], more: object = {}): JsonObject {
  return { ...head, status: 'completed', output: [...output] as never, usage, ...more }
}

/** A whole response. */
export function answer(output: readonly object[], more: object = {}): Buffer {
  return Buffer.from(JSON.stringify(response(output, more)))
}

/** Numbered events as the service sends them; text stands for itself. */
export function writeFrames(frames: ReadonlyArray<object | string>): Buffer {
  const written = frames.map((frame, index) => {
    if (typeof frame === 'string') return `data: ${frame}\n\n`
    const name = 'type' in frame ? `event: ${frame.type}\n` : ''
    return `${name}data: ${JSON.stringify({ ...frame, sequence_number: index })}\n\n`
  })
  return Buffer.from(written.join(''))
}

export const created = {
  type: 'response.created',
  response: { ...head, status: 'in_progress', output: [], usage: null }
}

/** The events of items between those of the response. */
export function stream(events: readonly object[], output: readonly object[], more: object = {}): Buffer {
  const { type = 'response.completed', ...rest } = more as { type?: string }
  return writeFrames([created, ...events, { type, response: response(output, rest) }])
}

export const added = (index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index: index,
  item
})
export const done = (index: number, item: object) => ({ type: 'response.output_item.done', output_index: index, item })
const at = (index: number) => ({ item_id: `item_${index}`, output_index: index, content_index: 0 })
export const textDelta = (index: number, delta: string) => ({
  type: 'response.output_text.delta',
  ...at(index),
  delta,
  logprobs: [],
  obfuscation: 'abc'
})
export const argumentsDelta = (index: number, delta: string) => ({
  type: 'response.function_call_arguments.delta',
  ...at(index),
  delta
})
export const summaryDelta = (index: number, delta: string, part = 0) => ({
  type: 'response.reasoning_summary_text.delta',
  ...at(index),
  summary_index: part,
  delta
})

export const message = (text: string, more: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  ...more
})
export const emptyMessage = { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] }
export const functionCall = (id: string, text: string, name = 'f') => ({
  id: `fc_${id}`,
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: text
})

/** The events of a text. */
export function text(index: number, ...pieces: string[]): object[] {
  return [
    added(index, emptyMessage),
    ...pieces.map(piece => textDelta(index, piece)),
    { type: 'response.output_text.done', ...at(index), text: pieces.join('') },
    done(index, message(pieces.join('')))
  ]
}

/** The events of a call. */
export function call(index: number, id: string, ...pieces: string[]): object[] {
  const whole = pieces.join('')
  return [
    added(index, { ...functionCall(id, ''), status: 'in_progress' }),
    ...pieces.map(piece => argumentsDelta(index, piece)),
    { type: 'response.function_call_arguments.done', ...at(index), arguments: whole },
    done(index, functionCall(id, whole))
  ]
}

export type Protocol = keyof typeof clientFaces

/** Reads a client's body in the normalized form. */
export function readRequest(protocol: Protocol, body: JsonObject, isStream = false): NormalizedRequest {
  const path = protocol === 'content' ? { path: { model: 'alias', isStream } } : {}
  return clientFaces[protocol].readRequest(body, { requestId: 'r', ...path })
}

/** Writes a client's body on the wire. */
export function write(
  protocol: Protocol,
  body: JsonObject,
  { isStream = false, ...target }: Partial<ChatTarget> & { isStream?: boolean } = {}
): WrittenChat<ResponsesCompatibleReading> {
  const request = readRequest(protocol, body, isStream)
  return responsesCompatibleFace.writeChat(request, { upstreamModel: 'exact-model', ...target }, options)
}
