// The newest records of the live tail. Texts are kept as they arrived and read only when a row is shown: of 100,000 records that arrive at
// once, a page reads the few that fit on the screen.
import type { TrafficSummary } from './api.ts'

export interface TailBuffer {
  /** Records that arrived since the start or the last `clear`. */
  readonly received: number
  /** How many are kept. */
  readonly size: number
  /** Adds the text of a record; the oldest one falls out when the buffer is full. */
  add(text: string): void
  /** Adds what another buffer keeps, and counts all that it received. */
  append(later: TailBuffer): void
  /** The record at a place, 0 being the newest; undefined for a text that is no record. */
  at(place: number): TrafficSummary | undefined
  /** A number that stays with the record at a place while others arrive. */
  keyAt(place: number): number
  /** What is kept at a place. */
  keptAt(place: number): Kept
  clear(): void
}

type Kept = string | TrafficSummary | undefined

/** Creates a buffer of the newest `capacity` records. */
export function createTailBuffer(capacity: number): TailBuffer {
  let kept: Kept[] = new Array(capacity)
  let received = 0
  const slotOf = (place: number) => (received - 1 - place) % capacity
  function add(record: Kept): void {
    kept[received % capacity] = record
    received += 1
  }
  return {
    get received() {
      return received
    },
    get size() {
      return Math.min(received, capacity)
    },
    add,
    append(later) {
      // Those that the other buffer has lost are only counted; their slots are taken by those that it has.
      received += later.received - later.size
      for (let place = later.size - 1; place >= 0; place--) add(later.keptAt(place))
    },
    at(place) {
      if (place < 0 || place >= Math.min(received, capacity)) return undefined
      const slot = slotOf(place)
      const found = kept[slot]
      if (typeof found !== 'string') return found
      const summary = readSummary(found)
      kept[slot] = summary
      return summary
    },
    keyAt: place => received - 1 - place,
    keptAt: place => kept[slotOf(place)],
    clear() {
      kept = new Array(capacity)
      received = 0
    }
  }
}

function readSummary(text: string): TrafficSummary | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as TrafficSummary) : undefined
  } catch {
    return undefined
  }
}
