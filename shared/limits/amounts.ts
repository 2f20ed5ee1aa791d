// The amounts of a lease, and which limit counts which of them.
import type { LeaseAmounts, LimitName } from './leases.ts'

/** The member of a lease that each limit counts. A budget counts none of them. */
export const AMOUNT_NAMES = {
  requests_per_minute: 'requests',
  tokens_per_minute: 'tokens',
  concurrent_requests: 'slots'
} as const satisfies Record<Exclude<LimitName, 'budget'>, keyof LeaseAmounts>

export const NO_AMOUNTS: LeaseAmounts = { requests: 0, tokens: 0, slots: 0 }

export function addAmounts(left: LeaseAmounts, right: LeaseAmounts): LeaseAmounts {
  return {
    requests: left.requests + right.requests,
    tokens: left.tokens + right.tokens,
    slots: left.slots + right.slots
  }
}
