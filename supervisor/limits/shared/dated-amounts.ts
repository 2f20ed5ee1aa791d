// Amounts by when they were taken, to the tenth of a second, for as long as they can be in a window of a minute.
import { BUCKET_MS, WINDOW_MS } from '../sliding-window.ts'

export interface DatedAmount {
  readonly amount: number
  readonly ageMs: number
}

export interface DatedAmounts {
  readonly isEmpty: boolean
  add(amount: number, atMs: number): void
  remove(amount: number, atMs: number): void
  /** Everything, the oldest first; nothing is left. */
  takeAll(nowMs: number): DatedAmount[]
}

export function createDatedAmounts(): DatedAmounts {
  const amounts = new Map<number, number>()

  /** Amounts may come with any time, so the oldest key is not the first one. */
  function dropOld(nowMs: number): void {
    for (const bucket of amounts.keys()) if (nowMs - bucket * BUCKET_MS > WINDOW_MS + BUCKET_MS) amounts.delete(bucket)
  }

  return {
    get isEmpty() {
      return amounts.size === 0
    },
    add(amount, atMs) {
      const bucket = Math.floor(atMs / BUCKET_MS)
      amounts.set(bucket, (amounts.get(bucket) ?? 0) + amount)
      if (amounts.size > (2 * WINDOW_MS) / BUCKET_MS) dropOld(atMs)
    },
    remove(amount, atMs) {
      const bucket = Math.floor(atMs / BUCKET_MS)
      const left = (amounts.get(bucket) ?? 0) - amount
      if (left > 0) amounts.set(bucket, left)
      else amounts.delete(bucket)
    },
    takeAll(nowMs) {
      dropOld(nowMs)
      const list = [...amounts].sort(([left], [right]) => left - right)
      amounts.clear()
      return list.map(([bucket, amount]) => ({ amount, ageMs: Math.max(0, Math.round(nowMs - bucket * BUCKET_MS)) }))
    }
  }
}
