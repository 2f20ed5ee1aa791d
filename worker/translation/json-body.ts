// Reads the bytes of a request body as a JSON object, with the same error texts in all families
// (operations.md 1.1), and the bytes of a provider's response. Pure: it also runs in the threads of
// the pool.
import { asBuffer, dropByteOrderMark } from '../../shared/bytes.ts'
import {
  findInfiniteNumber,
  findJsonFault,
  GatewayError,
  invalidRequest,
  isJsonObject,
  JSON_DEPTH_MAX,
  type JsonObject,
  type JsonValue
} from '../normalized/index.ts'
import { ReceivedTexts } from './received-texts.ts'

/**
 * Reads a body as a JSON object. Raises `invalid_json` when it is empty or blank, not JSON, not an object, or nested too deep, and
 * `invalid_request` for a number beyond the range of a double.
 * A member named `__proto__` is an ordinary own member of the result: copy with spread, never with `Object.assign`.
 */
export function readJsonObject(bytes: Uint8Array): JsonObject {
  return checkBody(parse(toText(bytes)))
}

/** A client's body, with the texts of it that a written body can copy; without them where there is nothing to gain. */
export interface BodyWithTexts {
  body: JsonObject
  texts?: ReceivedTexts
}

/** Like `readJsonObject`, and finds the long texts of the body. */
export function readBodyWithTexts(bytes: Uint8Array): BodyWithTexts {
  const texts = ReceivedTexts.find(dropByteOrderMark(asBuffer(bytes)))
  const outline = texts === undefined ? undefined : parseOutline(texts)
  // The error message quotes the body around the fault, so an invalid body is parsed again as it came.
  if (texts === undefined || outline === undefined) return { body: readJsonObject(bytes) }
  const body = checkBody(outline)
  texts.restoreIn(body)
  return { body, texts }
}

function parseOutline(texts: ReceivedTexts): unknown {
  try {
    return JSON.parse(texts.writeOutline())
  } catch {
    return undefined
  }
}

/** Returns the parsed value. Raises what `readJsonObject` does, except for text that is no JSON. */
function checkBody(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw invalidJson('Invalid JSON body: expected an object at the top level.')
  // Walking the parsed value costs 1 us for 50 KB of prose and a tenth of the parsing time for a body full of schemas; counting
  // brackets in the bytes would cost as much as the parsing.
  const fault = findJsonFault(value)
  if (fault === 'too-deep') throw invalidJson(`Invalid JSON body: nested deeper than ${JSON_DEPTH_MAX} levels.`)
  if (fault === 'infinite-number') throw infiniteNumber(value)
  return value
}

/** Reads a provider's response. Raises `provider_protocol_error` when it is no JSON. */
export function readResponseJson(bytes: Uint8Array): JsonValue {
  try {
    return JSON.parse(toText(bytes))
  } catch {
    throw new GatewayError('provider_protocol_error', { cause: 'invalid_json_response' })
  }
}

/** Clients choose the names of unknown members, so that a path may be very long. */
const PATH_CHARACTERS_MAX = 200

function infiniteNumber(value: JsonObject): GatewayError {
  const path = findInfiniteNumber(value)?.slice(0, PATH_CHARACTERS_MAX) ?? ''
  return invalidRequest(path, `'${path}' must be a number in the range of a double.`)
}

function toText(bytes: Uint8Array): string {
  // Some clients send a byte order mark first; it is not part of the JSON text.
  return dropByteOrderMark(asBuffer(bytes)).toString('utf8')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (text.trim() === '') throw invalidJson('Request body is empty (expected JSON).')
    throw unreadable(error instanceof Error ? error.message : 'unreadable')
  }
}

/** The parser quotes what stands around the fault; only the place is no content. */
function unreadable(reason: string): GatewayError {
  const place = /at position \d+(?: \(line \d+ column \d+\))?/.exec(reason)?.[0]
  const ownText = `Invalid JSON body${place === undefined ? '' : ` ${place}`}.`
  return new GatewayError('invalid_json', { message: `Invalid JSON body: ${reason}`, ownText })
}

function invalidJson(message: string): GatewayError {
  return new GatewayError('invalid_json', { message })
}
