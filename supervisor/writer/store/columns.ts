// The columns of a stored record, in the order of operations.md 8.4, and how a record fills
// them. Both relational stores use them.
import { readNanos } from '../../../shared/prices.ts'
import type { AuditEntry } from '../../../shared/traffic/messages.ts'
import { type PayloadField, readKeyName, UNKNOWN_KEY } from '../../../shared/traffic/query.ts'
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

/** What sums are kept by besides their time. Each is bounded by the configuration, not by what clients send. */
export const SUM_GROUP_COLUMNS = [
  'protocol',
  'model',
  'api_key_hash',
  'api_key_name',
  'currency',
  'alias',
  'profile_id',
  'provider',
  'error_code'
] as const
type SumGroup = { readonly [Name in (typeof SUM_GROUP_COLUMNS)[number]]: string }

interface Sums {
  /** Start of the hour or the minute, as records write times. */
  readonly time: string
  readonly group: SumGroup
  requests: number
  errors: number
  input_tokens: number
  output_tokens: number
  /** Billionths of the currency: sums of fractions would not be exact. */
  cost_nanos: number
  /** Records by latency class. */
  readonly latencies: Map<number, number>
}

/** A table of sums, with the column of their time. */
export interface SumTable {
  readonly name: string
  readonly time: 'hour' | 'minute'
}

export const HOUR_SUMS: SumTable = { name: 'gateway_traffic_sums', time: 'hour' }
/** Kept for `MINUTE_SUMS_DAYS`, for what a dashboard shows of the last hours. */
export const MINUTE_SUMS: SumTable = { name: 'gateway_traffic_minutes', time: 'minute' }
export const SUM_TABLES = [HOUR_SUMS, MINUTE_SUMS] as const

/** The key of a table of sums. */
export function listSumKeys({ time }: SumTable): string[] {
  return [time, ...SUM_GROUP_COLUMNS]
}

/** What is added up. */
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
  const { time, group, requests, errors, input_tokens, output_tokens, cost_nanos, latencies } = sum
  return [
    time,
    ...SUM_GROUP_COLUMNS.map(name => group[name]),
    ...[requests, errors, input_tokens, output_tokens, cost_nanos],
    ...LATENCY_COLUMNS.map((_, latencyClass) => latencies.get(latencyClass) ?? 0)
  ]
}

/** The hour of a record's time. A purge up to a time keeps the sums of its hour, which still has records. */
export function startOfHour(time: string): string {
  return `${time.slice(0, 'YYYY-MM-DDTHH'.length)}:00:00.000000Z`
}

/** The minute of a record's time. */
export function startOfMinute(time: string): string {
  return `${time.slice(0, 'YYYY-MM-DDTHH:MM'.length)}:00.000000Z`
}

/** An index entry of Postgres has about 2700 bytes, and the key of a sum is one. */
const GROUP_CHARACTERS_MAX = 256

/** What requests that were refused with such a status name is the choice of their clients. */
const OTHER_MODEL = 'other'

/** The model of a sum. Clients that send unknown names would otherwise add a row for each of them, as in the metrics. */
function nameModel({ model_requested, model_effective, status_code = 0 }: TrafficRecord): string {
  const model = model_requested ?? model_effective ?? ''
  const isRefused = status_code >= 400 && status_code < 500 && status_code !== 429
  const isUnknown = isRefused && (model_effective === undefined || status_code === 404)
  return isUnknown && model !== '' ? OTHER_MODEL : model
}

function groupOf(record: TrafficRecord): SumGroup {
  const keyName = readKeyName(record.metadata)
  // Every key that the gateway does not know is of one group: a client may send another one in each request (decisions.md 96).
  const isUnknownKey = keyName === null && record.api_key_hash !== undefined
  return {
    protocol: record.protocol,
    model: nameModel(record).slice(0, GROUP_CHARACTERS_MAX).toWellFormed(),
    api_key_hash: isUnknownKey ? UNKNOWN_KEY : '',
    api_key_name: isUnknownKey ? UNKNOWN_KEY : (keyName ?? ''),
    currency: record.cost === undefined ? '' : (record.currency ?? ''),
    alias: (record.alias ?? '').slice(0, GROUP_CHARACTERS_MAX).toWellFormed(),
    profile_id: record.profile_id ?? '',
    provider: record.provider ?? '',
    error_code: record.error_code ?? ''
  }
}

/** The sums of records for each table. Rows are in the order of their keys, so that transactions that change the same rows lock them in the same order. */
export interface RecordSums {
  readonly table: SumTable
  readonly sums: readonly Sums[]
}

/** Adds the records up by minute and by hour, and by their groups: a batch becomes a few rows of each table. */
export function sumRecords(records: readonly TrafficRecord[]): RecordSums[] {
  const minutes = new Map<string, Sums>()
  for (const record of records) {
    const sum = findSum(minutes, startOfMinute(record.created_at), groupOf(record))
    sum.requests += 1
    if (hasError(record)) sum.errors += 1
    sum.input_tokens += record.input_tokens ?? 0
    sum.output_tokens += record.output_tokens ?? 0
    sum.cost_nanos += readNanos(record.cost ?? 0)
    const latencyClass = classifyLatency(record.latency_ms ?? 0)
    sum.latencies.set(latencyClass, (sum.latencies.get(latencyClass) ?? 0) + 1)
  }
  const hours = new Map<string, Sums>()
  for (const minute of minutes.values()) addSum(findSum(hours, startOfHour(minute.time), minute.group), minute)
  return [
    { table: HOUR_SUMS, sums: inOrder(hours) },
    { table: MINUTE_SUMS, sums: inOrder(minutes) }
  ]
}

function findSum(sums: Map<string, Sums>, time: string, group: SumGroup): Sums {
  const key = JSON.stringify([time, ...SUM_GROUP_COLUMNS.map(column => group[column])])
  const known = sums.get(key)
  if (known !== undefined) return known
  const counts = { requests: 0, errors: 0, input_tokens: 0, output_tokens: 0, cost_nanos: 0 }
  const sum: Sums = { time, group, ...counts, latencies: new Map() }
  sums.set(key, sum)
  return sum
}

function addSum(sum: Sums, part: Sums): void {
  sum.requests += part.requests
  sum.errors += part.errors
  sum.input_tokens += part.input_tokens
  sum.output_tokens += part.output_tokens
  sum.cost_nanos += part.cost_nanos
  for (const [latencyClass, count] of part.latencies) {
    sum.latencies.set(latencyClass, (sum.latencies.get(latencyClass) ?? 0) + count)
  }
}

function inOrder(sums: ReadonlyMap<string, Sums>): Sums[] {
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum)
}
