// What the admin API asks of the stored records (operations.md 9). Workers send these to the
// writer, which owns the stores.
import type { JsonValue } from '../json.ts'
import type { Distribution } from './distribution.ts'
import { SUMMARY_MEMBERS, type TrafficRecord } from './record.ts'
import type { RetentionCutoffs } from './retention.ts'

/** All conditions hold at once; an absent one does not restrict. Times are written like those of records. */
export interface TrafficFilter {
  readonly from?: string
  /** Inclusive. */
  readonly to?: string
  readonly protocol?: string
  readonly route?: string
  readonly method?: string
  readonly provider?: string
  readonly alias?: string
  readonly profile_id?: string
  readonly request_id?: string
  readonly trace_id?: string
  readonly api_key_hash?: string
  readonly error_type?: string
  readonly error_code?: string
  /** Requested or effective. */
  readonly model?: string
  readonly status_code?: number
  readonly has_error?: boolean
  readonly min_latency_ms?: number
  /** Name of the caller. */
  readonly caller?: string
  /** Name of the gateway's key that the client sent, or `UNKNOWN_KEY`. */
  readonly key?: string
  /** Whether the client asked for a stream, or got one. */
  readonly stream?: boolean
  /** A part of an id, a route, a path, a name of a model, provider or caller, or an error; letters A to Z in any case. Searched in a window. */
  readonly q?: string
}

/**
 * How many records a text search, an estimate or a distribution reads: the newest ones that the indexed members of
 * the filter select (all members but `q`, `method`, `stream` and `min_latency_ms`). This bounds the work of a
 * database.
 */
export const WINDOW_RECORDS = 10_000

/** Where a page begins; records are in descending order of time and id. */
export type PageStart =
  | { readonly kind: 'offset'; readonly offset: number }
  /** Behind this record, and behind so many more: stable while new records arrive. */
  | { readonly kind: 'after'; readonly created_at: string; readonly id: string; readonly offset?: number }

export interface PageRequest {
  readonly filter: TrafficFilter
  readonly start: PageStart
  readonly limit: number
}

/** A record without its content; null for what is unknown (section 9.2). */
export type TrafficSummary = {
  readonly [Member in Exclude<
    keyof TrafficRecord,
    'request_headers_redacted' | 'request_body_redacted' | 'response_body_redacted' | 'metadata'
  >]-?: Exclude<TrafficRecord[Member], undefined> | (undefined extends TrafficRecord[Member] ? null : never)
} & {
  readonly metadata: JsonValue
  readonly has_request_body: boolean
  readonly has_response_body: boolean
} & MetadataFacts

/** What a summary shows of the metadata. */
interface MetadataFacts {
  /** Of the gateway's key that the client sent. */
  readonly api_key_name: string | null
  /** The fields of the client that had no effect. */
  readonly ignored_fields: readonly string[] | null
  /** Whether the client asked for a stream, or got one. */
  readonly is_stream: boolean
  /** From the head of the request to the first text, reasoning or tool call of a stream. */
  readonly first_content_ms: number | null
}

/** Stands in sums and filters for every key that the gateway does not know: clients choose such keys, so they are one group. No key has this name. */
export const UNKNOWN_KEY = '(unknown)'

/** The captured content of a record; null for what was not captured or was redacted. */
export interface TrafficPayload {
  readonly request_headers: JsonValue
  readonly request_body: JsonValue
  readonly response_body: JsonValue
}

export const PAYLOAD_FIELDS = ['request_body', 'request_headers', 'response_body'] as const
export type PayloadField = (typeof PAYLOAD_FIELDS)[number]

/** What sums are grouped by: `time` by buckets. */
export const SUM_KEYS = [
  'time',
  'hour',
  'day',
  'protocol',
  'model',
  'alias',
  'profile_id',
  'provider',
  'api_key_hash',
  'api_key_name',
  'error_code',
  'currency'
] as const
export type SumKeyName = (typeof SUM_KEYS)[number]

/** Lengths of the buckets in seconds. Those below an hour are made of the sums of minutes, the others of the sums of hours. */
export const BUCKETS_SECONDS = [60, 300, 900, 3600, 86_400] as const
export type BucketSeconds = (typeof BUCKETS_SECONDS)[number]

/** Sums over time (UTC), models, protocols, keys and errors. */
export interface SumsRequest {
  /** Start of a bucket, as records write times. */
  readonly from: string
  readonly to: string
  /** Hours where it is absent. */
  readonly bucketSeconds?: BucketSeconds
  readonly by: readonly SumKeyName[]
  /** Of the records with this name of a key alone. */
  readonly key?: string | undefined
  /** Rows at most, in the order of the keys. */
  readonly limit: number
}

