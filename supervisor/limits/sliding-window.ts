// What was taken in the last minute, in buckets of 100 ms (keys.md 3). Memory is bounded by the number of buckets, not of requests.
import { LEASE_AGE_MAX_MS } from '../../shared/limits/leases.ts'

export const BUCKET_MS = 100
export const WINDOW_MS = 60_000
/** What is granted may be used until the lease is too old, so it counts for as much longer; the rest is for a timer that is late. */
const HOLD_BUCKETS = Math.ceil((WINDOW_MS + 2 * LEASE_AGE_MAX_MS) / BUCKET_MS)

interface Bucket {
  readonly index: number
  amount: number
}

/** Times are those of one clock that never goes back. */
export interface SlidingWindow {
  used(nowMs: number): number
  add(amount: number, nowMs: number): void
  /** Takes an amount back that was added at `atMs`. What has left the window is ignored. */
  remove(amount: number, atMs: number): void
  /** Milliseconds until at most `amount` is used; 0 where that is so now. */
  msUntil(amount: number, nowMs: number): number
}

export function createSlidingWindow(): SlidingWindow {
  /** By index, the oldest first; those without an amount are left out. */
  const buckets: Bucket[] = []
  let total = 0

  function expire(nowMs: number): void {
    const oldest = Math.floor(nowMs / BUCKET_MS) - HOLD_BUCKETS
    let count = 0
    for (const { index, amount } of buckets) {
      if (index >= oldest) break
      total -= amount
      count += 1
    }
    if (count > 0) buckets.splice(0, count)
  }

  return {
    used(nowMs) {
      expire(nowMs)
      return total
    },
    add(amount, nowMs) {
      if (amount === 0) return
      expire(nowMs)
      const index = Math.floor(nowMs / BUCKET_MS)
      const last = buckets.at(-1)
      if (last !== undefined && last.index >= index) last.amount += amount
      else buckets.push({ index, amount })
      total += amount
    },
    remove(amount, atMs) {
      const index = Math.floor(atMs / BUCKET_MS)
      const bucket = buckets.findLast(candidate => candidate.index <= index)
      if (bucket === undefined || bucket.index !== index) return
      const removed = Math.min(amount, bucket.amount)
      bucket.amount -= removed
      total -= removed
    },
    msUntil(amount, nowMs) {
      expire(nowMs)
      let left = total - amount
      if (left <= 0) return 0
      for (const bucket of buckets) {
        left -= bucket.amount
        if (left <= 0) return (bucket.index + HOLD_BUCKETS + 1) * BUCKET_MS - nowMs
      }
      return 0
    }
  }
}
