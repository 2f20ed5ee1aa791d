// Which workers may still give back a part of a lease, and until when.
import { LEASE_AGE_MAX_MS } from '../../shared/limits/leases.ts'

/** After this time a lease has been given back, also by a worker with a late timer and with the time that its message takes. */
const RETURN_WAIT_MS = 2 * LEASE_AGE_MAX_MS

/** One key in one worker process: it holds one lease at a time. */
export interface Leaseholder {
  readonly owner: number
  readonly key: string
}

export interface ExpectedReturns {
  /** The leaseholder has something that it may not use. */
  expect(holder: Leaseholder, nowMs: number): void
  /** It asks again: its earlier lease is used up, or given back. */
  forget(holder: Leaseholder): void
  /** When the last of them has ended; undefined where no leaseholder has anything to give back. */
  untilMs(nowMs: number): number | undefined
}

export function createExpectedReturns(): ExpectedReturns {
  /** When each may hold no more; the earliest first. */
  const ends = new Map<string, number>()
  return {
    expect(holder, nowMs) {
      const id = idOf(holder)
      ends.delete(id)
      ends.set(id, nowMs + RETURN_WAIT_MS)
    },
    forget: holder => void ends.delete(idOf(holder)),
    untilMs(nowMs) {
      let lastMs: number | undefined
      for (const [id, endMs] of ends) {
        if (endMs <= nowMs) ends.delete(id)
        else lastMs = endMs
      }
      return lastMs
    }
  }
}

function idOf({ owner, key }: Leaseholder): string {
  return `${owner} ${key}`
}
