// Answers questions from the database: opens it, also later where its server was away, removes what is too old, and says in the log why a
// question had no answer.
import { withDeadline } from '../../shared/deadline.ts'
import type { Logger } from '../../shared/logging.ts'
import { createFailureLog } from '../../shared/memory/failure-log.ts'
import type { StoreOperation, StoreTotals } from '../../shared/memory/store.ts'
import { type OpenStore, StoreOpenError } from './engine.ts'
import type { StoreService } from './server.ts'
import type { SpendExchange } from './spend.ts'

/** Pauses between attempts to open a database that is away: the first, and the longest. */
const REOPEN_MIN_MS = 250
const REOPEN_MAX_MS = 5_000
const PURGE_INTERVAL_MS = 60_000
/** Between two batches of one purge, in which questions are answered. */
const PURGE_PAUSE_MS = 20
const CLOSE_MS_MAX = 1_500

export interface StoreServiceDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  readonly open: () => Promise<OpenStore>
}

export interface KeptStoreService extends StoreService {
  /** As of the store. Rejects while the database gives no answer. */
  addSpend(exchange: SpendExchange): Promise<readonly number[]>
  /** Undefined while the database gives no answer. */
  totals(): Promise<StoreTotals | undefined>
  /** Ends the operations that run and closes the database, within a fixed time. */
  close(): Promise<void>
}

/**
 * Opens the database now. Rejects where it cannot be used; one that is away is tried again until it is there, and questions have no answer
 * in the meantime.
 */
export async function createStoreService({ log, nowMs, open }: StoreServiceDependencies): Promise<KeptStoreService> {
  const failures = createFailureLog({
    log,
    nowMs,
    event: 'store_operation_failed',
    text: 'The database of responses gave no answer'
  })
  let store: OpenStore | undefined
  let attempts = 0
  let isClosed = false
  let reopenTimer: NodeJS.Timeout | undefined
  let purgeTimer: NodeJS.Timeout | undefined

  async function openOnce(): Promise<void> {
    const opened = await open()
    if (isClosed) {
      await opened.close()
      return
    }
    store = opened
    attempts = 0
    planPurge(PURGE_PAUSE_MS)
  }

  function planReopen(): void {
    const delayMs = Math.min(REOPEN_MAX_MS, REOPEN_MIN_MS * 2 ** Math.min(attempts, 10))
    attempts += 1
    reopenTimer = setTimeout(() => void reopen(), delayMs)
  }

  async function reopen(): Promise<void> {
    try {
      await openOnce()
      log.info({ event: 'store_opened' }, 'The database of responses is open')
    } catch (error) {
      failures.note({ operation: 'open', err: error })
      if (!isClosed) planReopen()
    }
  }

  function planPurge(delayMs: number): void {
    if (!isClosed) purgeTimer = setTimeout(() => void purge(), delayMs).unref()
  }

  async function purge(): Promise<void> {
    let isMoreLeft = false
    try {
      isMoreLeft = (await store?.purge()) === true
    } catch (error) {
      failures.note({ operation: 'purge', err: error })
    }
    planPurge(isMoreLeft ? PURGE_PAUSE_MS : PURGE_INTERVAL_MS)
  }

  async function askNoting<Answer>(operation: string, work: (open: OpenStore) => Promise<Answer>): Promise<Answer> {
    if (store === undefined) throw new Error('The database is not open.')
    try {
      return await work(store)
    } catch (error) {
      failures.note({ operation, err: error })
      throw error
    }
  }

  try {
    await openOnce()
  } catch (error) {
    if (!(error instanceof StoreOpenError) || error.failure !== 'unreachable') throw error
    failures.note({ operation: 'open', err: error })
    planReopen()
  }
  return {
    answer: (operation, question) => askNoting(operation, open => ask(open, operation, question)),
    addSpend: exchange => askNoting('addSpend', open => open.addSpend(exchange)),
    totals: async () => store?.totals().catch(() => undefined),
    async close() {
      isClosed = true
      clearTimeout(reopenTimer)
      clearTimeout(purgeTimer)
      const closed = store?.close().catch((error: unknown) => {
        log.warn({ event: 'store_close_failed', err: error }, 'The database of responses could not be closed in order')
      })
      if (closed !== undefined) await withDeadline(closed, CLOSE_MS_MAX)
    }
  }
}

/** Each method takes the question of its own operation, which the worker's connection has typed. */
function ask(store: OpenStore, operation: StoreOperation, question: unknown): Promise<unknown> {
  const method = store[operation] as (question: unknown) => Promise<unknown>
  return method.call(store, question)
}
