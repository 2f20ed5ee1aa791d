// Makes a test fixture of a stored traffic record: what was asked and what came back, without what names a caller or a moment.
import { createRedactor } from '../../shared/secrets/redaction.ts'
import type { TrafficPayload, TrafficSummary } from '../../shared/traffic/query.ts'

export interface RecordFixture {
  readonly method: string
  /** The path that was asked, without a query. */
  readonly path: string
  readonly route: string
  readonly protocol: string
  readonly request: unknown
  readonly status: number | null
  readonly error_type: string | null
  readonly response: unknown
}

/** The source of a fixture, as the admin API shows it. */
export interface StoredExchange {
  readonly summary: Pick<TrafficSummary, 'method' | 'route' | 'protocol' | 'status_code' | 'error_type' | 'metadata'>
  readonly payload: Pick<TrafficPayload, 'request_body' | 'response_body'>
}

/** Members of bodies that are different in each response: they would make two fixtures of one exchange differ. */
const PASSING_MEMBERS: ReadonlySet<string> = new Set([
  'created',
  'created_at',
  'completed_at',
  'request_id',
  'system_fingerprint'
])

/**
 * The fixture of an exchange. Everything is redacted once more, because the store may have been written with redaction switched off.
 * Throws an `Error` for a record without a captured request.
 */
export function createFixture({ summary, payload }: StoredExchange): RecordFixture {
  if (payload.request_body === null) {
    throw new Error('The record holds no request: GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT was off, or it was redacted.')
  }
  const { redactText, redactValue } = createRedactor()
  const { path } = (summary.metadata ?? {}) as { path?: unknown }
  return {
    method: summary.method,
    path: redactText(typeof path === 'string' ? path : summary.route),
    route: summary.route,
    protocol: summary.protocol,
    request: redactValue(payload.request_body),
    status: summary.status_code,
    error_type: summary.error_type,
    response: withoutPassing(redactValue(payload.response_body))
  }
}

/** Leaves out times and ids of the response itself. */
function withoutPassing(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => !PASSING_MEMBERS.has(name)))
}
