// The trace that a request belongs to, read from the client's headers (operations.md 3.1 and 11.6).
import type { IncomingHttpHeaders } from 'node:http'
import type { RemoteParent, TraceContext } from '../../observation/observer.ts'

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/
const SAMPLED = 1

/**
 * The id under which the request's trace is found: the client's `x-trace-id`, else the trace id of the request's own span or of a valid
 * `traceparent`, else the request id. Each travels upstream: as it came, or in the `traceparent` of the span or of the request id.
 */
export function readTraceId(
  headers: IncomingHttpHeaders,
  own: { requestId: string; traceContext?: TraceContext | undefined }
): string {
  return (
    readHeaderText(headers['x-trace-id']) ??
    own.traceContext?.traceId ??
    readRemoteParent(headers)?.traceId ??
    own.requestId
  )
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

/** The parent that a W3C `traceparent` names; undefined when the header is absent or not valid. */
export function readRemoteParent({ traceparent, tracestate }: IncomingHttpHeaders): RemoteParent | undefined {
  const match = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null
  if (match === null) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = match
  // Later versions may append fields; version 00 has none, and ff is forbidden.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED
  return { traceId, spanId, isSampled, tracestate: typeof tracestate === 'string' ? tracestate : undefined }
}

function readHeaderText(header: string | string[] | undefined): string | undefined {
  const text = typeof header === 'string' ? header.trim() : ''
  return text === '' ? undefined : text
}
