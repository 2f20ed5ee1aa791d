// What this host holds of a shared window and has not granted to a worker: its own lease, which becomes old like those of workers.
import { LEASE_AGE_MAX_MS } from '../../../shared/limits/leases.ts'
import type { DatedAmounts } from './dated-amounts.ts'

interface PoolEntry {
  amount: number
  readonly takenAtMs: number
}

export interface LeasePool {
  readonly amount: number
  add(amount: number, takenAtMs: number): void
  /** At most what is there. */
  take(amount: number): void
  /** Moves what has become old to what is given back. */
  expire(nowMs: number, givenBack: DatedAmounts): void
  /** Moves everything there. */
  clear(givenBack: DatedAmounts): void
}

export function createLeasePool(): LeasePool {
  /** The oldest first, as far as it matters: those that workers gave back are older than the last one by a lease's age at most. */
  let entries: PoolEntry[] = []
  let total = 0

  function move(isMoved: (entry: PoolEntry) => boolean, givenBack: DatedAmounts): void {
    for (const entry of entries) {
      if (!isMoved(entry)) continue
      givenBack.add(entry.amount, entry.takenAtMs)
      total -= entry.amount
    }
    entries = entries.filter(entry => !isMoved(entry))
  }

  return {
    get amount() {
      return total
    },
    add(amount, takenAtMs) {
      if (amount === 0) return
      const last = entries.at(-1)
      if (last?.takenAtMs === takenAtMs) last.amount += amount
      else entries.push({ amount, takenAtMs })
      total += amount
    },
    take(amount) {
      let left = Math.min(amount, total)
      total -= left
      while (left > 0) {
        const [entry] = entries
        if (entry === undefined) return
        const taken = Math.min(left, entry.amount)
        entry.amount -= taken
        left -= taken
        if (entry.amount === 0) entries.shift()
      }
    },
    expire: (nowMs, givenBack) => move(({ takenAtMs }) => nowMs - takenAtMs >= LEASE_AGE_MAX_MS, givenBack),
    clear: givenBack => move(() => true, givenBack)
  }
}
