// The way of records into one sink: a bounded queue, batches by count and time, retries with back-off, and the spill while the sink is
// not available (operations contract, section 8.3). Each sink has its own, so a failing sink never delays another.
import type { Logger } from '../../shared/logging.ts'
import type { TrafficRecord } from '../../shared/traffic/record.ts'
import type { SinkName } from '../../shared/traffic/sinks.ts'
import { RecordsRefusedError, type Sink } from './sink.ts'
import type { Spill } from './spill.ts'

export interface SinkQueueOptions {
  readonly recordsMax: number
  readonly batchRecordsMax: number
  /** How long a record waits for others. */
  readonly flushIntervalMs: number
  /** Drop records that find the queue full. Otherwise the workers' windows bound it, and requests wait. */
  readonly dropsWhenFull: boolean
  /** Where records go while the sink is not available; without it they wait in the queue. */
  readonly spill: Spill | undefined
  readonly retryMinMs: number
  readonly retryMaxMs: number
}

export type SinkDropReason = 'queue_full' | 'refused' | 'spill_failed' | 'closed'

export interface SinkQueueDependencies {
  readonly log: Logger
  /** From 0 to 1. */
  readonly random: () => number
  readonly onWritten: (count: number) => void
  readonly onDropped: (reason: SinkDropReason, count: number) => void
  readonly onWriteError: () => void
}

/** Records that arrived together; their worker may forget them when all are settled. */
interface Arrival {
  unsettled: number
  readonly settled: () => void
}

interface Entry {
  readonly record: TrafficRecord
  readonly arrival: Arrival
  isSettled: boolean
}

export class SinkQueue {
  readonly #sink: Sink
  readonly #options: SinkQueueOptions
  readonly #dependencies: SinkQueueDependencies
  readonly #counts = { written: 0, dropped: 0 }
  #entries: Entry[] = []
  /** Undefined while the sink is available. */
  #outage: { failures: number } | undefined
  #isWriting = false
  #isWriteWanted = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #idleListeners: Array<() => void> = []

  constructor(sink: Sink, options: SinkQueueOptions, dependencies: SinkQueueDependencies) {
    this.#sink = sink
    this.#options = options
    this.#dependencies = dependencies
    // What an earlier process has spilled is stored even if no record ever comes.
    if (options.spill?.isEmpty === false) void this.#write()
  }

  get name(): SinkName {
    return this.#sink.name
  }

  get isAvailable(): boolean {
    return this.#outage === undefined
  }

  /** Records in memory. */
  get depth(): number {
    return this.#entries.length
  }

  get spillBytes(): number {
    return this.#options.spill?.bytes ?? 0
  }

  /** Since the start of this process. */
  get counts(): { readonly written: number; readonly dropped: number } {
    return this.#counts
  }

