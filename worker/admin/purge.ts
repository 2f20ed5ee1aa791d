// Deletes old records on demand, or counts what would be deleted (operations contract, section 9.4).
import { writeRecordTime } from '../../shared/traffic/record.ts'
import type { CancelSignal } from '../performance/cancel-source.ts'
import type { PurgeQuery } from './queries.ts'
import type { QueryStore } from './query-store.ts'
import { showTime } from './timestamps.ts'

const DAY_MS = 24 * 60 * 60 * 1000

export interface PurgeAnswer {
  readonly retention_days: number
  readonly cutoff: string
  readonly dry_run: boolean
  readonly expired: number | null
  readonly deleted: number
  readonly batch_size: number
  readonly batches: number
  readonly max_batches: number
  readonly complete: boolean | null
}

/** Runs the purge batch by batch, until `signal` aborts it. Rejects like `QueryStore.ask`. */
export async function purge(
  store: QueryStore,
  { retentionDays, batchSize, batchesMax, isDryRun }: PurgeQuery,
  { nowMs, signal }: { nowMs: number; signal: Pick<CancelSignal, 'aborted'> }
): Promise<PurgeAnswer> {
  const before = writeRecordTime(nowMs - retentionDays * DAY_MS)
  const expired = isDryRun ? await store.ask('count-before', { time: before }) : null
  let deleted = 0
  let batches = 0
  let isComplete = false
  // One batch for each question: all of them together may take longer than an answer may.
  while (!isDryRun && !isComplete && batches < batchesMax && !signal.aborted) {
    const result = await store.ask('purge', { before, batchSize, batchesMax: 1 })
    deleted += result.deleted
    batches += result.batches
    isComplete = result.isComplete
  }
  return {
    retention_days: retentionDays,
    cutoff: showTime(before),
    dry_run: isDryRun,
    expired,
    deleted,
    batch_size: batchSize,
    batches,
    max_batches: batchesMax,
    complete: isDryRun ? null : isComplete
  }
}
