// Links of a request's span to spans of other traces.
import { type Link, TraceFlags } from '@opentelemetry/api'
import type { RequestView } from '../observer.ts'

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/

/**
 * A client that names its span in `x-trace-id` and `x-span-id` and sends no `traceparent` for it is the caller, but no parent: the
 * headers say nothing about sampling. Its span is linked where the ids are ids of OpenTelemetry.
 */
export function listLinks({ traceId, spanId, traceContext }: RequestView): Link[] {
  const linkedTrace = traceId.replaceAll('-', '').toLowerCase()
  const linkedSpan = spanId?.toLowerCase() ?? ''
  const isOwnTrace = linkedTrace === traceContext?.traceId
  if (isOwnTrace || !TRACE_ID.test(linkedTrace) || !SPAN_ID.test(linkedSpan)) return []
  return [{ context: { traceId: linkedTrace, spanId: linkedSpan, traceFlags: TraceFlags.NONE, isRemote: true } }]
}
