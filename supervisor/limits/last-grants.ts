// The last lease of each key that each worker has: when the worker dies, what that lease held beyond its request goes back. Earlier leases
// were used up before the worker asked for another one.
import { LEASE_AGE_MAX_MS, type LeaseAmounts, type Settlement } from '../../shared/limits/leases.ts'

export interface LastGrant {
  readonly owner: number
  readonly key: string
  readonly grantedAtMs: number
  /** Beyond what was asked for. */
  readonly extra: LeaseAmounts
}

export interface LastGrants {
  remember(grant: LastGrant): void
  /** The worker has given something back of its last lease. */
  reduce(owner: number, settlement: Settlement): void
  /** What the worker may hold, and holds no more from now on. */
  takeAll(owner: number, nowMs: number): LastGrant[]
}

export function createLastGrants(): LastGrants {
  const byOwner = new Map<number, Map<string, LastGrant>>()
  return {
    remember(grant) {
      const { owner, key, extra } = grant
      const byKey = byOwner.get(owner) ?? new Map<string, LastGrant>()
      byOwner.set(owner, byKey)
      if (extra.requests + extra.tokens > 0) byKey.set(key, grant)
      else byKey.delete(key)
    },
    reduce(owner, { key, grantedAtMs, unusedRequests, unusedTokens }) {
      const byKey = byOwner.get(owner)
      const grant = byKey?.get(key)
      if (byKey === undefined || grant?.grantedAtMs !== grantedAtMs) return
      const { requests, tokens, slots } = grant.extra
      const extra = {
        requests: Math.max(0, requests - unusedRequests),
        tokens: Math.max(0, tokens - Math.max(0, unusedTokens)),
        slots
      }
      byKey.set(key, { ...grant, extra })
    },
    takeAll(owner, nowMs) {
      const grants = [...(byOwner.get(owner)?.values() ?? [])]
      byOwner.delete(owner)
      return grants.filter(({ grantedAtMs }) => nowMs - grantedAtMs <= 2 * LEASE_AGE_MAX_MS)
    }
  }
}
