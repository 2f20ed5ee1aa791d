// The way of records into one sink: a bounded queue, batches by count, bytes and time, retries with back-off, and the spill while the
// sink is not available (operations contract, section 8.3). Each sink has its own, so a failing sink never delays another.
import type { Logger } from '../../shared/logging.ts'
import type { TrafficRecord } from '../../shared/traffic/record.ts'
import type { SinkName } from '../../shared/traffic/sinks.ts'
import { RecordsRefusedError, type Sink } from './sink.ts'
import type { Spill } from './spill.ts'

export interface SinkQueueOptions {
  /** Bounds of what waits in memory. */
  readonly recordsMax: number
  readonly bytesMax: number
  readonly batchRecordsMax: number
  readonly batchBytesMax: number
  /** Full batches that the sink gets at the same time. */
  readonly batchesAtOnce: number
  /** How long a record waits for others. */
  readonly flushIntervalMs: number
  /** Drop records that find the queue full, or spill them. Otherwise the workers' windows bound it, and requests wait. */
  readonly dropsWhenFull: boolean
  /**
   * Without a spill: whether workers may forget records that wait for a sink in an outage. They would fill the workers' queues, from which
   * other sinks are fed.
   */
  readonly releasesInOutage: boolean
  /** A write that takes longer counts as an outage for the records behind it. */
  readonly slowWriteMs: number
  /** Where records go while the sink is not available or the queue is full; without it they wait in the queue. */
  readonly spill: Spill | undefined
  readonly retryMinMs: number
  readonly retryMaxMs: number
  /** Between two lines of the log about one outage. */
  readonly reportIntervalMs: number
}

export type SinkDropReason = 'queue_full' | 'refused' | 'spill_failed' | 'spill_full' | 'closed'

export interface SinkQueueDependencies {
  readonly log: Logger
  /** From 0 to 1. */
  readonly random: () => number
  /** Milliseconds of any clock that does not jump. */
  readonly nowMs: () => number
  readonly onWritten: (count: number, durationMs: number) => void
  readonly onDropped: (reason: SinkDropReason, count: number) => void
  readonly onWriteError: () => void
}

/** Records that arrived together; their worker may forget them when all are settled. */
interface Arrival {
  readonly atMs: number
  unsettled: number
  readonly settled: () => void
}

interface Entry {
  readonly record: TrafficRecord
  readonly bytes: number
  readonly arrival: Arrival
  isSettled: boolean
}

interface Outage {
  failures: number
  reportedAtMs: number
}

