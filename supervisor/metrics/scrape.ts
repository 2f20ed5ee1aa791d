// Answers a scrape: asks all workers for what changed, waits for them at most a second, and writes
// the totals of the gateway (operations.md 7.5).

import { withDeadline } from '../../shared/deadline.ts'
import { type Asker, createAsker, type RequestPairs } from '../../shared/ipc/ask.ts'
import type { SupervisorMessageContent, WorkerMessage } from '../../shared/ipc/messages.ts'
import type { MetricsFormat } from '../../shared/metrics/format.ts'

/** A worker that needs longer is scraped with its last known samples (field-lessons.md K2). */
const COLLECT_TIMEOUT_MS = 1_000
/** How long a worker may take before the next one is asked as well. */
const WORKER_GAP_MS_MAX = 5

const collectPairs = { 'metrics-collect': ['metrics-collected'] } as const satisfies RequestPairs<Collect, Collected>
type Collect = Extract<SupervisorMessageContent, { kind: 'metrics-collect' }>
type Collected = Extract<WorkerMessage, { kind: 'metrics-collected' }>

export interface Scraper {
  /**
   * Resolves with the text of all series. Everything that was counted before the call is in it, except what a worker does not report in
   * time. Calls that arrive while a scrape runs share the next one.
   */
  scrape(format: MetricsFormat): Promise<Uint8Array>
  /** A worker has delivered what it was asked for. */
  collected(owner: number, message: Collected): void
  /** Ends the wait for a worker process that has exited. */
  releaseOwner(owner: number): void
  /** Ends every wait. */
  close(): void
}

export interface ScraperDependencies {
  /** The worker processes that can be asked. */
  readonly readyOwners: () => readonly number[]
  readonly send: (owner: number, message: Collect) => void
  /** Called after all workers were asked, with the number of those that did not deliver in time. */
  readonly onCollected: (lateWorkers: number) => void
  readonly write: (format: MetricsFormat) => Promise<Uint8Array>
}

export function createScraper({ readyOwners, send, onCollected, write }: ScraperDependencies): Scraper {
  const askers = new Map<number, Asker<Collect, Collected, typeof collectPairs>>()
  /** Ends with the scrape that was started last. */
  let running: Promise<unknown> = Promise.resolve()
  const waiting: Partial<Record<MetricsFormat, Promise<Uint8Array>>> = {}

  function findAsker(owner: number): Asker<Collect, Collected, typeof collectPairs> {
    const known = askers.get(owner)
    if (known !== undefined) return known
    const asker = createAsker<Collect, Collected, typeof collectPairs>(collectPairs, message => send(owner, message))
    askers.set(owner, asker)
    return asker
  }

  async function collect(): Promise<void> {
    const timeoutMs = COLLECT_TIMEOUT_MS
    const asked: Array<ReturnType<Asker<Collect, Collected, typeof collectPairs>['ask']>> = []
    // One after another: the reports of all workers together would block this process several times
    // as long as one report.
    for (const owner of readyOwners()) {
      const reply = findAsker(owner).ask({ kind: 'metrics-collect' }, { timeoutMs })
      asked.push(reply)
      await withDeadline(reply, WORKER_GAP_MS_MAX)
    }
    const replies = await Promise.all(asked)
    const isLate = (reply: (typeof replies)[number]) => reply.kind === 'unanswered' && reply.reason === 'timeout'
    onCollected(replies.filter(isLate).length)
  }

  /** One scrape at a time: the writing of a format has one position. */
  async function startAfter(previous: Promise<unknown>, format: MetricsFormat): Promise<Uint8Array> {
    await previous.catch(() => undefined)
    delete waiting[format]
    await collect()
    return write(format)
  }

  return {
    scrape(format) {
      const shared = waiting[format]
      if (shared !== undefined) return shared
      const started = startAfter(running, format)
      waiting[format] = started
      running = started
      return started
    },
    collected: (owner, message) => askers.get(owner)?.receive(message),
    releaseOwner(owner) {
      askers.get(owner)?.close()
      askers.delete(owner)
    },
    close() {
      for (const asker of askers.values()) asker.close()
    }
  }
}
