// Large responses of the benchmark's upstream, chosen by the model's name: `bench-<form>-<number>`. They are prepared once and sent in
// pieces, no faster than the gateway reads, so that the upstream's own event loop stays free for small requests.

import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** What the response holds that many of, or in the unit that the form names. */
export type ResponseForm = 'text' | 'calls' | 'runs' | 'files' | 'frames' | 'stream' | 'count' | 'vectors'

export interface ResponseShape {
  form: ResponseForm
  number: number
  isStream: boolean
}

interface PreparedResponse {
  type: string
  pieces: Buffer[]
}

const MODEL = /"model":"bench-(text|calls|runs|files|frames|stream|count|vectors)-(\d+)"/
const PIECE_BYTES = 128 * 1024
const VECTOR_NUMBERS = 1024
const FRAME_BYTES = 4_000_000
const EVENTS_PER_PIECE = 64
const HEAD = { model: 'bench:1', created: 1767225600, created_at: 1767225600 }
const USAGE = {
  prompt_tokens: 500,
  completion_tokens: 150,
  total_tokens: 650,
  input_tokens: 500,
  output_tokens: 150
}

/** Reads what a request asks for; undefined for the ordinary response. `start` is the beginning of the body. */
export function readResponseShape(start: string, isStream: boolean): ResponseShape | undefined {
  const [, form, number] = MODEL.exec(start) ?? []
  return form === undefined ? undefined : { form: form as ResponseForm, number: Number(number), isStream }
}

const prepared = new Map<string, PreparedResponse>()

/** Sends a response of a shape. */
export async function sendPrepared(response: ServerResponse, shape: ResponseShape): Promise<void> {
  const key = `${shape.form}-${shape.number}-${shape.isStream}`
  const known = prepared.get(key) ?? prepare(shape)
  prepared.set(key, known)
  const { type, pieces } = known
  const length = shape.isStream ? {} : { 'content-length': pieces.reduce((sum, piece) => sum + piece.length, 0) }
  response.writeHead(200, { 'content-type': type, ...length })
  // A gateway that cancels the exchange closes the connection.
  await pipeline(Readable.from(pieces, { objectMode: false }), response).catch(() => undefined)
}

function prepare({ form, number, isStream }: ResponseShape): PreparedResponse {
  if (isStream) return { type: 'text/event-stream', pieces: listStreamPieces(form, number) }
  return { type: 'application/json; charset=utf-8', pieces: cut(Buffer.from(JSON.stringify(writeWhole(form, number)))) }
}

function writeWhole(form: ResponseForm, number: number): unknown {
  switch (form) {
    case 'count':
      return list(number, () => ({ object: 'tokens', tokens: 7, characters: 30 }))
    case 'vectors':
      return { object: 'list', model: 'bench', data: list(number, writeVector) }
    case 'calls':
    case 'runs':
    case 'files':
      return { ...HEAD, ...writeMessage(list(number, index => writePart(form, index))), ...writeEnd(form) }
    case 'text':
    case 'frames':
    case 'stream': {
      const message = { role: 'assistant', content: 'x'.repeat(number) }
      return { ...HEAD, choices: [{ message, index: 0, finish_reason: 'stop' }], usage: USAGE }
    }
  }
}

function writeVector(index: number): object {
  const embedding = list(VECTOR_NUMBERS, at => Math.fround(Math.sin(index * VECTOR_NUMBERS + at)))
  return { object: 'embedding', index, embedding, usage: { prompt_tokens: 7 } }
}

function listStreamPieces(form: ResponseForm, number: number): Buffer[] {
  switch (form) {
    case 'calls':
    case 'runs':
    case 'files': {
      const frames = list(number, index => writeFrame(writeMessage([writePart(form, index)])))
      return cut(Buffer.from(frames.join('') + writeFrame(writeEnd(form), 'response.message.done')))
    }
    case 'frames': {
      const frame = cut(Buffer.from(writeTextFrame('x'.repeat(FRAME_BYTES))))
      return [...list(number, () => frame).flat(), lastTextFrame]
    }
    default: {
      const piece = Buffer.from(writeTextFrame(' token').repeat(EVENTS_PER_PIECE))
      return [...list(Math.ceil(number / EVENTS_PER_PIECE), () => piece), lastTextFrame]
    }
  }
}

function writePart(form: 'calls' | 'runs' | 'files', index: number): object {
  switch (form) {
    case 'calls':
      return { function_call: { name: 'lookup', arguments: { order: `order-${index}` } }, id: `part-${index}` }
    case 'runs':
      return { tool_execution: { name: 'code_interpreter', status: index % 2 === 0 ? 'generating' : 'success' } }
    case 'files':
      return { files: [{ id: `file-${index}`, mime: 'image/jpeg', target: 'image' }] }
  }
}

function writeMessage(content: object[]): object {
  return { messages: [{ role: 'assistant', tool_state_id: 'state-1', content }] }
}

function writeEnd(form: ResponseForm): object {
  return { finish_reason: form === 'calls' ? 'function_call' : 'stop', usage: USAGE }
}

function writeFrame(payload: object, event = 'response.message.delta'): string {
  return `event: ${event}\ndata: ${JSON.stringify({ ...HEAD, ...payload })}\n\n`
}

function writeTextFrame(content: string): string {
  return `data: ${JSON.stringify({ ...HEAD, choices: [{ delta: { content }, index: 0 }] })}\n\n`
}

const lastTextFrame = Buffer.from(
  `data: ${JSON.stringify({ ...HEAD, choices: [{ delta: { content: '' }, index: 0, finish_reason: 'stop' }], usage: USAGE })}\n\ndata: [DONE]\n\n`
)

function cut(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let start = 0; start < bytes.length; start += PIECE_BYTES)
    pieces.push(bytes.subarray(start, start + PIECE_BYTES))
  return pieces
}

function list<Item>(length: number, create: (index: number) => Item): Item[] {
  return Array.from({ length }, (_, index) => create(index))
}
