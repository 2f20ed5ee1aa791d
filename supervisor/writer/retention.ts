// Deletes old records and old entries of the audit from the relational store, and content that is kept for a shorter time: at the start
// and then at each interval (operations.md 8.6).
import { setImmediate } from 'node:timers/promises'
import type { Logger } from '../../shared/logging.ts'
import { cutoffOf, planCutoffs, type RetentionPeriods } from '../../shared/traffic/retention.ts'
import type { ContentPurgeResult, RelationalStore } from './sink.ts'

const BATCH_SIZE = 1000
/** A run ends after this time; the next one continues. */
const BUDGET_MS = 60_000

export interface RetentionOptions {
  readonly periods: RetentionPeriods
  /** Age in days at which content is deleted that is not deleted with its record. */
  readonly contentDays?: number | undefined
  readonly intervalMs: number
}

export interface RetentionDependencies {
  readonly log: Logger
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Milliseconds of any clock that does not jump. */
  readonly elapsedMs: () => number
  /** Rejects while the store is not available. */
  readonly useStore: () => Promise<PurgedStore>
}

type PurgedStore = Pick<RelationalStore, 'purge' | 'purgeContent' | 'purgeAudit'>

/** Deletes batches until none is left or the time is up; returns how much was deleted. */
async function repeat(mayGoOn: () => boolean, purgeBatch: () => Promise<ContentPurgeResult>): Promise<number> {
  let deleted = 0
  for (let isComplete = false; !isComplete && mayGoOn(); ) {
    const result = await purgeBatch()
    deleted += result.deleted
    isComplete = result.isComplete
    // Records that wait to be stored come in between.
    await setImmediate()
  }
  return deleted
}

/** Starts the purges; the returned function ends them. */
export function startRetention(dependencies: RetentionDependencies, options: RetentionOptions): () => void {
  const { log, nowMs, elapsedMs, useStore } = dependencies
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  async function run(): Promise<void> {
    const end = elapsedMs() + BUDGET_MS
    const mayGoOn = () => !isClosed && elapsedMs() < end
    try {
      const store = await useStore()
      await purgeRecords(store, mayGoOn)
      if (options.contentDays !== undefined) await purgeContent(store, options.contentDays, mayGoOn)
    } catch (error) {
      log.warn({ event: 'traffic_log_purge_failed', err: error }, 'Old traffic records could not be deleted')
    }
    if (!isClosed) timer = setTimeout(() => void run(), options.intervalMs).unref()
  }

  async function purgeRecords(store: PurgedStore, mayGoOn: () => boolean): Promise<void> {
    const cutoffs = planCutoffs(nowMs(), options.periods)
    let from: string | undefined
    const deleted = await repeat(mayGoOn, async () => {
      const result = await store.purge({ ...cutoffs, batchSize: BATCH_SIZE, from })
      from = result.until
      return result
    })
    if (deleted > 0) log.info({ event: 'traffic_log_purged', deleted, ...cutoffs }, 'Old traffic records were deleted')
    const { before } = cutoffs
    const entries = await repeat(mayGoOn, () => store.purgeAudit(before, BATCH_SIZE))
    if (entries > 0)
      log.info({ event: 'admin_audit_purged', deleted: entries, before }, 'Old entries of the audit were deleted')
  }

  async function purgeContent(store: PurgedStore, days: number, mayGoOn: () => boolean): Promise<void> {
    const before = cutoffOf(nowMs(), days)
    const deleted = await repeat(mayGoOn, () => store.purgeContent(before, BATCH_SIZE))
    if (deleted > 0) {
      log.info({ event: 'traffic_content_purged', deleted, before }, 'Old content of traffic records was deleted')
    }
  }

  void run()
  return () => {
    isClosed = true
    clearTimeout(timer)
  }
}
