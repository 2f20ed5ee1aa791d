// The writer of the traffic log as a service of the supervisor: opens the sinks and the socket, and closes them.

import { withDeadline } from '../../shared/deadline.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import { listWriterSecrets, readWriterSettings } from '../../shared/settings/writer-settings.ts'
import type { RunningService, Service, ServiceFailure, ServiceStart } from '../processes/service-process.ts'
import { createDropLog } from './drop-log.ts'
import { type OpenSinks, openSinks, type SinkCounters, SinkOpenError } from './open-sinks.ts'
import { startRetention } from './retention.ts'
import { createTrafficServer } from './server.ts'
import { createTrafficService } from './service.ts'
import { SchemaError } from './store/schema-errors.ts'

/**
 * Bounds of the steps of the end: the supervisor gives workers and the writer five seconds together, and workers may need more than half of
 * them.
 */
const DRAIN_MS_MAX = 500
const FLUSH_MS_MAX = 1_500
const CLOSE_MS_MAX = 500
const DROP_REPORT_INTERVAL_MS = 10_000

export const writerService: Service = {
  name: 'writer',
  title: 'writer of the traffic log',
  start: startWriter,
  explainFailure
}

async function startWriter({
  settings: transferred,
  socketPath,
  registry,
  openLog,
  send
}: ServiceStart): Promise<RunningService> {
  const settings = readWriterSettings(transferred)
  const log = openLog(settings, listWriterSecrets(settings))
  const drops = createDropLog({ log, intervalMs: DROP_REPORT_INTERVAL_MS })
  const metrics = registry && (await loadMetrics(registry))
  const counters: SinkCounters = {
    written: (sink, count, durationMs) => metrics?.counters.written(sink, count, durationMs),
    dropped(sink, reason, count) {
      metrics?.counters.dropped(sink, reason, count)
      drops.note(sink, reason, count)
    },
    failed: sink => metrics?.counters.failed(sink),
    held: (sink, count) => send({ kind: 'records-held', sink, count })
  }
  const sinks = await openSinks(settings, { log, counters })
  metrics?.watch(sinks)
  const { queues, store, mirrors } = sinks
  const server = createTrafficServer(createTrafficService({ log, queues, store, mirrors }), log)
  await server.listen(socketPath)
  const endRetention =
    store === undefined || !settings.trafficLogEnabled
      ? () => undefined
      : startRetention(
          { log, nowMs: Date.now, elapsedMs: () => performance.now(), useStore: () => store.use() },
          {
            periods: {
              records: settings.trafficLogRetentionDays,
              failedRecords: settings.trafficLogErrorRetentionDays
            },
            contentDays: settings.trafficLogContentRetentionDays,
            intervalMs: settings.trafficLogPurgeIntervalSeconds * 1000
          }
        )
  return {
    /** Stores the received records, within a fixed time also when a sink does not respond. */
    async close() {
      endRetention()
      // The workers have exited, but their last messages may not be read yet.
      await withDeadline(server.drained(), DRAIN_MS_MAX)
      await withDeadline(Promise.all(sinks.queues.map(queue => queue.flush())), FLUSH_MS_MAX)
      const closed = sinks.close().catch((error: unknown) => {
        log.warn({ event: 'traffic_sink_close_failed', err: error }, 'A sink could not be closed in order')
      })
      await withDeadline(Promise.all([server.close(), closed]), CLOSE_MS_MAX)
      drops.close()
    }
  }
}

async function loadMetrics(
  registry: MetricRegistry
): Promise<{ counters: Omit<SinkCounters, 'held'>; watch: (sinks: OpenSinks) => void }> {
  const { createSinkCounters, watchSinks } = await import('./sink-metrics.ts')
  return { counters: createSinkCounters(registry), watch: sinks => watchSinks(registry, sinks) }
}

/** A later start does not help against these errors of files. */
const WRONG_FILES = /^(EACCES|EEXIST|EISDIR|ELOOP|ENOENT|ENOTDIR|EPERM|EROFS|SQLITE_(CANTOPEN|NOTADB|PERM|READONLY).*)$/

function explainFailure(error: unknown): ServiceFailure | undefined {
  if (error instanceof SinkOpenError) {
    const reason = error.isOfValue || WRONG_FILES.test(error.code) ? 'configuration' : 'internal'
    return { reason, detail: error.message }
  }
  return error instanceof SchemaError ? { reason: 'configuration', detail: error.message } : undefined
}
