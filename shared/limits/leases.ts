// What a worker and the supervisor say to each other about limits (keys.md 3). A worker takes leases of a key's counters, admits requests
// from them without a message of their own, and gives back what it has not used.
import { z } from 'zod'

/** The limits of keys and groups by their names in the file. */
export const LIMIT_NAMES = ['requests_per_minute', 'tokens_per_minute', 'concurrent_requests', 'budget'] as const
export type LimitName = (typeof LIMIT_NAMES)[number]

const count = z.int().min(0)

/** Amounts of a key's counters. A counter that the key does not have is not asked for and is not counted. */
export const leaseAmounts = z.strictObject({ requests: count, tokens: count, slots: count })
export type LeaseAmounts = z.infer<typeof leaseAmounts>

/** A counter per minute as a client sees it: the tightest one of the key's own and its group's. */
const meter = z.strictObject({
  limit: count,
  /** What is neither used nor leased. */
  remaining: count,
  /** Milliseconds until the whole limit is free again. */
  resetMs: count
})
export type Meter = z.infer<typeof meter>

/** Absent members: the key has no such limit. */
export const meters = z.strictObject({ requests: meter.exactOptional(), tokens: meter.exactOptional() })
export type Meters = z.infer<typeof meters>

/** Why a lease was refused. */
export const leaseRefusal = z.strictObject({
  limit: z.enum(LIMIT_NAMES),
  /** Whose limit it is: the key's own, or that of its group. */
  holder: z.enum(['key', 'group']),
  /** Milliseconds until what was asked for fits; null where it never does: a budget without a period, or more than the whole limit. */
  retryAfterMs: count.nullable()
})
export type LeaseRefusal = z.infer<typeof leaseRefusal>

/** What a request, or a lease that has become old, gives back or has used beyond what was reserved for it. */
export const settlement = z.strictObject({
  /** The name of the key. */
  key: z.string(),
  /** When the supervisor granted what is settled here, by its own clock: `grantedAtMs` of the lease. */
  grantedAtMs: z.number(),
  /** Requests that were leased and not admitted. */
  unusedRequests: count,
  /** Tokens that were reserved and not used; negative: used beyond the reservation. */
  unusedTokens: z.int(),
  /** Slots that are free again. */
  freedSlots: count,
  /** Cost in billionths of the currency. */
  costNanos: count
})
export type Settlement = z.infer<typeof settlement>

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

/** What is used of one limit now. */
export const limitUsage = z.strictObject({
  limit: z.enum(LIMIT_NAMES),
  holder: z.enum(['key', 'group']),
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
