// The records that wait in memory for one sink. Buffer and batches are bounded by count and bytes.
import type { Entry } from './entries.ts'

export interface BufferBounds {
  /** Bounds of what waits in memory. */
  readonly recordsMax: number
  readonly bytesMax: number
  readonly batchRecordsMax: number
  readonly batchBytesMax: number
}

export class EntryBuffer {
  readonly #bounds: BufferBounds
  #entries: Entry[] = []
  #bytes = 0

  constructor(bounds: BufferBounds) {
    this.#bounds = bounds
  }

  get all(): readonly Entry[] {
    return this.#entries
  }

  get length(): number {
    return this.#entries.length
  }

  get hasFullBatch(): boolean {
    const { batchRecordsMax, batchBytesMax } = this.#bounds
    return this.#entries.length >= batchRecordsMax || this.#bytes >= batchBytesMax
  }

  /** How many of these entries fit beside the entries that a sink is writing now. */
  countRoom(entries: readonly Entry[], inFlight: number): number {
    const { recordsMax, bytesMax } = this.#bounds
    const byBytes = Math.floor((bytesMax - this.#bytes) / Math.max(1, entries[0]?.bytes ?? 0))
    return Math.max(0, Math.min(entries.length, recordsMax - this.length - inFlight, byBytes))
  }

  /** Adds entries at the end, also beyond the bounds. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) this.#entries.push(entry)
    this.#bytes += sumBytes(entries)
  }

  /** Puts entries of a batch back to the front. */
  putBack(entries: readonly Entry[]): void {
    this.#entries = entries.concat(this.#entries)
    this.#bytes += sumBytes(entries)
  }

  /** Takes the next batch: none only where nothing waits. */
  takeBatch(): Entry[] {
    const { batchRecordsMax, batchBytesMax } = this.#bounds
    let count = 0
    let bytes = 0
    for (const entry of this.#entries) {
      if (count >= batchRecordsMax || (count > 0 && bytes + entry.bytes > batchBytesMax)) break
      count += 1
      bytes += entry.bytes
    }
    this.#bytes -= bytes
    return this.#entries.splice(0, count)
  }

  /** Takes one batch, and more up to this number only while they are full. */
  takeBatches(countMax: number): Entry[][] {
    const batches: Entry[][] = []
    do {
      const batch = this.takeBatch()
      if (batch.length > 0) batches.push(batch)
    } while (batches.length < countMax && this.hasFullBatch)
    return batches
  }

  takeAll(): Entry[] {
    this.#bytes = 0
    return this.#entries.splice(0)
  }
}

function sumBytes(entries: readonly Entry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0)
}
