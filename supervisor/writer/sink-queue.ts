// Queues the records of one sink: a bounded buffer, batches by count, bytes and time, attempts with
// back-off, and the spill while the sink is not available (operations.md 8.3). Each sink has its
// own queue, so a failing sink never delays another.
import { setImmediate } from 'node:timers/promises'
import type { TrafficRecord } from '../../shared/traffic/record.ts'
import type { SinkName } from '../../shared/traffic/sinks.ts'
import { BatchWriter } from './batch-writer.ts'
import { createEntries, type Entry, EntryLedger, unsettledOf } from './entries.ts'
import { type BufferBounds, EntryBuffer } from './entry-buffer.ts'
import { Outage, type OutageDependencies, type OutageOptions } from './outage.ts'
import type { Sink } from './sink.ts'
import type { Spill } from './spill.ts'

export interface SinkQueueOptions extends BufferBounds, OutageOptions {
  /** Full batches that the sink gets at the same time. */
  readonly batchesAtOnce: number
  /** How long a record waits for others. */
  readonly flushIntervalMs: number
  /**
   * Drop or spill records when the queue is full. Otherwise the workers' send windows bound the
   * queue, and requests wait.
   */
  readonly dropsWhenFull: boolean
  /**
   * Without a spill: whether workers drop records that wait for the sink in an outage, although a killed writer loses them then. Kept
   * records would fill the queues of the workers, which feed the other sinks too.
   */
  readonly releasesInOutage: boolean
  /** A write that takes longer counts as an outage for the records queued after it. */
  readonly slowWriteMs: number
  /** The sink's driver is synchronous: a write blocks the event loop. */
  readonly isSynchronous: boolean
  /** Where records go while the sink is not available or the queue is full; without it they wait in the queue. */
  readonly spill: Spill | undefined
}

export type SinkDropReason = 'queue_full' | 'refused' | 'spill_failed' | 'spill_full' | 'closed'

export interface SinkQueueDependencies extends OutageDependencies {
  readonly onWritten: (count: number, durationMs: number) => void
  readonly onDropped: (reason: SinkDropReason, count: number) => void
  readonly onWriteError: () => void
  /** Called with how many records only this process has: neither a worker nor a disk. */
  readonly onHeld: (count: number) => void
}

export class SinkQueue {
  readonly #sink: Sink
  readonly #options: SinkQueueOptions
  readonly #dependencies: SinkQueueDependencies
  readonly #counts = { written: 0, dropped: 0 }
  readonly #waiting: EntryBuffer
  readonly #ledger: EntryLedger
  readonly #writer: BatchWriter
  readonly #outage: Outage
  /** What the sink has now: one batch or several. */
  #batch: Entry[] = []
  #isWriting = false
  #isWriteWanted = false
  /** Whether the last turn was that of the records in memory. */
  #hasStoredWaiting = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #flushListeners: Array<() => void> = []