export interface SumsRow {
  /** Start of the bucket. */
  readonly time: string | null
  readonly hour: string | null
  /** Such as `2026-11-01`. */
  readonly day: string | null
  readonly protocol: string | null
  readonly model: string | null
  readonly alias: string | null
  readonly profile_id: string | null
  readonly provider: string | null
  readonly api_key_hash: string | null
  readonly api_key_name: string | null
  readonly error_code: string | null
  readonly requests: number
  readonly errors: number
  readonly input_tokens: number
  readonly output_tokens: number
  /** Null where no record of the row has a cost, and where their currencies differ: grouped by currency, each has a row of its own. */
  readonly cost: number | null
  /** Of the cost. */
  readonly currency: string | null
  readonly latency_p50_ms: number
  readonly latency_p95_ms: number
  readonly latency_p99_ms: number
}

/** How many records a filter selects. */
export interface Estimate {
  readonly records: number
  /** The window was full: there may be more. */
  readonly isLowerBound: boolean
}

/** How long the newest records that a filter selects took, within the window: exact for these. */
export interface Latencies {
  /** How many records were looked at. */
  readonly records: number
  /** Null without a record. */
  readonly latency: Distribution | null
  /** From the head of the request to the first text, reasoning or tool call; of streams that had one. */
  readonly first_content: Distribution | null
}

/** How large a store has become. */
export interface StoreStatus {
  /** An estimate, which costs the same for any number of records. */
  readonly recordsEstimate: number
  /** The time of the oldest record; null in an empty store. */
  readonly oldest: string | null
  /** Of records and indexes; for SQLite the file. */
  readonly bytes: number
  /** Size of SQLite's write-ahead log, which is not part of `bytes`; null for a store without one. */
  readonly walBytes: number | null
}

/** Questions about the stored records. Every method rejects with the driver's error while the store is not available. */
export interface TrafficQueries {
  list(page: PageRequest): Promise<TrafficSummary[]>
  /** Counts within the window. */
  estimate(filter: TrafficFilter): Promise<Estimate>
  latencies(filter: TrafficFilter): Promise<Latencies>
  find(id: string): Promise<TrafficSummary | undefined>
  findPayload(id: string): Promise<TrafficPayload | undefined>
  /** How many records a purge would delete. */
  countExpired(cutoffs: RetentionCutoffs): Promise<number>
  sums(request: SumsRequest): Promise<SumsRow[]>
  readStatus(request: Readonly<Record<string, never>>): Promise<StoreStatus>
}

/** What the admin API shows of a record before it is read back from a store. */
export function summarize(record: TrafficRecord): TrafficSummary {
  const members = Object.fromEntries(SUMMARY_MEMBERS.map(name => [name, record[name] ?? null]))
  const whole = (milliseconds: number | undefined) => (milliseconds === undefined ? null : Math.round(milliseconds))
  return {
    ...members,
    latency_ms: whole(record.latency_ms),
    upstream_latency_ms: whole(record.upstream_latency_ms),
    has_request_body: record.request_body_redacted !== undefined,
    has_response_body: record.response_body_redacted !== undefined,
    ...readMetadataFacts(record.metadata)
  } as TrafficSummary
}

/** What a summary shows of the metadata of a record. */
export function readMetadataFacts(metadata: unknown): MetadataFacts {
  const members: Readonly<Record<string, unknown>> =
    typeof metadata === 'object' && metadata !== null ? { ...metadata } : {}
  const { api_key_name: name, ignored_fields: ignored, is_stream, lifecycle, first_token_ms: firstMs } = members
  return {
    api_key_name: typeof name === 'string' ? name : null,
    ignored_fields: Array.isArray(ignored) ? ignored.filter(field => typeof field === 'string') : null,
    // Older records have the lifecycle alone, which tells of streams that began.
    is_stream: is_stream === true || (typeof lifecycle === 'string' && lifecycle.startsWith('streaming_')),
    first_content_ms: typeof firstMs === 'number' ? firstMs : null
  }
}

/** The name of the gateway's key in the metadata of a record; null where there is none. */
export function readKeyName(metadata: unknown): string | null {
  const isObject = typeof metadata === 'object' && metadata !== null
  const name = isObject && 'api_key_name' in metadata ? metadata.api_key_name : undefined
  return typeof name === 'string' ? name : null
}
