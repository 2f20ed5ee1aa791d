// What a worker and the supervisor say to each other about limits (keys.md 3). A worker takes leases of a key's counters, admits requests
// from them without a message of their own, and gives back what it has not used.
import { z } from 'zod'

/** The limits of keys and groups by their names in the file. */
export const LIMIT_NAMES = ['requests_per_minute', 'tokens_per_minute', 'concurrent_requests', 'budget'] as const
export type LimitName = (typeof LIMIT_NAMES)[number]

/** Whose limit it is: the key's own, or that of its group. */
export const LIMIT_HOLDERS = ['key', 'group'] as const
export type LimitHolder = (typeof LIMIT_HOLDERS)[number]

/** Amounts of a key's counters. A counter that the key does not have is not asked for and is not counted. */
export interface LeaseAmounts {
  readonly requests: number
  readonly tokens: number
  readonly slots: number
}

/** A counter per minute as a client sees it: the tightest one of the key's own and its group's. */
export interface Meter {
  readonly limit: number
  /** What is neither used nor leased. */
  readonly remaining: number
  /** Milliseconds until the whole limit is free again. */
  readonly resetMs: number
}

/** Absent members: the key has no such limit. */
export interface Meters {
  readonly requests?: Meter
  readonly tokens?: Meter
}

/** Why a lease was refused. */
export interface LeaseRefusal {
  readonly limit: LimitName
  readonly holder: LimitHolder
  /** Milliseconds until what was asked for fits; null where it never does: a budget without a period, or more than the whole limit. */
  readonly retryAfterMs: number | null
}

/** What a request, or a lease that has become old, gives back or has used beyond what was reserved for it. */
export interface Settlement {
  /** The name of the key. */
  readonly key: string
  /** When the supervisor granted what is settled here, by its own clock: `grantedAtMs` of the lease. */
  readonly grantedAtMs: number
  /** Requests that were leased and not admitted. */
  readonly unusedRequests: number
  /** Tokens that were reserved and not used; negative: used beyond the reservation. */
  readonly unusedTokens: number
  /** Slots that are free again. */
  readonly freedSlots: number
  /** Cost in billionths of the currency. */
  readonly costNanos: number
}

/** How the supervisor answers a worker that asks for a lease. */
export type LeaseAnswer =
  /** `amounts`: at least what was asked for. `grantedAtMs` is named when it is settled. */
  | { readonly kind: 'granted'; readonly amounts: LeaseAmounts; readonly grantedAtMs: number; readonly meters: Meters }
  | { readonly kind: 'refused'; readonly refusal: LeaseRefusal; readonly meters: Meters }
  /** The counters cannot be read, and the operator wants requests refused then. */
  | { readonly kind: 'unavailable' }

/** Where a worker gets its leases: the supervisor. */
export interface LeaseSource {
  /**
   * Asks for at least `amounts` of the counters of a key. Rejects with the reason of `signal`; what is granted after that is given back.
   * Without an answer in time, and without a supervisor, it resolves with `unavailable`.
   */
  lease(key: string, amounts: LeaseAmounts, signal: AbortSignal): Promise<LeaseAnswer>
  settle(settlements: readonly Settlement[]): void
}

/** How old an unused lease becomes before it is given back. */
export const LEASE_AGE_MAX_MS = 100

const count = z.int().min(0)

/** What is used of one limit now. */
const limitUsage = z.strictObject({
  limit: z.enum(LIMIT_NAMES),
  holder: z.enum(LIMIT_HOLDERS),
  /** The limit and what is used of it; of a budget both in billionths of the currency. */
  limitAmount: count,
  usedAmount: count,
  /** When the period of a budget ends, in milliseconds since the epoch; null for other limits and for a budget without a period. */
  periodEndsAtMs: z.number().nullable()
})
export type LimitUsage = z.infer<typeof limitUsage>

/** What a key with limits uses now; the limits of its group show what all its keys use together. */
export const keyUsage = z.strictObject({
  key: z.string(),
  /** In milliseconds since the epoch; null where the key was not used since the start. */
  lastUsedAtMs: z.number().nullable(),
  limits: z.array(limitUsage)
})
export type KeyUsage = z.infer<typeof keyUsage>
