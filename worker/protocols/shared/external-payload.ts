// Checks the payloads of external providers: JSON that is none, and members that are not what the wire says (bridge.md 8.7).

import { asBuffer } from '../../../shared/bytes.ts'
import { GatewayError, isJsonObject, isTextTooDeep, type JsonObject, type JsonValue } from '../../normalized/index.ts'

/** The members of a payload, of which none is checked yet. */
export type Payload = Record<string, unknown>

/** @param id the detailed id, for the log. */
export function protocolError(id: string): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: id })
}

/** Parses the data of an event of a stream. Raises `provider_protocol_error`. */
export function parseEventData(data: string): JsonValue {
  const value = parseJson(data)
  if (value === undefined) throw protocolError('invalid_stream_json')
  return value
}

/** Parses the data of an event that has to be an object. Raises `provider_protocol_error`, also for one that nests too deeply. */
export function parseEventObject(data: string): JsonObject {
  const value = parseEventData(data)
  if (!isJsonObject(value) || isTextTooDeep(data, value)) throw protocolError('invalid_stream_chunk')
  return value
}

/** Parses a whole response that has to be an object. Raises `provider_protocol_error`, also for one that nests too deeply. */
export function parseWholeObject(bytes: Uint8Array): { text: string; payload: JsonObject } {
  const text = asBuffer(bytes).toString('utf8')
  const payload = parseJson(text)
  if (!isJsonObject(payload) || isTextTooDeep(text, payload)) throw protocolError('invalid_json_response')
  return { text, payload }
}

/** Parses JSON; undefined for any other text. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

/** Other ids are not shown: a client repeats the id in URLs and logs. */
const SHOWN_ID = /^[A-Za-z0-9._:-]{1,256}$/

/** True for an id of a response that a client may be shown. */
export function isShownId(id: unknown): id is string {
  return typeof id === 'string' && SHOWN_ID.test(id)
}
