// Reads the query strings of the admin API (operations.md 9.1, 9.3 and 9.4). Wrong types are named
// together with 422, then a wrong cursor or timestamp is refused with 400.
import type { Settings } from '../../shared/settings.ts'
import {
  BUCKETS_SECONDS,
  type BucketSeconds,
  type PageStart,
  SUM_KEYS,
  type SumKeyName,
  type TrafficFilter
} from '../../shared/traffic/query.ts'
import { writeRecordTime } from '../../shared/traffic/record.ts'
import { MINUTE_SUMS_DAYS } from '../../shared/traffic/retention.ts'
import type { QueryValues } from '../http/request/families.ts'
import {
  boolean,
  integer,
  listOf,
  oneOf,
  optional,
  type ParameterType,
  readParameters,
  text,
  textUpTo,
  withDefault
} from '../http/request/parameters.ts'
import { GatewayError } from '../normalized/index.ts'
import { readCursor } from './cursor.ts'
import { readTimestamp } from './timestamps.ts'

/** The largest value of the relational columns. */
const INTEGER_MAX = 2_147_483_647
/** Of a text that is searched for: longer than any that is found. */
const SEARCH_LENGTH_MAX = 256

/** An empty value is no filter. */
function unlessEmpty<T>(type: ParameterType<T>): ParameterType<T | undefined> {
  return value => (value === '' ? undefined : type(value))
}

const filterText = optional(unlessEmpty(text))

const filterParameters = {
  from: filterText,
  to: filterText,
  protocol: filterText,
  route: filterText,
  method: filterText,
  provider: filterText,
  alias: filterText,
  profile_id: filterText,
  request_id: filterText,
  trace_id: filterText,
  api_key_hash: filterText,
  error_type: filterText,
  error_code: filterText,
  caller: filterText,
  key: filterText,
  model: filterText,
  status_code: optional(unlessEmpty(integer({ min: -INTEGER_MAX, max: INTEGER_MAX }))),
  has_error: optional(unlessEmpty(boolean)),
  stream: optional(unlessEmpty(boolean)),
  min_latency_ms: optional(unlessEmpty(integer({ min: 0, max: INTEGER_MAX }))),
  q: optional(unlessEmpty(textUpTo(SEARCH_LENGTH_MAX)))
}

const pageParameters = [...Object.keys(filterParameters), 'limit', 'cursor']
/** The query parameters of each route that has any. */
export const QUERY_NAMES = {
  page: pageParameters,
  latencies: Object.keys(filterParameters),
  tail: ['limit'],
  purge: ['retention_days', 'batch_size', 'max_batches', 'dry_run'],
  sums: ['from', 'to', 'bucket', 'by', 'key', 'limit']
} as const

export interface PageQuery {
  readonly filter: TrafficFilter
  readonly start: PageStart
  readonly limit: number
  /** As the client sent it; null for none. */
  readonly cursor: string | null
}

export interface LimitBounds {
  readonly max: number
  readonly fallback: number
}

export const LIST_LIMITS: LimitBounds = { max: 500, fallback: 100 }
export const EXPORT_LIMITS: LimitBounds = { max: 5000, fallback: 1000 }

/** The filters alone. Raises `invalid_parameter` and `invalid_timestamp`. */
export function readFilterQuery(query: QueryValues): TrafficFilter {
  const { from, to, ...filter } = readParameters('query', query, filterParameters)
  return dropAbsent({ from: readBound('from', from), to: readBound('to', to), ...filter })
}

/** The filters, the cursor and the limit of a list or an export. Raises `invalid_parameter`, `invalid_timestamp` and `invalid_cursor`. */
export function readPageQuery(query: QueryValues, { max, fallback }: LimitBounds): PageQuery {
  const { cursor, limit, from, to, ...filter } = readParameters('query', query, {
    ...filterParameters,
    limit: withDefault(integer({ min: 1, max }), fallback),
    cursor: optional(text)
  })
  return {
    filter: dropAbsent({ from: readBound('from', from), to: readBound('to', to), ...filter }),
    start: readCursor(cursor),
    limit,
    cursor: cursor ?? null
  }
}

/** The limit of a tail. Raises `invalid_parameter`. */
export function readTailLimit(query: QueryValues): number {
  const { max, fallback } = LIST_LIMITS
  return readParameters('query', query, { limit: withDefault(integer({ min: 1, max }), fallback) }).limit
}

