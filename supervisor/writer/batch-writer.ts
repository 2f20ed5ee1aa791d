// Writes one batch into a sink: reports slow writes, and isolates the records that the sink
// refuses, so that the others are stored.
import type { Logger } from '../../shared/logging.ts'
import type { Entry } from './entries.ts'
import { RecordsRefusedError, type Sink } from './sink.ts'

export interface BatchWriterDependencies {
  readonly log: Logger
  /** Milliseconds of any clock that does not jump. */
  readonly nowMs: () => number
  /** Called while a write runs that takes longer than `slowWriteMs`. */
  readonly onSlow: () => void
  /** Called after a write of a synchronous driver that took longer than `slowWriteMs`: `onSlow` could not be called while it ran. */
  readonly onBlocked: () => void
  /** Called with entries that the sink has stored. */
  readonly onStored: (entries: readonly Entry[], durationMs: number) => void
  /** Called with entries that the sink will never store. */
  readonly onRefused: (entries: readonly Entry[]) => void
}

export interface BatchWriterOptions {
  /** A write that takes longer is slow. */
  readonly slowWriteMs: number
  /** The driver is synchronous: no timer fires during a write, and nothing else runs in the measured time. */
  readonly isSynchronous: boolean
}

export class BatchWriter {
  readonly #sink: Sink
  readonly #options: BatchWriterOptions
  readonly #dependencies: BatchWriterDependencies
  /** Writes that run and take longer than they should. */
  #slowWrites = 0

  constructor(sink: Sink, options: BatchWriterOptions, dependencies: BatchWriterDependencies) {
    this.#sink = sink
    this.#options = options
    this.#dependencies = dependencies
  }

  /** Whether a write runs that takes longer than it should. */
  get isSlow(): boolean {
    return this.#slowWrites > 0
  }

  /**
   * Resolves when each entry is stored or refused. Where the sink does not name the refused
   * records, the batch is halved until each refused record is isolated. Rejects with the error of
   * an unavailable sink; entries of halves that were stored earlier are reported as stored.
   */
  async write(batch: readonly Entry[]): Promise<void> {
    const { nowMs, onStored } = this.#dependencies
    const startedAtMs = nowMs()
    const endWatch = this.#watch(startedAtMs)
    try {
      await this.#sink.write(batch.map(({ record }) => record))
    } catch (error) {
      if (!(error instanceof RecordsRefusedError)) throw error
      const { refusedIds } = error
      if (refusedIds === undefined && batch.length > 1) {
        const half = batch.length >> 1
        await this.write(batch.slice(0, half))
        await this.write(batch.slice(half))
        return
      }
      const isRefused = ({ record }: Entry) => refusedIds?.has(record.id) ?? true
      this.#refuse(batch.filter(isRefused), error)
      onStored(
        batch.filter(entry => !isRefused(entry)),
        nowMs() - startedAtMs
      )
      return
    } finally {
      endWatch()
    }
    onStored(batch, nowMs() - startedAtMs)
  }

  /** Notices where a write takes longer than it should; the returned function is called at its end. */
  #watch(startedAtMs: number): () => void {
    const { nowMs, onSlow, onBlocked } = this.#dependencies
    const { slowWriteMs, isSynchronous } = this.#options
    let isOver = false
    let isSlow = false
    const noteSlow = () => {
      if (isOver) return
      isSlow = true
      this.#slowWrites += 1
      onSlow()
    }
    // After a turn in which the event loop was busy: a write that has ended meanwhile is not slow.
    const timer = setTimeout(() => setImmediate(noteSlow), slowWriteMs)
    return () => {
      isOver = true
      clearTimeout(timer)
      if (isSlow) this.#slowWrites -= 1
      else if (isSynchronous && nowMs() - startedAtMs >= slowWriteMs) onBlocked()
    }
  }

  #refuse(batch: readonly Entry[], error: RecordsRefusedError): void {
    const fields = {
      event: 'traffic_record_refused',
      sink: this.#sink.name,
      count: batch.length,
      record: batch[0]?.record.id,
      err: error
    }
    this.#dependencies.log.warn(fields, 'A sink refused traffic records')
    this.#dependencies.onRefused(batch)
  }
}
