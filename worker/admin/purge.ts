// Deletes old records on demand, or counts what would be deleted (operations.md 9.4).
import { planCutoffs } from '../../shared/traffic/retention.ts'
import type { PurgeQuery } from './queries.ts'
import type { QueryStore } from './query-store.ts'
import { showTime } from './timestamps.ts'

export interface PurgeResponse {
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
  { retentionDays, errorRetentionDays, batchSize, batchesMax, isDryRun }: PurgeQuery,
  { nowMs, signal }: { nowMs: number; signal: Pick<AbortSignal, 'aborted'> }
): Promise<PurgeResponse> {
  const cutoffs = planCutoffs(nowMs, { records: retentionDays, failedRecords: errorRetentionDays })
  const expired = isDryRun ? await store.ask('count-expired', cutoffs) : null
  let deleted = 0
  let batches = 0
  let isComplete = false
  let from: string | undefined
  // One batch for each question: all batches together may take longer than the writer has for one
  // response.
  while (!isDryRun && !isComplete && batches < batchesMax && !signal.aborted) {
    const result = await store.ask('purge', { ...cutoffs, batchSize, from })
    deleted += result.deleted
    batches += 1
    isComplete = result.isComplete
    from = result.until
  }
  return {
    retention_days: retentionDays,
    cutoff: showTime(cutoffs.before),
    dry_run: isDryRun,
    expired,
    deleted,
    batch_size: batchSize,
    batches,
    max_batches: batchesMax,
    complete: isDryRun ? null : isComplete
  }
}
