// The traffic records that only the writer process has: neither a worker nor a disk. Where that process is killed, they are lost, and this
// process counts and reports them (decisions.md 100).
import type { Logger } from '../../shared/logging.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import type { SinkName } from '../../shared/traffic/sinks.ts'

export interface HeldRecords {
  /** The writer holds so many records for this sink now. */
  note(sink: SinkName, count: number): void
  /** The writer has exited, with what it held. */
  lose(): void
}

/** @param registry undefined while metrics are off. */
export function createHeldRecords({
  log,
  registry
}: {
  log: Logger
  registry: MetricRegistry | undefined
}): HeldRecords {
  const counts = new Map<SinkName, number>()
  return {
    note: (sink, count) => void counts.set(sink, count),
    lose() {
      for (const [sink, count] of counts) {
        if (count === 0) continue
        const text = 'Traffic records are lost for a sink: the writer ended before it stored them'
        log.error({ event: 'traffic_records_lost', sink, count }, text)
        registry?.counter('gateway_traffic_log_dropped_total').with({}).add(count)
        registry?.counter(`gateway_traffic_log_${sink}_dropped_total`).with({}).add(count)
      }
      counts.clear()
    }
  }
}
