// Reports what this worker counts to the supervisor: every second while something changed, and when a scrape asks for it.
import type { MessageOf, SupervisorMessageFields, WorkerMessageContent } from '../../shared/ipc/messages.ts'
import { createWorkerAsker } from '../../shared/ipc/worker-requests.ts'
import type { MetricsFormat } from '../../shared/metrics/format.ts'
import { createMetricRegistry, type MetricRegistry } from '../../shared/metrics/registry.ts'

const REPORT_INTERVAL_MS = 1_000
/** The supervisor waits a second for the workers; the rest is for the writing. */
const SCRAPE_TIMEOUT_MS = 5_000

/** What the parts of a worker need of the metrics. */
export interface WorkerMetrics {
  readonly registry: MetricRegistry
  /** Resolves with the text of all processes of the gateway, or with undefined when the supervisor did not deliver it in time. */
  scrape(format: MetricsFormat): Promise<Uint8Array | undefined>
}

export type MetricsMessage = MessageOf<SupervisorMessageFields, 'metrics-collect' | 'metrics-text'>

export interface MetricsChannel extends WorkerMetrics {
  /** Handles a message of the supervisor. */
  receive(message: MetricsMessage): void
  /** Sends what changed since the last report. */
  report(): void
  /** Reports for the last time and ends every wait: the worker exits. */
  close(): void
}

/** Creates the registry of a worker and starts its reports. */
export function createMetricsChannel({
  send
}: {
  send: (message: Extract<WorkerMessageContent, { kind: `metrics-${string}` }>) => void
}): MetricsChannel {
  const registry = createMetricRegistry()
  const asker = createWorkerAsker<'metrics-scrape'>(send)
  const timer = setInterval(report, REPORT_INTERVAL_MS).unref()

  function report(): void {
    const delta = registry.takeDelta()
    if (delta !== undefined) send({ kind: 'metrics-delta', delta })
  }

  return {
    registry,
    report,
    receive(message) {
      if (message.kind === 'metrics-text') {
        asker.receive(message)
        return
      }
      report()
      send({ kind: 'metrics-collected', requestId: message.requestId })
    },
    async scrape(format) {
      const reply = await asker.ask({ kind: 'metrics-scrape', format }, { timeoutMs: SCRAPE_TIMEOUT_MS })
      return reply.kind === 'unanswered' ? undefined : reply.body
    },
    close() {
      clearInterval(timer)
      report()
      asker.close()
    }
  }
}
