// One limit of a key or of a group that requests take from: a window of a minute, or the slots of running requests (keys.md 2).
import type { AMOUNT_NAMES } from '../../shared/limits/amounts.ts'
import type { LeaseAmounts, LimitHolder, Meter } from '../../shared/limits/leases.ts'
import type { Leaseholder } from './expected-returns.ts'

/** The share of a limit that one lease may hold beyond what its request needs. */
const BATCH_SHARE = 0.05
/** When it may help to ask again for a slot. */
export const SLOT_RETRY_MS = 1_000

export type CountedLimitName = keyof typeof AMOUNT_NAMES

/** Whether an amount can be taken now. */
export type Availability =
  | { readonly kind: 'free' }
  | Shortage
  /** The shared place is being asked. */
  | { readonly kind: 'asking' }
  /** The shared place cannot be reached, and the operator wants requests refused then. */
  | { readonly kind: 'unavailable' }

export interface Shortage {
  readonly kind: 'short'
  /** Null for more than the whole limit. */
  readonly retryAfterMs: number | null
  /** Until then workers may give back what they have not used; undefined where they hold nothing of that kind. */
  readonly returnsUntilMs: number | undefined
}

export interface Want {
  readonly amount: number
  readonly nowMs: number
  /** Of the question that this is part of: later questions have higher ones. */
  readonly questionId: number
  /** The question is answered now, from what is known here. */
  readonly mustAnswer: boolean
}

export interface Grant extends Leaseholder {
  readonly amount: number
  /** What the request that asked does not need itself. */
  readonly extra: number
  readonly nowMs: number
}

export interface GivenBack {
  readonly owner: number
  readonly amount: number
  readonly grantedAtMs: number
  readonly nowMs: number
}

/** What is granted counts as used. Times are those of one clock that never goes back. */
export interface CountedLimit {
  readonly name: CountedLimitName
  readonly holder: LimitHolder
  readonly amountName: keyof LeaseAmounts
  /** A new limit keeps what is used. */
  limit: number
  check(want: Want): Availability
  /** What a lease of one of `workers` may hold beyond `amount`. */
  batch(amount: number, options: { workers: number; nowMs: number }): number
  take(grant: Grant): void
  giveBack(returned: GivenBack): void
  /** Counts what was used beyond a reservation. */
  overrun(amount: number, nowMs: number): void
  /** The leaseholder asks again: it has nothing more to give back. */
  forgetLease(holder: Leaseholder): void
  releaseOwner(owner: number, nowMs: number): void
  used(nowMs: number): number
  /** Of a window alone. */
  meter(nowMs: number): Meter
}

export interface CountedLimitOptions {
  /** Names it among those of all keys and groups, as shared places do. */
  readonly id: string
  readonly name: CountedLimitName
  readonly holder: LimitHolder
  readonly limit: number
}

/** See `Shortage`. */
export function shortage(retryAfterMs: number | null, returnsUntilMs?: number): Shortage {
  return { kind: 'short', retryAfterMs, returnsUntilMs }
}

/** A share of what remains, and never more than a small part of the limit. */
export function batchOf(limit: number, remaining: number, sharers: number): number {
  const most = Math.max(1, Math.floor(limit * BATCH_SHARE))
  return Math.max(0, Math.min(most, Math.floor(remaining / (2 * sharers))))
}