  /** Takes records; resolves when each of them is stored, spilled, or dropped and counted. */
  accept(records: readonly TrafficRecord[]): Promise<void> {
    const { recordsMax, dropsWhenFull, batchRecordsMax } = this.#options
    const room = this.#isClosed ? 0 : dropsWhenFull ? Math.max(0, recordsMax - this.#entries.length) : records.length
    const taken = room >= records.length ? records : records.slice(0, room)
    const lost = records.length - taken.length
    if (lost > 0) this.#countDropped(this.#isClosed ? 'closed' : 'queue_full', lost)
    if (taken.length === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const arrival: Arrival = { unsettled: taken.length, settled: resolve }
    for (const record of taken) this.#entries.push({ record, arrival, isSettled: false })
    if (this.#outage !== undefined && this.#options.spill !== undefined) void this.#write()
    else if (this.#entries.length >= batchRecordsMax) void this.#write()
    else this.#schedule(this.#options.flushIntervalMs)
    return promise
  }

  /** Stores everything now. Resolves when nothing is left in memory; while the sink is not available only a spill can empty it. */
  flush(): Promise<void> {
    if (this.#entries.length === 0 && !this.#isWriting) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idleListeners.push(resolve)
    // A back-off that is running ends here.
    clearTimeout(this.#timer)
    this.#timer = undefined
    void this.#write()
    return promise
  }

  /** Ends all attempts; what is left is counted as dropped. The sink and the spill are closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    const left = this.#entries.splice(0)
    if (left.length > 0) this.#drop('closed', left)
    await this.#options.spill?.close()
    await this.#sink.close()
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#write()
    }, delayMs)
  }

  /** Writes until nothing is left, or the sink is not available. One call works at a time and does the work of the others too. */
  async #write(): Promise<void> {
    this.#isWriteWanted = true
    if (this.#isWriting) return
    this.#isWriting = true
    let hasMore = true
    while ((hasMore || this.#isWriteWanted) && !this.#isClosed) {
      this.#isWriteWanted = false
      hasMore = await this.#writeNext()
    }
    this.#isWriting = false
    if (this.#entries.length === 0) for (const listener of this.#idleListeners.splice(0)) listener()
  }

  /** Whether there may be more to do at once. */
  async #writeNext(): Promise<boolean> {
    const { spill, batchRecordsMax } = this.#options
    if (this.#outage !== undefined) return this.#writeInOutage()
    const batch = this.#entries.splice(0, batchRecordsMax)
    if (batch.length > 0) return this.#store(batch)
    return spill !== undefined && !spill.isEmpty && this.#storeSpilled(spill)
  }

  async #writeInOutage(): Promise<boolean> {
    const { spill, batchRecordsMax } = this.#options
    if (spill !== undefined && this.#entries.length > 0) {
      await this.#spill(spill, this.#entries.splice(0))
      return true
    }
    // The back-off is running: its timer comes back here.
    if (this.#timer !== undefined) return false
    if (spill !== undefined && !spill.isEmpty) return this.#storeSpilled(spill)
    const batch = this.#entries.splice(0, batchRecordsMax)
    if (batch.length > 0) return this.#store(batch)
    this.#outage = undefined
    return false
  }

  async #store(batch: Entry[]): Promise<boolean> {
    try {
      await this.#writeToSink(batch)
      return true
    } catch (error) {
      const { spill } = this.#options
      this.#noteFailure(error)
      // Of a batch that was halved, one half may be stored.
      const left = batch.filter(({ isSettled }) => !isSettled)
      if (spill !== undefined) await this.#spill(spill, left)
      else this.#entries.unshift(...left)
      return false
    }
  }

  async #storeSpilled(spill: Spill): Promise<boolean> {
    try {
      const { records, taken } = await spill.read(this.#options.batchRecordsMax)
      const arrival: Arrival = { unsettled: records.length, settled: () => undefined }
      if (records.length > 0) await this.#writeToSink(records.map(record => ({ record, arrival, isSettled: false })))
      await taken()
      return true
    } catch (error) {
      this.#noteFailure(error)
      return false
    }
  }

  /** Writes a batch; one whose records are refused is halved until the refused records stand alone. */
  async #writeToSink(batch: Entry[]): Promise<void> {
    try {
      await this.#sink.write(batch.map(({ record }) => record))
    } catch (error) {
      if (!(error instanceof RecordsRefusedError)) throw error
      const { refusedIds } = error
      if (refusedIds !== undefined || batch.length === 1) {
        const refused = batch.filter(({ record }) => refusedIds?.has(record.id) ?? true)
        this.#dropRefused(refused, error)
        this.#noteWritten(batch.filter(entry => !refused.includes(entry)))
        return
      }
      const half = batch.length >> 1
      await this.#writeToSink(batch.slice(0, half))
      await this.#writeToSink(batch.slice(half))
      return
    }
    this.#noteWritten(batch)
  }

  #noteWritten(batch: readonly Entry[]): void {
    this.#outage = undefined
    this.#counts.written += batch.length
    this.#dependencies.onWritten(batch.length)
    settle(batch)
  }

  #dropRefused(batch: readonly Entry[], error: RecordsRefusedError): void {
    const fields = {
      event: 'traffic_record_refused',
      sink: this.#sink.name,
      count: batch.length,
      record: batch[0]?.record.id,
      err: error
    }
    this.#dependencies.log.warn(fields, 'A sink refused traffic records')
    this.#drop('refused', batch)
  }

  async #spill(spill: Spill, batch: Entry[]): Promise<void> {
    try {
      await spill.append(batch.map(({ record }) => record))
      settle(batch)
    } catch (error) {
      const fields = { event: 'traffic_spill_failed', sink: this.#sink.name, err: error }
      this.#dependencies.log.warn(fields, 'Traffic records could not be spilled to disk')
      this.#drop('spill_failed', batch)
    }
  }

  #noteFailure(error: unknown): void {
    const { log, random, onWriteError } = this.#dependencies
    onWriteError()
    const failures = (this.#outage?.failures ?? 0) + 1
    if (failures === 1) {
      const fields = { event: 'traffic_sink_unavailable', sink: this.#sink.name, err: error }
      log.warn(fields, 'A sink of the traffic log is not available')
    }
    this.#outage = { failures }
    const { retryMinMs, retryMaxMs } = this.#options
    const delayMs = Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(failures - 1, 16))
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#schedule(delayMs / 2 + (delayMs / 2) * random())
  }

  #countDropped(reason: SinkDropReason, count: number): void {
    this.#counts.dropped += count
    this.#dependencies.onDropped(reason, count)
  }

  #drop(reason: SinkDropReason, batch: readonly Entry[]): void {
    this.#countDropped(reason, batch.length)
    settle(batch)
  }
}

function settle(batch: readonly Entry[]): void {
  for (const entry of batch) {
    const { arrival } = entry
    entry.isSettled = true
    arrival.unsettled -= 1
    if (arrival.unsettled === 0) arrival.settled()
  }
}
