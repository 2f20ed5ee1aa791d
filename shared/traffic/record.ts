// The traffic record: one per HTTP request, in the JSON form that sinks store (operations.md 8.1).
// A member without a value is absent.
import type { JsonObject, JsonValue } from '../json.ts'

/** How the request ended, in the words of the metrics. */
export interface TrafficMetadata {
  readonly lifecycle: string
  /** The raw path without its query. */
  readonly path: string
  readonly [name: string]: JsonValue | undefined
}

export interface TrafficRecord {
  /** UUID of version 7, so that ids grow with time. */
  readonly id: string
  /** Start of the request: RFC 3339 in UTC with microseconds, of fixed width, so that texts sort like times. */
  readonly created_at: string
  readonly request_id: string
  readonly trace_id?: string
  readonly span_id?: string
  readonly protocol: string
  /** Template of the route. */
  readonly route: string
  readonly method: string
  readonly status_code?: number
  readonly model_requested?: string
  /** The provider's own name of the model; shown nowhere else (decisions.md 15). */
  readonly model_effective?: string
  readonly provider?: string
  /** The declared name of the model that the request was routed to; absent where no profile declares it. */
  readonly alias?: string
  /** The profile of the provider that the request was routed to. */
  readonly profile_id?: string
  readonly upstream_status_code?: number
  /** Milliseconds with fractions; relational columns round them. */
  readonly latency_ms?: number
  readonly upstream_latency_ms?: number
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly total_tokens?: number
  /** Of these tokens, with 9 decimal places; absent where no price is known (keys.md 4). */
  readonly cost?: number
  /** Of the cost: ISO 4217. */
  readonly currency?: string
  readonly error_type?: string
  /** Of the gateway's error, such as `unknown_model_alias` (decisions.md 96). */
  readonly error_code?: string
  /** The field of the request that the error names. */
  readonly error_field?: string
  /** The gateway's own message; a provider's words, which may quote the prompt, only with content capture. Redacted. */
  readonly error_message?: string
  /** Of a key that the gateway does not know: a known one has its name in the metadata. */
  readonly api_key_hash?: string
  readonly client_ip_hash?: string
  readonly metadata: TrafficMetadata
  /** The three below exist only with content capture, and are redacted. */
  readonly request_headers_redacted?: JsonObject
  readonly request_body_redacted?: JsonValue
  readonly response_body_redacted?: JsonValue
}

/** The members that the list of records shows, in the order of the relational columns (sections 8.4 and 9.2). */
export const SUMMARY_MEMBERS = [
  'id',
  'created_at',
  'request_id',
  'trace_id',
  'span_id',
  'protocol',
  'route',
  'method',
  'status_code',
  'model_requested',
  'model_effective',
  'provider',
  'alias',
  'profile_id',
  'upstream_status_code',
  'latency_ms',
  'upstream_latency_ms',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cost',
  'currency',
  'error_type',
  'error_code',
  'error_field',
  'error_message',
  'api_key_hash',
  'client_ip_hash',
  'metadata'
] as const satisfies ReadonlyArray<keyof TrafficRecord>

/** Whether the record counts as failed in filters and in the search index (section 9.1). */
export function hasError({ error_type, status_code }: Pick<TrafficRecord, 'error_type' | 'status_code'>): boolean {
  return error_type !== undefined || (status_code !== undefined && status_code >= 400)
}

/**
 * A time as records have it, from milliseconds since the epoch with fractions: a fraction of a millisecond becomes microseconds.
 */
export function writeRecordTime(epochMs: number): string {
  const wholeMs = Math.floor(epochMs)
  const seconds = Math.floor(wholeMs / 1000)
  // `toISOString` costs as much as a third of a record, and ends with the milliseconds and a Z.
  if (seconds !== last.seconds) last = { seconds, text: new Date(wholeMs).toISOString().slice(0, -'000Z'.length) }
  const microseconds = Math.floor((epochMs - wholeMs) * 1000) + (wholeMs - seconds * 1000) * 1000
  return `${last.text}${String(microseconds).padStart(6, '0')}Z`
}

/** The second that was written last. */
let last = { seconds: Number.NaN, text: '' }
