// The metrics of the whole gateway: takes the deltas of the workers, counts what the supervisor itself knows, and answers scrapes.
import type { MessageSender, WorkerMessageHandlers } from '../../shared/ipc/handlers.ts'
import type { SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import type { Logger } from '../../shared/logging.ts'
import type { MetricName } from '../../shared/metrics/definitions.ts'
import type { MetricsFormat } from '../../shared/metrics/format.ts'
import { createMetricRegistry, type MetricRegistry } from '../../shared/metrics/registry.ts'
import { createMetricsAggregator } from './aggregator.ts'
import { createExposition } from './exposition.ts'
import { createScraper } from './scrape.ts'
import { type SupervisorSources, watchSupervisor } from './supervisor-series.ts'

export type MetricsMessageKind = 'metrics-delta' | 'metrics-collected' | 'metrics-scrape'

/** The part of the fleet that metrics need. */
export interface MetricsFleet {
  send(owner: number, message: SupervisorMessageContent): void
  /** The worker processes that are ready. */
  readyOwners(): number[]
}

export interface SupervisorMetrics {
  /** What this process itself counts. */
  readonly registry: MetricRegistry
  /** For the messages about metrics. */
  readonly handlers: WorkerMessageHandlers<MetricsMessageKind, MessageSender>
  /** Takes the workers that are asked from now on. */
  connect(fleet: MetricsFleet): void
  /** Reads the series about the processes from now on. */
  watch(sources: SupervisorSources): void
  /** The text of a scrape of all processes. */
  scrape(format: MetricsFormat): Promise<Uint8Array>
  /** A worker process has exited: its totals stay, its gauges vanish. */
  releaseOwner(owner: number): void
  close(): void
}

/** The supervisor among the owners of samples; workers have numbers from 1 on. */
const SUPERVISOR = 0

/** Creates the metrics of a gateway. `helpTexts` replace those of the definitions. */
export function createSupervisorMetrics(
  { log, nowMs }: { log: Logger; nowMs: () => number },
  { modelsMax, helpTexts }: { modelsMax: number; helpTexts?: Partial<Record<MetricName, string>> }
): SupervisorMetrics {
  const aggregator = createMetricsAggregator({ nowMs }, { modelsMax })
  const registry = createMetricRegistry()
  const lateWorkers = registry.gauge('gateway_metrics_late_workers').with({})
  const exposition = createExposition(aggregator, helpTexts)
  let fleet: MetricsFleet = { send: () => undefined, readyOwners: () => [] }

  const scraper = createScraper({
    readyOwners: () => fleet.readyOwners(),
    send: (owner, message) => fleet.send(owner, message),
    onCollected(late) {
      lateWorkers.set(late)
      const delta = registry.takeDelta()
      if (delta !== undefined) aggregator.apply(SUPERVISOR, delta)
    },
    write: exposition.write
  })

  return {
    registry,
    handlers: {
      'metrics-delta'({ delta }, { owner }) {
        if (aggregator.apply(owner, delta)) return
        log.warn({ event: 'metrics_delta_dropped' }, 'The metrics of a worker were malformed and dropped')
      },
      'metrics-collected': (message, { owner }) => scraper.collected(owner, message),
      'metrics-scrape'({ requestId, format }, { owner }) {
        const respond = (body: Uint8Array) => fleet.send(owner, { kind: 'metrics-text', requestId, body })
        scraper.scrape(format).then(respond, error => {
          // The worker's wait has a deadline of its own.
          log.error({ event: 'metrics_scrape_failed', err: error }, 'The metrics could not be written')
        })
      }
    },
    watch: sources => watchSupervisor(registry, sources),
    connect(connected) {
      fleet = connected
    },
    scrape: scraper.scrape,
    releaseOwner(owner) {
      aggregator.releaseOwner(owner)
      scraper.releaseOwner(owner)
    },
    close: scraper.close
  }
}
