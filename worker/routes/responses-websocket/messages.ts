// What clients and the gateway say to each other over a WebSocket of Responses (memory.md 5): a message of the client becomes the body of a
// request, and the error of a request becomes an event.

import type { IncomingHttpHeaders } from 'node:http'
import { expandBody } from '../../memory/expand-body.ts'
import { type MemoryWish, readMemoryWish } from '../../memory/read-wish.ts'
import { GatewayError, invalidRequest, isJsonObject, type JsonObject, type JsonValue } from '../../normalized/index.ts'
import {
  findJsonMember,
  isJsonWord,
  type JsonMember,
  listJsonMembers,
  readJsonText
} from '../../protocols/shared/json/json-parts.ts'

const CREATE = 'response.create'

/** A wish of the client for a response. */
export interface CreateMessage {
  /** The body of `POST /responses` that asks for the same, as a stream. */
  readonly body: Buffer
  /** The items of its own input. */
  readonly items: readonly Buffer[]
  readonly previousResponseId: string | undefined
  /** Repeated in every event. */
  readonly streamId: string | undefined
  /** Nothing is generated: the client prepares what a later message continues. */
  readonly isPreparation: boolean
}

/** Members that only a message has, or that the gateway sets. */
const TAKEN_OUT: ReadonlySet<string> = new Set(['type', 'stream', 'stream_id', 'generate'])

/** Reads a message. Raises `invalid_json`, and `invalid_request` for another type and for a body that names two histories. */
export function readMessage(bytes: Buffer): CreateMessage {
  const members = listJsonMembers(bytes)
  if (members === undefined) throw new GatewayError('invalid_json')
  const readText = (name: string) => {
    const member = findJsonMember(members, name)
    return member === undefined ? undefined : readJsonText(bytes, member)
  }
  const type = readText('type')
  if (type !== CREATE) throw invalidRequest('type', `'type' must be '${CREATE}'.`)
  const generate = findJsonMember(members, 'generate')
  const body = writeBody(bytes, members)
  const wish = readMemoryWish(body)
  return {
    body,
    items: wish === undefined ? [] : listItems(body, wish),
    previousResponseId: wish?.previousResponseId,
    streamId: readText('stream_id'),
    isPreparation: generate !== undefined && isJsonWord(bytes, generate, 'false')
  }
}

function writeBody(bytes: Buffer, members: readonly JsonMember[]): Buffer {
  const pieces: Uint8Array[] = [OPENING]
  for (const { name, nameStart, end } of members) {
    if (!TAKEN_OUT.has(name)) pieces.push(bytes.subarray(nameStart, end), COMMA)
  }
  pieces.push(STREAM)
  return Buffer.concat(pieces)
}

const OPENING = Buffer.from('{')
const COMMA = Buffer.from(',')
const STREAM = Buffer.from('"stream":true}')

/** Copies, because they outlive the message. */
function listItems(body: Buffer, { input, members }: MemoryWish): Buffer[] {
  if (input.kind === 'items') return input.items.map(({ start, end }) => Buffer.from(body.subarray(start, end)))
  const member = findJsonMember(members, 'input')
  if (input.kind === 'none' || member === undefined) return []
  const text = body.toString('utf8', member.start, member.end)
  return [Buffer.from(`{"type":"message","role":"user","content":${text}}`)]
}

/** The body with a history in front of its input, and how many items that has. */
export function continueBody({ body }: CreateMessage, history: readonly Uint8Array[]): Buffer {
  const wish = readMemoryWish(body)
  if (wish === undefined) return body
  return expandBody(body, wish, { history: history.map(json => ({ id: '', json })), references: new Map() }).bytes
}

/** The body of a response that is only prepared: its input is not looked at. */
export function prepareBody({ body }: CreateMessage): Buffer {
  const members = listJsonMembers(body) ?? []
  const pieces: Uint8Array[] = [OPENING]
  for (const { name, nameStart, end } of members) {
    if (name !== 'input' && name !== 'previous_response_id') pieces.push(body.subarray(nameStart, end), COMMA)
  }
  pieces.push(Buffer.from('"input":"-"}'))
  return Buffer.concat(pieces)
}

/** The last event of a response. */
export interface ResponseEnd {
  readonly id: string
  /** Someone keeps the response, so that its id can be continued without this connection. */
  readonly isStored: boolean
  /** A failed one is not continued. */
  readonly isFailed: boolean
  readonly output: readonly Buffer[]
}

/** In a text the quotes of the name are escaped. A provider of this wire may write its members in any order. */
const LAST_EVENT = /"type":\s*"(?:response\.(?:completed|incomplete|failed)|error)"/

/** Reads the data of a last event; undefined for any other. */
export function readEnd(data: string): ResponseEnd | undefined {
  if (!LAST_EVENT.test(data)) return undefined
  const event = parse(data)
  const response = isJsonObject(event?.response) ? event.response : undefined
  const { id, output, store, status } = response ?? {}
  return {
    id: typeof id === 'string' ? id : '',
    isStored: store === true,
    isFailed: response === undefined || status === 'failed',
    output: Array.isArray(output) ? output.map(item => Buffer.from(JSON.stringify(item))) : []
  }
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value as JsonValue) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** An event with the stream that its message named. */
export function addStreamId(data: string, streamId: string | undefined): string {
  return streamId === undefined ? data : `${data.slice(0, -1)},"stream_id":${JSON.stringify(streamId)}}`
}

/** The event for an error of the connection itself, in the form of the public service. */
export function writeErrorEvent(
  status: number,
  error: { code: string; message: string; param?: string | null }
): string {
  const { code, message, param = null } = error
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  return JSON.stringify({ type: 'error', status, error: { type, code, message, param } })
}

/**
 * The event for a whole response that is an error.
 * @param options.historyLength how many items stood before those of the client, who does not know their indexes.
 */
export function writeRefusal(
  status: number,
  body: string,
  { headers, historyLength }: { headers: IncomingHttpHeaders; historyLength: number }
): string {
  const read = parse(shiftIndexes(body, historyLength))?.error
  const error = isJsonObject(read)
    ? read
    : { type: 'server_error', code: null, message: 'The request failed.', param: null }
  if (error.param !== 'previous_response_id' || error.code !== 'unsupported_semantic') {
    const shown = Object.entries(headers).filter(([name]) => SHOWN_HEADERS.test(name))
    return JSON.stringify({
      type: 'error',
      status,
      error,
      ...(shown.length > 0 && { headers: Object.fromEntries(shown) })
    })
  }
  // The route continues no stored response, and this connection has none of this id.
  return writeErrorEvent(400, UNKNOWN_RESPONSE)
}

/** What clients act on; other headers are about the response over HTTP. */
const SHOWN_HEADERS = /^(?:retry-after|x-should-retry|x-ratelimit-.*)$/

function shiftIndexes(text: string, historyLength: number): string {
  if (historyLength === 0) return text
  return text.replaceAll(/\binput\[(\d+)\]/g, (_place, digits: string) => {
    const index = Number(digits) - historyLength
    return index < 0 ? 'previous_response_id' : `input[${index}]`
  })
}

const UNKNOWN_RESPONSE = {
  code: 'previous_response_not_found',
  message: 'The previous response is not one of the last of this connection: send the whole conversation.',
  param: 'previous_response_id'
}
