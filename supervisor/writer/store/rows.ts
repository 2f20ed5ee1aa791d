// Reads the rows that the statements of `statements.ts` select, from either store.
import type { JsonValue } from '../../../shared/json.ts'
import { readAmount } from '../../../shared/prices.ts'
import { describeDurations } from '../../../shared/traffic/distribution.ts'
import {
  type Estimate,
  type Latencies,
  readMetadataFacts,
  type StoreStatus,
  type SumsRow,
  type TrafficPayload,
  type TrafficSummary,
  WINDOW_RECORDS
} from '../../../shared/traffic/query.ts'
import { LATENCY_BOUNDS_MS, LATENCY_COLUMNS, MEMBER_COLUMNS } from './columns.ts'

export type Row = Readonly<Record<string, unknown>>

/** A record as the admin API shows it. Both stores select times as texts and JSON as texts. */
export function readSummary(row: Row): TrafficSummary {
  const members = Object.fromEntries(MEMBER_COLUMNS.map(column => [column, row[column] ?? null]))
  const metadata = readJson(row.metadata)
  return {
    ...members,
    // Postgres writes the amount as a text.
    cost: members.cost === null ? null : Number(members.cost),
    metadata,
    has_request_body: Boolean(row.has_request_body),
    has_response_body: Boolean(row.has_response_body),
    ...readMetadataFacts(metadata)
  } as TrafficSummary
}

export function readPayload(row: Row): TrafficPayload {
  return {
    request_headers: readJson(row.request_headers),
    request_body: readJson(row.request_body),
    response_body: readJson(row.response_body)
  }
}

/** The row of `selectEstimate`, whose window has room for one record more than are counted. */
export function readEstimate(row: Row | undefined): Estimate {
  const records = Math.min(Number(row?.found), WINDOW_RECORDS)
  return { records, isLowerBound: Number(row?.examined) > WINDOW_RECORDS }
}

/** The rows of `selectLatencies`. */
export function readLatencies(rows: readonly Row[]): Latencies {
  const read = (name: string) =>
    rows
      .flatMap(row => (row[name] === null || row[name] === undefined ? [] : [Number(row[name])]))
      .filter(Number.isFinite)
  return {
    records: rows.length,
    latency: describeDurations(read('latency_ms')),
    first_content: describeDurations(read('first_content_ms'))
  }
}

/** The row of a store's own statement, which has `records`, `oldest` and `bytes`. */
export function readStoreStatus(
  { records, oldest, bytes }: Row,
  { walBytes }: Pick<StoreStatus, 'walBytes'>
): StoreStatus {
  return {
    recordsEstimate: Number(records ?? 0),
    oldest: typeof oldest === 'string' ? oldest : null,
    bytes: Number(bytes ?? 0),
    walBytes
  }
}

export function readSums(row: Row): SumsRow {
  const counts = LATENCY_COLUMNS.map(column => Number(row[column] ?? 0))
  const text = (name: string) => (typeof row[name] === 'string' ? row[name] : null)
  const count = (name: string) => Number(row[name] ?? 0)
  return {
    time: text('time'),
    hour: text('hour'),
    day: text('day'),
    protocol: text('protocol'),
    model: text('model'),
    alias: text('alias'),
    profile_id: text('profile_id'),
    provider: text('provider'),
    api_key_hash: text('api_key_hash'),
    api_key_name: text('api_key_name'),
    error_code: text('error_code'),
    requests: count('requests'),
    errors: count('errors'),
    input_tokens: count('input_tokens'),
    output_tokens: count('output_tokens'),
    // Amounts of several currencies have no sum.
    cost: count('currencies') === 1 ? readAmount(count('cost_nanos')) : null,
    currency: count('currencies') === 1 ? text('cost_currency') : null,
    latency_p50_ms: percentile(counts, 0.5),
    latency_p95_ms: percentile(counts, 0.95),
    latency_p99_ms: percentile(counts, 0.99)
  }
}

/** The upper bound of the class in which the share of all records is reached. */
function percentile(counts: readonly number[], share: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return 0
  const wanted = share * total
  let reached = 0
  for (const [index, count] of counts.entries()) {
    reached += count
    if (reached >= wanted) return LATENCY_BOUNDS_MS[index] ?? (LATENCY_BOUNDS_MS.at(-1) as number)
  }
  return 0
}

function readJson(text: unknown): JsonValue {
  return typeof text === 'string' ? (JSON.parse(text) as JsonValue) : null
}
