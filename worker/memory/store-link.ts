// What a worker has of the store of responses: the connection to its process, with what is counted and logged of it.
import type { Logger } from '../../shared/logging.ts'
import { createFailureLog } from '../../shared/memory/failure-log.ts'
import { hostNowMs } from '../../shared/memory/frames.ts'
import type { StoreOperation } from '../../shared/memory/store.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import { connectToStore, type StoreConnection } from './store-connection.ts'

/** Decided (memory.md 6). */
const ANSWER_TIMEOUT_MS = 5_000
const RETRY_MIN_MS = 20
const RETRY_MAX_MS = 500
/** Beyond the requests that a worker can serve at a time. */
const QUESTIONS_MAX = 4_096
const WINDOW_MAX = 64

export interface StoreLinkDependencies {
  readonly log: Logger
  /** Undefined while metrics are off. */
  readonly registry: MetricRegistry | undefined
}

/** Connects to the store process that listens at this path. */
export function openStoreLink(path: string, { log, registry }: StoreLinkDependencies): StoreConnection {
  const failures = createFailureLog({
    log,
    nowMs: hostNowMs,
    event: 'responses_store_failed',
    text: 'The store of responses gave no answer'
  })
  const failed = registry?.counter('gateway_responses_store_failed_total').with({})
  const reads = registry?.histogram('gateway_responses_store_read_seconds').with({})
  const writes = registry?.histogram('gateway_responses_store_write_seconds').with({})
  return connectToStore({
    path,
    timeoutMs: ANSWER_TIMEOUT_MS,
    retryMinMs: RETRY_MIN_MS,
    retryMaxMs: RETRY_MAX_MS,
    questionsMax: QUESTIONS_MAX,
    windowMax: WINDOW_MAX,
    nowMs: hostNowMs,
    onFailed(operation, reason) {
      failed?.add(1)
      failures.note({ operation, reason })
    },
    onAnswered: (operation, durationMs) => (isRead(operation) ? reads : writes)?.observe(durationMs / 1000)
  })
}

function isRead(operation: StoreOperation): boolean {
  return operation === 'totals' || operation.startsWith('read') || operation.startsWith('list')
}
