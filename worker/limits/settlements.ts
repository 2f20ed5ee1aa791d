// What a worker gives back to the supervisor, or has used beyond its leases, until it is sent (keys.md 3). What belongs to one grant is one
// entry, so that a batch has at most as many entries as grants are settled.
import type { Settlement } from '../../shared/limits/leases.ts'

export interface Settlements {
  readonly isEmpty: boolean
  add(settlement: Settlement): void
  /** All that was added since the last call. */
  take(): Settlement[]
}

export function createSettlements(): Settlements {
  let byGrant = new Map<string, Settlement>()
  return {
    get isEmpty() {
      return byGrant.size === 0
    },
    add(settlement) {
      const id = `${settlement.grantedAtMs} ${settlement.key}`
      const earlier = byGrant.get(id)
      byGrant.set(id, earlier === undefined ? settlement : join(earlier, settlement))
    },
    take() {
      const settlements = [...byGrant.values()]
      byGrant = new Map()
      return settlements
    }
  }
}

function join(a: Settlement, b: Settlement): Settlement {
  return {
    key: a.key,
    grantedAtMs: a.grantedAtMs,
    unusedRequests: a.unusedRequests + b.unusedRequests,
    unusedTokens: a.unusedTokens + b.unusedTokens,
    freedSlots: a.freedSlots + b.freedSlots,
    costNanos: a.costNanos + b.costNanos
  }
}
