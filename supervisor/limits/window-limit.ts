// A limit per minute, counted on this host alone.
import { AMOUNT_NAMES, batchOf, type CountedLimitOptions, type HostLimit } from './counted-limit.ts'
import { createExpectedReturns } from './expected-returns.ts'
import { createSlidingWindow } from './sliding-window.ts'

export function createWindowLimit({ name, holder, limit }: CountedLimitOptions): HostLimit {
  const window = createSlidingWindow()
  const returns = createExpectedReturns()
  const counted: HostLimit = {
    name,
    holder,
    amountName: AMOUNT_NAMES[name],
    limit,
    check({ amount, nowMs }) {
      if (amount > counted.limit) return { kind: 'short', retryAfterMs: null, returnsUntilMs: undefined }
      const retryAfterMs = Math.ceil(window.msUntil(counted.limit - amount, nowMs))
      if (retryAfterMs === 0) return { kind: 'free' }
      return { kind: 'short', retryAfterMs, returnsUntilMs: returns.untilMs(nowMs) }
    },
    batch: (amount, { workers, nowMs }) => batchOf(counted.limit, counted.limit - window.used(nowMs) - amount, workers),
    take(grant) {
      window.add(grant.amount, grant.nowMs)
      if (grant.extra > 0) returns.expect(grant, grant.nowMs)
    },
    giveBack: ({ amount, grantedAtMs }) => window.remove(amount, grantedAtMs),
    overrun: (amount, nowMs) => window.add(amount, nowMs),
    forgetLease: returns.forget,
    expectedUntilMs: returns.untilMs,
    releaseOwner: () => undefined,
    used: window.used,
    meter: nowMs => ({
      limit: counted.limit,
      remaining: Math.max(0, counted.limit - window.used(nowMs)),
      resetMs: Math.ceil(window.msUntil(0, nowMs))
    })
  }
  return counted
}
