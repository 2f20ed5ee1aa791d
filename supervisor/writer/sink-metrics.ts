// What the writer counts of each sink (operations.md 7.5). Loaded only when metrics are on.
import { statSync } from 'node:fs'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import type { SinkName } from '../../shared/traffic/sinks.ts'
import type { OpenSinks, SinkCounters } from './open-sinks.ts'

/** Counters of the sinks; those of one exist from its first sample on. */
export function createSinkCounters(registry: MetricRegistry): Omit<SinkCounters, 'held'> {
  const allDropped = registry.counter('gateway_traffic_log_dropped_total').with({})
  return {
    written(sink, count, durationMs) {
      registry.counter(`gateway_traffic_log_${sink}_written_total`).with({}).add(count)
      registry
        .histogram(`gateway_traffic_log_${sink}_write_seconds`)
        .with({})
        .observe(durationMs / 1000)
    },
    dropped(sink, _reason, count) {
      allDropped.add(count)
      registry.counter(`gateway_traffic_log_${sink}_dropped_total`).with({}).add(count)
    },
    failed: sink => registry.counter(`gateway_traffic_log_${sink}_write_errors_total`).with({}).add(1)
  }
}

/** Creates the counters of the sinks that are open, and sets their gauges with each report. */
export function watchSinks(
  registry: MetricRegistry,
  { queues, sqliteFile }: Pick<OpenSinks, 'queues' | 'sqliteFile'>
): void {
  const gauges = queues.map(queue => {
    const prefix: `gateway_traffic_log_${SinkName}` = `gateway_traffic_log_${queue.name}`
    for (const counted of ['written', 'dropped', 'write_errors'] as const) {
      registry.counter(`${prefix}_${counted}_total`).with({})
    }
    return {
      queue,
      depth: registry.gauge(`${prefix}_queue_depth`).with({}),
      spillBytes: registry.gauge(`${prefix}_spill_bytes`).with({}),
      lag: registry.gauge(`${prefix}_lag_seconds`).with({})
    }
  })
  registry.onCollect(() => {
    for (const { queue, depth, spillBytes, lag } of gauges) {
      depth.set(queue.depth)
      spillBytes.set(queue.spillBytes)
      lag.set(queue.lagMs / 1000)
    }
  })
  if (sqliteFile !== undefined) watchWriteAheadLog(registry, `${sqliteFile}-wal`)
}

/** The log grows without bound while a read transaction stays open (field-lessons.md L5). */
function watchWriteAheadLog(registry: MetricRegistry, path: string): void {
  const bytes = registry.gauge('gateway_traffic_log_sqlite_wal_bytes').with({})
  registry.onCollect(() => bytes.set(readSize(path)))
}

/** 0 for a file that is not there or cannot be looked at. */
function readSize(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
