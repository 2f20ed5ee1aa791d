// Records that are queued for one sink, and who has each of them: its worker too, or this process alone.
import type { TrafficRecord } from '../../shared/traffic/record.ts'

/** Records that arrived together; their worker may drop them when all are settled, or when they are released. */
interface Arrival {
  readonly atMs: number
  /** The connection that they came over. */
  readonly source: object
  unsettled: number
  /** Lets the worker drop its copy. */
  readonly acknowledge: () => void
}

export interface Entry {
  readonly record: TrafficRecord
  readonly bytes: number
  readonly arrival: Arrival
  /** Stored, spilled, or dropped and counted. */
  isSettled: boolean
}

export interface ArrivalFacts {
  readonly bytes: number
  readonly atMs: number
  readonly source: object
}

const NO_SOURCE: object = {}

/** Entries of records that no worker waits for, such as those of a spill. */
export function createEntries(records: readonly TrafficRecord[], atMs: number): Entry[] {
  return createArrival(records, { bytes: 0, atMs, source: NO_SOURCE }, () => undefined).entries
}

function createArrival(
  records: readonly TrafficRecord[],
  { bytes, atMs, source }: ArrivalFacts,
  acknowledge: () => void
): { arrival: Arrival; entries: Entry[] } {
  const bytesEach = Math.ceil(bytes / records.length)
  const arrival: Arrival = { atMs, source, unsettled: records.length, acknowledge }
  return { arrival, entries: records.map(record => ({ record, bytes: bytesEach, arrival, isSettled: false })) }
}

/** The entries that are not settled. */
export function unsettledOf(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ isSettled }) => !isSettled)
}

/** What is not settled of one queue. */
export class EntryLedger {
  readonly #onHeld: (count: number) => void
  /** What workers have too. */
  readonly #kept = new Set<Arrival>()
  /** What is not settled and no worker has. */
  readonly #released = new Set<Arrival>()
  #held = 0

  /** @param onHeld called with how many records only this process has, whenever that changes and before a worker drops its copies. */
  constructor(onHeld: (count: number) => void) {
    this.#onHeld = onHeld
  }

  /** Entries of records that arrived together; `acknowledged` resolves when all are settled or released. */
  add(records: readonly TrafficRecord[], facts: ArrivalFacts): { entries: Entry[]; acknowledged: Promise<void> } {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { arrival, entries } = createArrival(records, facts, resolve)
    this.#kept.add(arrival)
    return { entries, acknowledged: promise }
  }

  /** Settles each entry once. */
  settle(entries: readonly Entry[]): void {
    const before = this.#held
    for (const entry of entries) {
      if (entry.isSettled) continue
      const { arrival } = entry
      entry.isSettled = true
      arrival.unsettled -= 1
      if (this.#released.has(arrival)) this.#held -= 1
      if (arrival.unsettled === 0) this.#finish(arrival)
    }
    if (this.#held !== before) this.#onHeld(this.#held)
  }

  /** Acknowledges what came over this connection: from now on only this process has it. */
  release(source: object): void {
    this.#release([...this.#kept].filter(arrival => arrival.source === source))
  }

  /** Acknowledges everything: workers keep none of it. */
  releaseAll(): void {
    this.#release([...this.#kept])
  }

  #release(arrivals: readonly Arrival[]): void {
    if (arrivals.length === 0) return
    for (const arrival of arrivals) {
      this.#kept.delete(arrival)
      this.#released.add(arrival)
      this.#held += arrival.unsettled
    }
    this.#onHeld(this.#held)
    for (const { acknowledge } of arrivals) acknowledge()
  }

  #finish(arrival: Arrival): void {
    this.#kept.delete(arrival)
    this.#released.delete(arrival)
    arrival.acknowledge()
  }
}
