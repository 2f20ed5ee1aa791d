// What the shared window and the shared slots have in common (keys.md 3): the size of leases, and who decides in an outage.
import { batchOf, type CountedLimit, shortage } from '../counted-limit.ts'
import type { HostLimit } from '../host-limit.ts'
import type { Exchanges } from './exchanges.ts'
import type { Outage } from './outage.ts'

/** Hosts that share a place are not known; a lease of a host holds an eighth of what remains at most. */
const SHARERS = 4

export interface SharedLimitDependencies {
  readonly exchanges: Exchanges
  readonly outage: Outage
}

/** A limit as this host counts it with the place. */
export interface PlacedLimit
  extends Pick<CountedLimit, 'check' | 'take' | 'giveBack' | 'overrun' | 'releaseOwner' | 'used' | 'meter'> {
  /** What this host holds of the place and has not granted. */
  free(): number
}

/** `local` counts what this host grants: it decides in an outage. `placed` decides while the place answers. */
export function createSharedLimit(local: HostLimit, outage: Outage, placed: PlacedLimit): CountedLimit {
  const { take, giveBack, overrun, releaseOwner, used, meter } = placed
  return {
    name: local.name,
    holder: local.holder,
    amountName: local.amountName,
    get limit() {
      return local.limit
    },
    set limit(limit) {
      local.limit = limit
    },
    check(want) {
      if (outage.isOut) return outage.mode === 'local' ? local.check(want) : { kind: 'unavailable' }
      if (want.amount > local.limit) return shortage(null)
      return want.amount <= placed.free() ? { kind: 'free' } : placed.check(want)
    },
    batch(amount, options) {
      if (outage.isOut) return local.batch(amount, options)
      return batchOf(local.limit, 2 * (placed.free() - amount), options.workers)
    },
    take,
    giveBack,
    overrun,
    forgetLease: local.forgetLease,
    releaseOwner,
    used,
    meter
  }
}

/** What a host takes from the place beyond what it needs now. */
export function batchFromPlace(local: HostLimit, remaining: number): number {
  return batchOf(local.limit, remaining, SHARERS)
}
