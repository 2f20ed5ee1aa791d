// The `extra_headers` member of a client's body: headers for the upstream (operations.md 6).

import { invalidRequest, type JsonObject } from '../../normalized/index.ts'
import { readOptionalObject } from './members/field.ts'

/** Far more than are forwarded. Each entry is looked at while the request is executed, on the event loop. */
const EXTRA_HEADERS_MAX = 1000

/** Reads the member; its entries are not checked here. Raises `invalid_request` when it is not an object or has too many entries. */
export function readExtraHeaders(body: JsonObject): JsonObject | undefined {
  const headers = readOptionalObject(body, 'extra_headers')
  if (headers !== undefined && Object.keys(headers).length > EXTRA_HEADERS_MAX) {
    throw invalidRequest('extra_headers', `At most ${EXTRA_HEADERS_MAX} extra headers are possible.`)
  }
  return headers
}
