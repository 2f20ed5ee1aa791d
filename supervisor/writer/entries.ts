// Records that are queued for one sink, and when their worker may drop them.
import type { TrafficRecord } from '../../shared/traffic/record.ts'

/** Records that arrived together; their worker may drop them when all are settled. */
interface Arrival {
  readonly atMs: number
  unsettled: number
  readonly settled: () => void
}

export interface Entry {
  readonly record: TrafficRecord
  readonly bytes: number
  readonly arrival: Arrival
  /** Stored, spilled, or dropped and counted. */
  isSettled: boolean
}

/**
 * Entries of records that arrived together, with their size in bytes; `settled` resolves when all
 * of them are settled or released.
 */
export function createEntries(
  records: readonly TrafficRecord[],
  { bytes, atMs }: { bytes: number; atMs: number }
): { entries: Entry[]; settled: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const arrival: Arrival = { atMs, unsettled: records.length, settled: resolve }
  const bytesEach = Math.ceil(bytes / records.length)
  const entries = records.map(record => ({ record, bytes: bytesEach, arrival, isSettled: false }))
  return { entries, settled: promise }
}

/** Settles each entry once. */
export function settle(entries: readonly Entry[]): void {
  for (const entry of entries) {
    if (entry.isSettled) continue
    const { arrival } = entry
    entry.isSettled = true
    arrival.unsettled -= 1
    if (arrival.unsettled === 0) arrival.settled()
  }
}

/** Acknowledges the batches of these entries to their workers, before the entries are settled. */
export function release(entries: readonly Entry[]): void {
  for (const { arrival } of entries) arrival.settled()
}

/** The entries that are not settled. */
export function unsettledOf(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ isSettled }) => !isSettled)
}
