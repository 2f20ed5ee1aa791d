// The trace that a request belongs to, read from the client's headers (operations contract, sections 3.1 and 11.6).
import type { IncomingHttpHeaders } from 'node:http'

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/
const ZEROS = /^0+$/

/**
 * The id under which the request's trace is found: the client's `x-trace-id`, else the trace id of a valid `traceparent`, else the
 * request id. Each travels upstream: as it came, or as the `traceparent` that is made of the request id.
 */
export function readTraceId(headers: IncomingHttpHeaders, requestId: string): string {
  return readHeaderText(headers['x-trace-id']) ?? readTraceparent(headers.traceparent) ?? requestId
}

/** The client's `x-span-id`. */
export function readSpanId(headers: IncomingHttpHeaders): string | undefined {
  return readHeaderText(headers['x-span-id'])
}

const CLIENT_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** The client's `x-request-id`, when its form is safe for a record. */
export function readClientRequestId(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['x-request-id']
  return typeof given === 'string' && CLIENT_REQUEST_ID.test(given) ? given : undefined
}

/** The trace id of a W3C `traceparent`: 32 hexadecimal digits, or undefined when the header is not valid. */
export function readTraceparent(header: string | string[] | undefined): string | undefined {
  const match = typeof header === 'string' ? TRACEPARENT.exec(header) : null
  if (match === null) return undefined
  const [, version, traceId = '', parentId = '', more] = match
  // Later versions may append fields; version 00 has none, and ff is forbidden.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  return ZEROS.test(traceId) || ZEROS.test(parentId) ? undefined : traceId
}

function readHeaderText(header: string | string[] | undefined): string | undefined {
  const text = typeof header === 'string' ? header.trim() : ''
  return text === '' ? undefined : text
}
