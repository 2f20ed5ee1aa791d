// Deletes old records from the relational store: at the start and then at each interval (operations contract, section 8.6).
import type { Logger } from '../../shared/logging.ts'
import { writeRecordTime } from '../../shared/traffic/record.ts'
import type { RelationalStore } from './sink.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const BATCH_SIZE = 1000
/** A run ends after this time; the next one continues. */
const BUDGET_MS = 60_000

export interface RetentionOptions {
  readonly retentionDays: number
  readonly intervalMs: number
}

export interface RetentionDependencies {
  readonly log: Logger
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Rejects while the store is not available. */
  readonly useStore: () => Promise<Pick<RelationalStore, 'purge'>>
}

/** The time before which records of so many days are old, in the form of records. */
export function retentionCutoff(nowMs: number, days: number): string {
  return writeRecordTime(nowMs - days * DAY_MS)
}

/** Starts the purges; the returned function ends them. */
export function startRetention(dependencies: RetentionDependencies, options: RetentionOptions): () => void {
  const { log, nowMs, useStore } = dependencies
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  async function purge(): Promise<void> {
    const endMs = nowMs() + BUDGET_MS
    const before = retentionCutoff(nowMs(), options.retentionDays)
    let deleted = 0
    try {
      const store = await useStore()
      for (let isComplete = false; !isComplete && !isClosed && nowMs() < endMs; ) {
        const result = await store.purge(before, { batchSize: BATCH_SIZE, batchesMax: 1 })
        deleted += result.deleted
        isComplete = result.isComplete
      }
      if (deleted > 0) log.info({ event: 'traffic_log_purged', deleted, before }, 'Old traffic records were deleted')
    } catch (error) {
      log.warn({ event: 'traffic_log_purge_failed', err: error }, 'Old traffic records could not be deleted')
    }
    if (!isClosed) timer = setTimeout(() => void purge(), options.intervalMs).unref()
  }

  void purge()
  return () => {
    isClosed = true
    clearTimeout(timer)
  }
}