export class SinkQueue {
  readonly #sink: Sink
  readonly #options: SinkQueueOptions
  readonly #dependencies: SinkQueueDependencies
  readonly #counts = { written: 0, dropped: 0 }
  #entries: Entry[] = []
  /** What the sink has now: one batch or several. */
  #batch: Entry[] = []
  #bytes = 0
  /** Undefined while the sink is available. */
  #outage: Outage | undefined
  #isSlow = false
  #isWriting = false
  #isWriteWanted = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #flushListeners: Array<() => void> = []

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
    return this.#entries.length + this.#batch.length
  }

  get spillBytes(): number {
    return this.#options.spill?.bytes ?? 0
  }

  /** How long the oldest record waits that is not stored; 0 for none. */
  get lagMs(): number {
    const oldest = this.#batch[0] ?? this.#entries[0]
    const waitedMs = oldest === undefined ? 0 : this.#dependencies.nowMs() - oldest.arrival.atMs
    return Math.max(0, waitedMs, this.#options.spill?.ageMs ?? 0)
  }

  /** Since the start of this process. */
  get counts(): { readonly written: number; readonly dropped: number } {
    return this.#counts
  }

  /**
   * Takes records of so many bytes. Resolves when each of them is stored, spilled, or dropped and counted, or when the queue alone keeps
   * them because the sink is not available.
   */
  accept(records: readonly TrafficRecord[], bytes: number): Promise<void> {
    if (records.length === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const arrival: Arrival = { atMs: this.#dependencies.nowMs(), unsettled: records.length, settled: resolve }
    const bytesEach = Math.ceil(bytes / records.length)
    const entries = records.map(record => ({ record, bytes: bytesEach, arrival, isSettled: false }))
    if (this.#isClosed) {
      this.#drop('closed', entries)
      return promise
    }
    const isSetAside = this.#isSlow && this.#options.spill !== undefined
    const surplus = entries.splice(isSetAside ? 0 : this.#countRoom(entries.length, bytesEach))
    for (const entry of entries) this.#entries.push(entry)
    this.#bytes += bytesEach * entries.length
    if (surplus.length > 0) this.#putAside(surplus)
    if (this.#mayRelease()) resolve()
    if (this.#outage !== undefined && this.#options.spill !== undefined) void this.#write()
    else if (this.#hasFullBatch()) void this.#write()
    else this.#schedule(this.#options.flushIntervalMs)
    return promise
  }

  /**
   * Stores everything now. Resolves when nothing is left in memory, or when an attempt has failed. The caller has the deadline.
   */
  flush(): Promise<void> {
    if (this.depth === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#flushListeners.push(resolve)
    // A back-off that is running ends here.
    clearTimeout(this.#timer)
    this.#timer = undefined
    void this.#write()
    return promise
  }

  /** Lets workers forget everything that waits: from now on the queue alone has it. */
  release(): void {
    for (const { arrival } of this.#batch) arrival.settled()
    for (const { arrival } of this.#entries) arrival.settled()
  }

  /** Ends all attempts; what is left goes to the spill, or is counted as dropped. The sink and the spill are closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    const { spill } = this.#options
    // Whether the sink has the batch of a write that has not ended is not known; records that are sent twice are stored once.
    const left = [...this.#batch, ...this.#entries.splice(0)].filter(({ isSettled }) => !isSettled)
    if (left.length > 0) {
      if (spill === undefined) this.#drop('closed', left)
      else await this.#spill(spill, left)
    }
    await spill?.close()
    await this.#sink.close()
  }

  #countRoom(count: number, bytesEach: number): number {
    const { recordsMax, bytesMax, dropsWhenFull } = this.#options
    if (!dropsWhenFull) return count
    const byBytes = Math.floor((bytesMax - this.#bytes) / Math.max(1, bytesEach))
    return Math.max(0, Math.min(count, recordsMax - this.depth, byBytes))
  }

  #putAside(surplus: Entry[]): void {
    const { spill } = this.#options
    if (spill === undefined) this.#drop('queue_full', surplus)
    else void this.#spill(spill, surplus).then(() => this.#write())
  }

  #hasFullBatch(): boolean {
    const { batchRecordsMax, batchBytesMax } = this.#options
    return this.#entries.length >= batchRecordsMax || this.#bytes >= batchBytesMax
  }

  #takeBatch(): Entry[] {
    const { batchRecordsMax, batchBytesMax } = this.#options
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

  /** One batch, and more only while they are full. */
  #takeBatches(): Entry[][] {
    const batches: Entry[][] = []
    do {
      const batch = this.#takeBatch()
      if (batch.length > 0) batches.push(batch)
    } while (batches.length < this.#options.batchesAtOnce && this.#hasFullBatch())
    return batches
  }

  #mayRelease(): boolean {
    const { releasesInOutage, spill } = this.#options
    return releasesInOutage && spill === undefined && (this.#outage !== undefined || this.#isSlow)
  }

  #noteSlowWrite(): void {
    const { spill } = this.#options
    this.#isSlow = true
    if (this.#mayRelease()) this.release()
    if (spill === undefined || this.#entries.length === 0) return
    this.#bytes = 0
    void this.#spill(spill, this.#entries.splice(0))
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
    for (const listener of this.#flushListeners.splice(0)) listener()
  }

  /** Whether there may be more to do at once. */
  async #writeNext(): Promise<boolean> {
    const { spill } = this.#options
    if (this.#outage !== undefined) return this.#writeInOutage()
    const batches = this.#takeBatches()
    if (batches.length > 0) return this.#store(batches)
    return spill !== undefined && !spill.isEmpty && this.#storeSpilled(spill)
  }

  async #writeInOutage(): Promise<boolean> {
    const { spill } = this.#options
    if (spill !== undefined && this.#entries.length > 0) {
      await this.#spill(spill, this.#takeBatch())
      return true
    }
    // The back-off is running: its timer comes back here.
    if (this.#timer !== undefined) return false
    if (spill !== undefined && !spill.isEmpty) return this.#storeSpilled(spill)
    const batch = this.#takeBatch()
    if (batch.length > 0) return this.#store([batch])
    this.#outage = undefined
    return false
  }

  async #store(batches: readonly Entry[][]): Promise<boolean> {
    const { spill } = this.#options
    this.#batch = batches.flat()
    try {
      const results = await Promise.allSettled(batches.map(batch => this.#writeToSink(batch)))
      const failed = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
      if (failed === undefined) return true
      this.#noteFailure(failed.reason)
      // Another batch, or one half of a batch that was halved, may be stored.
      const left = this.#batch.filter(({ isSettled }) => !isSettled)
      if (spill !== undefined) await this.#spill(spill, left)
      else this.#putBack(left)
      return false
    } finally {
      this.#batch = []
    }
  }

  #putBack(left: Entry[]): void {
    this.#entries.unshift(...left)
    for (const { bytes } of left) this.#bytes += bytes
    if (this.#mayRelease()) this.release()
  }

  async #storeSpilled(spill: Spill): Promise<boolean> {
    const { batchRecordsMax, batchBytesMax } = this.#options
    try {
      const { records, taken } = await spill.read(batchRecordsMax, batchBytesMax)
      const arrival: Arrival = {
        atMs: this.#dependencies.nowMs(),
        unsettled: records.length,
        settled: () => undefined
      }
      const entries = records.map(record => ({ record, bytes: 0, arrival, isSettled: false }))
      if (entries.length > 0) await this.#writeToSink(entries)
      await taken()
      return true
    } catch (error) {
      this.#noteFailure(error)
      return false
    }
  }

  /**
   * Writes a batch and drops the records that the sink refuses. Where it does not name them the batch is halved until they stand alone.
   */
  async #writeToSink(batch: readonly Entry[]): Promise<void> {
    const startedAtMs = this.#dependencies.nowMs()
    const slow = setTimeout(() => this.#noteSlowWrite(), this.#options.slowWriteMs)
    try {
      await this.#sink.write(batch.map(({ record }) => record))
    } catch (error) {
      if (!(error instanceof RecordsRefusedError)) throw error
      const { refusedIds } = error
      if (refusedIds === undefined && batch.length > 1) {
        const half = batch.length >> 1
        await this.#writeToSink(batch.slice(0, half))
        await this.#writeToSink(batch.slice(half))
        return
      }
      const isRefused = ({ record }: Entry) => refusedIds?.has(record.id) ?? true
      this.#dropRefused(batch.filter(isRefused), error)
      this.#noteWritten(
        batch.filter(entry => !isRefused(entry)),
        startedAtMs
      )
      return
    } finally {
      clearTimeout(slow)
      this.#isSlow = false
    }
    this.#noteWritten(batch, startedAtMs)
  }

  #noteWritten(batch: readonly Entry[], startedAtMs: number): void {
    const { log, nowMs, onWritten } = this.#dependencies
    if (this.#outage !== undefined) {
      const fields = { event: 'traffic_sink_available', sink: this.name, failures: this.#outage.failures }
      log.info(fields, 'A sink of the traffic log is available again')
    }
    this.#outage = undefined
    // The queue was closed meanwhile where some are settled.
    const written = batch.filter(({ isSettled }) => !isSettled)
    if (written.length === 0) return
    this.#counts.written += written.length
    onWritten(written.length, nowMs() - startedAtMs)
    settle(written)
  }

  #dropRefused(batch: readonly Entry[], error: RecordsRefusedError): void {
    const fields = {
      event: 'traffic_record_refused',
      sink: this.name,
      count: batch.length,
      record: batch[0]?.record.id,
      err: error
    }
    this.#dependencies.log.warn(fields, 'A sink refused traffic records')
    this.#drop('refused', batch)
  }

  async #spill(spill: Spill, batch: readonly Entry[]): Promise<void> {
    if (batch.length === 0) return
    try {
      await spill.append(batch.map(({ record }) => record))
      settle(batch)
    } catch (error) {
      this.#report('traffic_spill_failed', error, 'Traffic records could not be spilled to disk')
      this.#drop('spill_failed', batch)
    }
  }

  #noteFailure(error: unknown): void {
    const { nowMs, random, onWriteError } = this.#dependencies
    onWriteError()
    this.#outage ??= { failures: 0, reportedAtMs: Number.NEGATIVE_INFINITY }
    this.#outage.failures += 1
    const { failures, reportedAtMs } = this.#outage
    const { retryMinMs, retryMaxMs, reportIntervalMs } = this.#options
    if (nowMs() - reportedAtMs >= reportIntervalMs) {
      this.#outage.reportedAtMs = nowMs()
      this.#report('traffic_sink_unavailable', error, 'A sink of the traffic log is not available')
    }
    const delayMs = Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(failures - 1, 16))
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#schedule(delayMs / 2 + (delayMs / 2) * random())
  }

  #report(event: string, error: unknown, text: string): void {
    const failures = this.#outage?.failures ?? 0
    this.#dependencies.log.warn({ event, sink: this.name, failures, waiting: this.depth, err: error }, text)
  }

  #drop(reason: SinkDropReason, batch: readonly Entry[]): void {
    this.#counts.dropped += batch.length
    this.#dependencies.onDropped(reason, batch.length)
    settle(batch)
  }
}

function settle(batch: readonly Entry[]): void {
  for (const entry of batch) {
    if (entry.isSettled) continue
    const { arrival } = entry
    entry.isSettled = true
    arrival.unsettled -= 1
    if (arrival.unsettled === 0) arrival.settled()
  }
}
