// The columns of a stored record, in the order of operations.md 8.4, and how a record fills
// them. Both relational stores use them.
import { readNanos } from '../../../shared/prices.ts'
import type { AuditEntry } from '../../../shared/traffic/messages.ts'
import { type PayloadField, readKeyName } from '../../../shared/traffic/query.ts'
import { hasError, SUMMARY_MEMBERS, type TrafficRecord } from '../../../shared/traffic/record.ts'

/** Columns with the value of the record's member of the same name. */
export const MEMBER_COLUMNS = SUMMARY_MEMBERS

/**
 * Known without reading the bodies, which are in a table of their own so that lists never load them
 * (field-lessons.md L6).
 */
export const FLAG_COLUMNS = ['has_request_body', 'has_response_body'] as const

/** The columns of the bodies' table. */
export const PAYLOAD_COLUMNS = ['id', 'created_at', 'request_headers', 'request_body', 'response_body'] as const

export const AUDIT_COLUMNS = [
  'created_at',
  'request_id',
  'action',
  'target',
  'outcome',
  'row_count',
  'admin_key_hash',
  'client_ip_hash'
] as const satisfies ReadonlyArray<keyof AuditEntry>

const FALSE = { sqlite: '0', postgres: 'false' } as const

/** What a redaction sets besides the metadata: the flags of emptied bodies, and the error message, which may quote a body. */
export function listRedactedColumns(fields: readonly PayloadField[], dialect: keyof typeof FALSE = 'sqlite'): string[] {
  const bodies = fields.filter(field => field !== 'request_headers')
  return [
    ...bodies.map(body => `has_${body} = ${FALSE[dialect]}`),
    ...(bodies.length > 0 ? ['error_message = NULL'] : ['error_message = error_message'])
  ]
}

export type ColumnValue = string | number | null

/** Many records of a batch have the same object. */
const metadataTexts = new WeakMap<object, string>()

function writeMetadata(metadata: object): string {
  const known = metadataTexts.get(metadata)
  if (known !== undefined) return known
  const text = JSON.stringify(metadata)
  metadataTexts.set(metadata, text)
  return text
}

/** The values of `MEMBER_COLUMNS`: whole milliseconds, JSON as text, null for an absent member. */
export function writeMemberColumns(record: TrafficRecord): ColumnValue[] {
  return MEMBER_COLUMNS.map(column => {
    const value = record[column]
    if (value === undefined) return null
    if (typeof value === 'object') return writeMetadata(value)
    return column === 'latency_ms' || column === 'upstream_latency_ms' ? Math.round(Number(value)) : value
  })
}

export interface PayloadColumns {
  readonly requestHeaders: string | null
  readonly requestBody: string | null
  readonly responseBody: string | null
}

/** The captured content as JSON texts; undefined for a record without any. */
export function writePayloadColumns(record: TrafficRecord): PayloadColumns | undefined {
  const requestHeaders = writeJson(record.request_headers_redacted)
  const requestBody = writeJson(record.request_body_redacted)
  const responseBody = writeJson(record.response_body_redacted)
  if (requestHeaders === null && requestBody === null && responseBody === null) return undefined
  return { requestHeaders, requestBody, responseBody }
}

function writeJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** Upper bounds of the latency classes that sums keep, in milliseconds: each is 1.25 times the one before, so a percentile is that exact. */
export const LATENCY_BOUNDS_MS: readonly number[] = Object.freeze(
  Array.from({ length: 64 }, (_, index) => Math.ceil(1.25 ** index))
)

/** The columns that count the records of each latency class; the last is for longer ones. */
export const LATENCY_COLUMNS: readonly string[] = Object.freeze(
  [...LATENCY_BOUNDS_MS, Number.POSITIVE_INFINITY].map((_, latencyClass) => `latency_${latencyClass}`)
)

/** The class of a latency: an index into `LATENCY_BOUNDS_MS`, or its length for a longer one. */
function classifyLatency(latencyMs: number): number {
  let low = 0
  let high = LATENCY_BOUNDS_MS.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (latencyMs <= (LATENCY_BOUNDS_MS[middle] as number)) high = middle
    else low = middle + 1
  }
  return low
}

/** What the sums of one hour are kept by. */
export interface SumKey {
  /** Start of the hour, as records write times. */
  readonly hour: string
  readonly protocol: string
  readonly model: string
  readonly api_key_hash: string
  readonly api_key_name: string
  /** Of the cost; empty for records without one. */
  readonly currency: string
}

export interface Sums extends SumKey {
  requests: number
  errors: number
  input_tokens: number
  output_tokens: number
  /** Billionths of the currency: sums of fractions would not be exact. */
  cost_nanos: number
  /** Records by latency class. */
  readonly latencies: Map<number, number>
}

/** The columns of the sums: what they are kept by, and what is added up. */
export const SUM_KEY_COLUMNS = [
  'hour',
  'protocol',
  'model',
  'api_key_hash',
  'api_key_name',
  'currency'
] as const satisfies ReadonlyArray<keyof SumKey>
export const SUM_COLUMNS: readonly string[] = Object.freeze([
  'requests',
  'errors',
  'input_tokens',
  'output_tokens',
  'cost_nanos',
  ...LATENCY_COLUMNS
])

/** The values of the key columns and of `SUM_COLUMNS`. */
export function writeSumColumns(sum: Sums): ColumnValue[] {
  const { requests, errors, input_tokens, output_tokens, cost_nanos, latencies } = sum
  return [
    ...SUM_KEY_COLUMNS.map(name => sum[name]),
    ...[requests, errors, input_tokens, output_tokens, cost_nanos],
    ...LATENCY_COLUMNS.map((_, latencyClass) => latencies.get(latencyClass) ?? 0)
  ]
}

/** The hour of a record's time. A purge up to a time keeps the sums of its hour, which still has records. */
export function startOfHour(time: string): string {
  return `${time.slice(0, 'YYYY-MM-DDTHH'.length)}:00:00.000000Z`
}

/**
 * Adds the records up by hour, protocol, model, key and currency: a batch becomes a few rows. They are in the order of their keys, so that
 * transactions that change the same rows lock them in the same order.
 */
export function sumRecords(records: readonly TrafficRecord[]): Sums[] {
  const sums = new Map<string, Sums>()
  for (const record of records) {
    const key: SumKey = {
      hour: startOfHour(record.created_at),
      protocol: record.protocol,
      model: record.model_requested ?? record.model_effective ?? '',
      api_key_hash: record.api_key_hash ?? '',
      api_key_name: readKeyName(record.metadata) ?? '',
      currency: record.cost === undefined ? '' : (record.currency ?? '')
    }
    const name = JSON.stringify(SUM_KEY_COLUMNS.map(column => key[column]))
    let sum = sums.get(name)
    if (sum === undefined) {
      sum = { ...key, requests: 0, errors: 0, input_tokens: 0, output_tokens: 0, cost_nanos: 0, latencies: new Map() }
      sums.set(name, sum)
    }
    sum.requests += 1
    if (hasError(record)) sum.errors += 1
    sum.input_tokens += record.input_tokens ?? 0
    sum.output_tokens += record.output_tokens ?? 0
    sum.cost_nanos += readNanos(record.cost ?? 0)
    const latencyClass = classifyLatency(record.latency_ms ?? 0)
    sum.latencies.set(latencyClass, (sum.latencies.get(latencyClass) ?? 0) + 1)
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum)
}