  constructor(sink: Sink, options: SinkQueueOptions, dependencies: SinkQueueDependencies) {
    this.#sink = sink
    this.#options = options
    this.#dependencies = dependencies
    this.#waiting = new EntryBuffer(options)
    this.#ledger = new EntryLedger(dependencies.onHeld)
    this.#outage = new Outage(sink.name, options, dependencies)
    this.#writer = new BatchWriter(sink, options, {
      log: dependencies.log,
      nowMs: dependencies.nowMs,
      onSlow: () => this.#noteSlowWrite(),
      onBlocked: () => this.#outage.noteSlowWrite(this.depth),
      onStored: (entries, durationMs) => this.#noteStored(entries, durationMs),
      onRefused: entries => this.#drop('refused', entries)
    })
    // What an earlier process has spilled is stored even if no record ever comes.
    if (options.spill?.isEmpty === false) void this.#write()
  }

  get name(): SinkName {
    return this.#sink.name
  }

  get isAvailable(): boolean {
    return !this.#outage.isOngoing
  }

  /** Records in memory. */
  get depth(): number {
    return this.#waiting.length + this.#batch.length
  }

  get spillBytes(): number {
    return this.#options.spill?.bytes ?? 0
  }

  /** How long the oldest record waits that is not stored; 0 for none. */
  get lagMs(): number {
    const oldest = this.#batch[0] ?? this.#waiting.all[0]
    const waitedMs = oldest === undefined ? 0 : this.#dependencies.nowMs() - oldest.arrival.atMs
    return Math.max(0, waitedMs, this.#options.spill?.ageMs ?? 0)
  }

  /** Since the start of this process. */
  get counts(): { readonly written: number; readonly dropped: number } {
    const { written, dropped } = this.#counts
    return { written, dropped: dropped + (this.#options.spill?.lost ?? 0) }
  }

  /**
   * Takes records of so many bytes from a connection. Resolves when each of them is stored, spilled, or dropped and counted, or when the
   * queue alone keeps them.
   */
  accept(records: readonly TrafficRecord[], bytes: number, source: object): Promise<void> {
    if (records.length === 0) return Promise.resolve()
    const { entries, acknowledged } = this.#ledger.add(records, { bytes, atMs: this.#dependencies.nowMs(), source })
    if (this.#isClosed) {
      this.#drop('closed', entries)
      return acknowledged
    }
    const surplus = entries.splice(this.#countRoom(entries))
    this.#waiting.add(entries)
    if (surplus.length > 0) this.#putAside(surplus)
    this.#releaseInOutage()
    if (this.#outage.isOngoing && this.#options.spill !== undefined) void this.#write()
    else if (this.#waiting.hasFullBatch) void this.#write()
    else this.#schedule(this.#options.flushIntervalMs)
    return acknowledged
  }

  /**
   * Stores everything now. Resolves when memory is empty or an attempt has failed. The caller sets
   * the deadline.
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

  /** Acknowledges what waits of a connection whose worker ends: from now on only the queue has it. */
  release(source: object): void {
    this.#ledger.release(source)
  }

  /** Ends all attempts; what is left goes to the spill, or is counted as dropped. The sink and the spill are closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    const { spill } = this.#options
    // A write that has not ended may have stored its batch; records that are sent twice are stored
    // once.
    const left = unsettledOf([...this.#batch, ...this.#waiting.takeAll()])
    if (left.length > 0) {
      if (spill === undefined) this.#drop('closed', left)
      else await this.#spill(spill, left)
    }
    await spill?.close()
    await this.#sink.close()
  }

  /** How many of the entries wait in memory. */
  #countRoom(entries: readonly Entry[]): number {
    if (this.#writer.isSlow && this.#options.spill !== undefined) return 0
    return this.#options.dropsWhenFull ? this.#waiting.countRoom(entries, this.#batch.length) : entries.length
  }

  #putAside(surplus: Entry[]): void {
    const { spill } = this.#options
    if (spill === undefined) this.#drop('queue_full', surplus)
    else void this.#spill(spill, surplus).then(() => this.#write())
  }

  #releaseInOutage(): void {
    const { releasesInOutage, spill } = this.#options
    if (!releasesInOutage || spill !== undefined) return
    if (this.#outage.isOngoing || this.#writer.isSlow) this.#ledger.releaseAll()
  }

  #noteSlowWrite(): void {
    const { spill } = this.#options
    this.#outage.noteSlowWrite(this.depth)
    this.#releaseInOutage()
    if (spill === undefined) return
    void this.#copyToSpill(spill, unsettledOf(this.#batch))
    void this.#spill(spill, this.#waiting.takeAll())
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
      // A sink whose driver is synchronous would otherwise keep the event loop until nothing waits for it, and what another sink has
      // written meanwhile would count as slow.
      await setImmediate()
    }
    this.#isWriting = false
    for (const listener of this.#flushListeners.splice(0)) listener()
  }

  /** Whether there may be more to do at once. */
  async #writeNext(): Promise<boolean> {
    const { spill } = this.#options
    if (this.#outage.isOngoing) return this.#writeInOutage()
    // In turns: under load records always wait, and those of an outage would stay on disk until it ends.
    const isSpillsTurn = spill?.isEmpty === false && (this.#hasStoredWaiting || this.#waiting.length === 0)
    this.#hasStoredWaiting = !isSpillsTurn
    if (spill !== undefined && isSpillsTurn) return this.#storeSpilled(spill)
    const batches = this.#waiting.takeBatches(this.#options.batchesAtOnce)
    return batches.length > 0 && this.#store(batches)
  }

  async #writeInOutage(): Promise<boolean> {
    const { spill } = this.#options
    if (spill !== undefined && this.#waiting.length > 0) {
      await this.#spill(spill, this.#waiting.takeBatch())
      return true
    }
    // The back-off is running: its timer comes back here.
    if (this.#timer !== undefined) return false
    if (spill !== undefined && !spill.isEmpty) return this.#storeSpilled(spill)
    const batch = this.#waiting.takeBatch()
    if (batch.length > 0) return this.#store([batch])
    this.#outage.forget()
    return false
  }

  async #store(batches: readonly Entry[][]): Promise<boolean> {
    const { spill } = this.#options
    this.#batch = batches.flat()
    try {
      const results = await Promise.allSettled(batches.map(batch => this.#writer.write(batch)))
      const failed = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
      if (failed === undefined) return true
      this.#noteFailure(failed.reason)
      // Another batch, or one half of a batch that was halved, may be stored.
      const left = unsettledOf(this.#batch)
      if (spill !== undefined) await this.#spill(spill, left)
      else this.#waiting.putBack(left)
      this.#releaseInOutage()
      return false
    } finally {
      this.#batch = []
    }
  }

  async #storeSpilled(spill: Spill): Promise<boolean> {
    const { batchRecordsMax, batchBytesMax } = this.#options
    try {
      const { records, taken } = await spill.read(batchRecordsMax, batchBytesMax)
      const entries = createEntries(records, this.#dependencies.nowMs())
      if (entries.length > 0) await this.#writer.write(entries)
      await taken()
      return true
    } catch (error) {
      this.#noteFailure(error)
      return false
    }
  }

  /**
   * Spills the batch of a write that may never end: batches are acknowledged in order, so an
   * unacknowledged one holds back all later ones. If the write succeeds after all, storing the copy
   * again changes nothing.
   */
  async #copyToSpill(spill: Spill, batch: readonly Entry[]): Promise<void> {
    if (batch.length === 0) return
    const records = batch.map(({ record }) => record)
    // Where there is no copy, the batch is settled when the write ends.
    await spill.append(records).then(
      () => this.#ledger.settle(batch),
      () => undefined
    )
  }

  async #spill(spill: Spill, batch: readonly Entry[]): Promise<void> {
    if (batch.length === 0) return
    try {
      await spill.append(batch.map(({ record }) => record))
      this.#ledger.settle(batch)
    } catch (error) {
      const failure = { error, waiting: this.depth }
      this.#outage.report('traffic_spill_failed', failure, 'Traffic records could not be spilled to disk')
      this.#drop('spill_failed', batch)
    }
  }

  #noteStored(entries: readonly Entry[], durationMs: number): void {
    this.#outage.noteSuccess()
    // Some entries are already settled when the queue was closed during the write.
    const written = unsettledOf(entries)
    if (written.length === 0) return
    this.#counts.written += written.length
    this.#dependencies.onWritten(written.length, durationMs)
    this.#ledger.settle(written)
  }

  #noteFailure(error: unknown): void {
    this.#dependencies.onWriteError()
    const delayMs = this.#outage.noteFailure({ error, waiting: this.depth })
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#schedule(delayMs)
  }

  #drop(reason: SinkDropReason, batch: readonly Entry[]): void {
    this.#counts.dropped += batch.length
    this.#dependencies.onDropped(reason, batch.length)
    this.#ledger.settle(batch)
  }
}