export interface PurgeQuery {
  readonly retentionDays: number
  /** Records of failed requests are kept so long at least. */
  readonly errorRetentionDays: number | undefined
  readonly batchSize: number
  readonly batchesMax: number
  readonly isDryRun: boolean
}

/** What a purge deletes; a dry run unless the query says otherwise. Raises `invalid_parameter`. */
export function readPurgeQuery(
  query: QueryValues,
  settings: Pick<Settings, 'trafficLogRetentionDays' | 'trafficLogErrorRetentionDays'>
): PurgeQuery {
  const values = readParameters('query', query, {
    retention_days: withDefault(integer({ min: 1, max: 3650 }), settings.trafficLogRetentionDays),
    batch_size: withDefault(integer({ min: 1, max: 10_000 }), 1000),
    max_batches: withDefault(integer({ min: 1, max: 1000 }), 1),
    dry_run: withDefault(boolean, true)
  })
  return {
    retentionDays: values.retention_days,
    errorRetentionDays: settings.trafficLogErrorRetentionDays,
    batchSize: values.batch_size,
    batchesMax: values.max_batches,
    isDryRun: values.dry_run
  }
}

export interface SumsQuery {
  readonly from: string
  readonly to: string
  readonly bucketSeconds: BucketSeconds
  readonly by: readonly SumKeyName[]
  readonly key?: string | undefined
  readonly limit: number
}

const HOUR_SECONDS = 60 * 60
const DAY_SECONDS = 24 * HOUR_SECONDS
const SUM_ROWS_MAX = 10_000
const BUCKET_WORDS = BUCKETS_SECONDS.map(String)

/** An empty text names no group: everything is one sum. */
const sumKeys: ParameterType<SumKeyName[]> = value => (value === '' ? [] : listOf(SUM_KEYS)(value))

/**
 * The time and the groups of sums: by default those of the last day, by hour. Buckets count whole, the one of `from` included. Raises
 * `invalid_parameter` and `invalid_timestamp`.
 */
export function readSumsQuery(query: QueryValues, nowMs: number): SumsQuery {
  const { from, to, by, key, limit, bucket } = readParameters('query', query, {
    from: filterText,
    to: filterText,
    bucket: withDefault(oneOf(BUCKET_WORDS), String(HOUR_SECONDS)),
    by: withDefault(sumKeys, ['hour']),
    key: filterText,
    limit: withDefault(integer({ min: 1, max: SUM_ROWS_MAX }), 1000)
  })
  const bucketSeconds = Number(bucket) as BucketSeconds
  const nowSeconds = Math.floor(nowMs / 1000)
  const first = startOfBucket(readBound('from', from ?? String(nowSeconds - DAY_SECONDS)) ?? '', bucketSeconds)
  if (bucketSeconds < HOUR_SECONDS && first < oldestMinute(nowMs)) throw minutesNotKept()
  return {
    from: first,
    to: readBound('to', to ?? String(nowSeconds)) ?? '',
    bucketSeconds,
    by: SUM_KEYS.filter(name => by.includes(name)),
    ...(key !== undefined && { key }),
    limit
  }
}

function startOfBucket(time: string, seconds: BucketSeconds): string {
  const startMs = Math.floor(Date.parse(time) / (seconds * 1000)) * seconds * 1000
  return writeRecordTime(startMs)
}

/** With an hour more than is kept for certain, which a purge leaves: a page that asks for two days until now is not refused. */
function oldestMinute(nowMs: number): string {
  return writeRecordTime(nowMs - (MINUTE_SUMS_DAYS * DAY_SECONDS + HOUR_SECONDS) * 1000)
}

function minutesNotKept(): GatewayError {
  const message = `Buckets below ${HOUR_SECONDS} seconds are kept for the last ${MINUTE_SUMS_DAYS} days`
  return new GatewayError('invalid_parameter', { errors: [{ path: 'query.bucket', message }] })
}

/** A bound of the filter by time: the records in it are not less exact than its digits. Raises `invalid_timestamp`. */
function readBound(name: 'from' | 'to', value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const time = readTimestamp(value, name === 'from' ? 'up' : 'down')
  if (time === undefined) throw new GatewayError('invalid_timestamp', { message: `Invalid ${name} timestamp` })
  return time
}

type Present<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

function dropAbsent<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>
}
