// What the window and the slots of one host have in common: workers hold leases of both, and give back what they have not used.
import { AMOUNT_NAMES } from '../../shared/limits/amounts.ts'
import type { Meter } from '../../shared/limits/leases.ts'
import { batchOf, type CountedLimit, type CountedLimitOptions, type Grant, shortage } from './counted-limit.ts'
import { createExpectedReturns } from './expected-returns.ts'

export interface HostLimit extends CountedLimit {
  /** Until when workers may give something back; undefined where they hold nothing that they may not use. */
  expectedUntilMs(nowMs: number): number | undefined
}

/** How the limit counts. */
export interface HostCounter extends Pick<CountedLimit, 'giveBack' | 'overrun' | 'releaseOwner' | 'used'> {
  add(grant: Grant): void
  /** Milliseconds until at most `used` may be used; 0 where that is so now. */
  msUntil(used: number, nowMs: number): number
  /** As in `Meter`. */
  resetMs(nowMs: number): Meter['resetMs']
}

export function createHostLimit({ name, holder, limit }: CountedLimitOptions, counter: HostCounter): HostLimit {
  const { giveBack, overrun, releaseOwner, used } = counter
  const returns = createExpectedReturns()
  const counted: HostLimit = {
    name,
    holder,
    amountName: AMOUNT_NAMES[name],
    limit,
    check({ amount, nowMs }) {
      if (amount > counted.limit) return shortage(null)
      const retryAfterMs = counter.msUntil(counted.limit - amount, nowMs)
      return retryAfterMs === 0 ? { kind: 'free' } : shortage(retryAfterMs, returns.untilMs(nowMs))
    },
    batch: (amount, { workers, nowMs }) => batchOf(counted.limit, counted.limit - used(nowMs) - amount, workers),
    take(grant) {
      counter.add(grant)
      if (grant.extra > 0) returns.expect(grant, grant.nowMs)
    },
    giveBack,
    overrun,
    forgetLease: returns.forget,
    expectedUntilMs: returns.untilMs,
    releaseOwner,
    used,
    meter: nowMs => ({
      limit: counted.limit,
      remaining: Math.max(0, counted.limit - used(nowMs)),
      resetMs: counter.resetMs(nowMs)
    })
  }
  return counted
}
