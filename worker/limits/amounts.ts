// What requests take of a lease, and what is left of it.
import { AMOUNT_NAMES } from '../../shared/limits/amounts.ts'
import type { LeaseAmounts, LimitName } from '../../shared/limits/leases.ts'

/** Names of the counters of a lease. */
const COUNTERS = ['requests', 'tokens', 'slots'] as const

/**
 * What a request takes of the counters that its key has. A budget has no counter in a lease. A key with a budget takes a request from the
 * lease, so that the size of the lease bounds how many requests are admitted before the supervisor checks the budget again.
 */
export function countAmounts(limitNames: ReadonlySet<LimitName>, tokens: number): LeaseAmounts {
  return {
    requests: limitNames.has('requests_per_minute') || limitNames.has('budget') ? 1 : 0,
    tokens: limitNames.has('tokens_per_minute') ? tokens : 0,
    slots: limitNames.has('concurrent_requests') ? 1 : 0
  }
}

/** What is left of `a` without `b`. */
export function subtractAmounts(a: LeaseAmounts, b: LeaseAmounts): LeaseAmounts {
  return { requests: a.requests - b.requests, tokens: a.tokens - b.tokens, slots: a.slots - b.slots }
}

export function covers(held: LeaseAmounts, wanted: LeaseAmounts): boolean {
  return COUNTERS.every(counter => held[counter] >= wanted[counter])
}

export function isNothing(amounts: LeaseAmounts): boolean {
  return COUNTERS.every(counter => amounts[counter] === 0)
}

/** Whether what is refused to a request that wants `refused` is refused to one that wants `wanted` as well. */
export function isRefusedToo(limit: LimitName, refused: LeaseAmounts, wanted: LeaseAmounts): boolean {
  if (limit === 'budget') return true
  const counter = AMOUNT_NAMES[limit]
  return wanted[counter] >= refused[counter]
}
