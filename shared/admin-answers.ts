// The answers of the admin API as the workers write them and the dashboard reads them (operations.md 9; keys.md 5). One type for both ends and
// for the doubles of tests: a member that one of them lacks does not compile.
import type { SumKeyName, SumsRow } from './traffic/query.ts'

/** Rows have the members that they are grouped by. */
export type SumsAnswerRow = Omit<SumsRow, Exclude<SumKeyName, 'currency'>> &
  Partial<Pick<SumsRow, Exclude<SumKeyName, 'currency'>>>

export interface SumsAnswer {
  readonly data: readonly SumsAnswerRow[]
  readonly from: string
  readonly to: string
  readonly bucket: number
  readonly by: readonly SumKeyName[]
  readonly limit: number
}

export type WriterState = 'connected' | 'disconnected' | 'absent'

export interface TrafficHealth {
  /** Whether requests are recorded. */
  readonly enabled: boolean
  /** The sink that answers questions. */
  readonly query_store: 'sqlite' | 'postgres' | null
  readonly writer: WriterState
  readonly sinks: ReadonlyArray<{
    readonly name: string
    readonly available: boolean
    readonly queue_depth: number
    readonly spill_bytes: number
    readonly written: number
    readonly dropped: number
  }>
  /** Null without a relational store, and while it does not respond. */
  readonly store: {
    readonly records_estimate: number
    readonly oldest_record: string | null
    readonly bytes: number
    readonly wal_bytes: number | null
  } | null
  /** Whether there are stored responses to list (operations.md 9.8). */
  readonly responses_stored: boolean
  /** Of the gateway. */
  readonly version: string
}

export interface RunningEntry {
  readonly request_id: string
  readonly trace_id: string
  readonly worker_id: number
  readonly protocol: string
  readonly route: string
  readonly model_requested: string | null
  readonly model_effective: string | null
  readonly provider: string | null
  readonly started_at: string
  readonly running_ms: number
  readonly state: 'waiting' | 'responding'
  readonly streaming: boolean
  readonly caller: string | null
  readonly api_key_name: string | null
  readonly api_key_hash: string | null
}

export interface RunningAnswer {
  /** The oldest first. */
  readonly data: readonly RunningEntry[]
  readonly total: number
  /** Workers that did not answer in time. */
  readonly silent_workers: number
}

export type KeyState = 'active' | 'limited' | 'over_budget' | 'expired' | 'disabled'

/** An absent member: there is no such limit. */
export interface ShownLimits {
  readonly requests_per_minute?: number
  readonly tokens_per_minute?: number
  readonly concurrent_requests?: number
  readonly budget?: { readonly amount: number; readonly period: 'day' | 'week' | 'month' | 'total' }
}

/** What of each limit is used now. */
export interface ShownUsage extends Partial<Readonly<Record<Exclude<keyof ShownLimits, 'budget'>, number>>> {
  readonly budget?: { readonly cost: number; readonly period_ends_at: string | null }
}

interface Holder {
  readonly name: string
  /** Names of models, each exact or with a trailing `*`; null for all models. */
  readonly models: readonly string[] | null
  readonly limits: ShownLimits
  /** Null where it is not known now. */
  readonly usage: ShownUsage | null
}

export interface ShownKey extends Holder {
  readonly origin: 'settings' | 'file'
  readonly group: string | null
  readonly expires_at: string | null
  readonly enabled: boolean
  readonly state: KeyState
  /** Of a key with limits, since the start of the gateway. */
  readonly last_used_at: string | null
  readonly metadata: Readonly<Record<string, string>>
}

export interface ShownGroup extends Holder {
  /** How many keys share the limits. */
  readonly keys: number
}

export interface KeysAnswer {
  /** Null without a keys file, as is the currency. */
  readonly keys_revision: string | null
  readonly currency: string | null
  readonly data: readonly ShownKey[]
  readonly groups: readonly ShownGroup[]
}

/** A chain of stored responses with its branches, or a conversation. */
export interface ShownThread {
  /** Of the first response, or of the conversation. */
  readonly id: string
  readonly kind: 'responses' | 'conversation'
  /** The name of the client's key; empty without authentication. */
  readonly owner: string
  readonly created_at: string
  readonly updated_at: string
  readonly turns: number
  readonly bytes: number
  /** Of the newest response; empty where there is none. */
  readonly model: string
}

export interface ThreadsAnswer {
  /** The one that was used last first. */
  readonly data: readonly ShownThread[]
  readonly limit: number
  readonly cursor: string | null
  readonly next_cursor: string | null
}

export interface ShownTurn {
  readonly id: string
  readonly created_at: string
  readonly status: string
  readonly model: string
  readonly previous_response_id: string | null
  /** Of a large item only its id and `omitted_bytes`. */
  readonly input: readonly unknown[]
  readonly output: readonly unknown[]
}

export interface TurnsAnswer {
  /** The oldest first. */
  readonly data: readonly ShownTurn[]
  readonly limit: number
  /** Whether the thread has more turns. */
  readonly has_more: boolean
}
