// A limit of running requests, counted on this host alone.
import { AMOUNT_NAMES, batchOf, type CountedLimitOptions, type HostLimit, SLOT_RETRY_MS } from './counted-limit.ts'
import { createExpectedReturns } from './expected-returns.ts'

export function createSlotLimit({ name, holder, limit }: CountedLimitOptions): HostLimit {
  const heldBy = new Map<number, number>()
  const returns = createExpectedReturns()
  let held = 0

  /** At most what the owner holds: what was granted before this limit existed is not counted in it. */
  function free(owner: number, amount: number): void {
    const owned = heldBy.get(owner) ?? 0
    const freed = Math.min(amount, owned)
    held -= freed
    if (freed === owned) heldBy.delete(owner)
    else heldBy.set(owner, owned - freed)
  }

  const counted: HostLimit = {
    name,
    holder,
    amountName: AMOUNT_NAMES[name],
    limit,
    check({ amount, nowMs }) {
      if (held + amount <= counted.limit) return { kind: 'free' }
      const retryAfterMs = amount > counted.limit ? null : SLOT_RETRY_MS
      return { kind: 'short', retryAfterMs, returnsUntilMs: returns.untilMs(nowMs) }
    },
    batch: (amount, { workers }) => batchOf(counted.limit, counted.limit - held - amount, workers),
    take(grant) {
      held += grant.amount
      heldBy.set(grant.owner, (heldBy.get(grant.owner) ?? 0) + grant.amount)
      if (grant.extra > 0) returns.expect(grant, grant.nowMs)
    },
    giveBack: ({ owner, amount }) => free(owner, amount),
    overrun: () => undefined,
    forgetLease: returns.forget,
    expectedUntilMs: returns.untilMs,
    releaseOwner: owner => free(owner, heldBy.get(owner) ?? 0),
    used: () => held,
    meter: () => ({ limit: counted.limit, remaining: Math.max(0, counted.limit - held), resetMs: 0 })
  }
  return counted
}
