import { pino } from 'pino'
import t from 'tap'
import { createMetricRegistry } from '../../../shared/metrics/registry.ts'
import { createMetricsAggregator } from '../../../supervisor/metrics/aggregator.ts'
import { createHeldRecords } from '../../../supervisor/services/held-records.ts'

t.test('what a writer held when it ended is counted and said once, for each sink', t => {
  const lines: Array<Record<string, unknown>> = []
  const registry = createMetricRegistry()
  const held = createHeldRecords({
    log: pino({}, { write: line => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
    registry
  })
  held.note('opensearch', 12)
  held.note('jsonl', 3)
  held.note('opensearch', 7)
  held.note('jsonl', 0)
  held.lose()
  held.lose()
  t.match(lines, [{ event: 'traffic_records_lost', sink: 'opensearch', count: 7 }])
  t.equal(lines.length, 1)

  const aggregator = createMetricsAggregator({ nowMs: () => 0 }, { modelsMax: 1 })
  const delta = registry.takeDelta()
  t.ok(delta && aggregator.apply(0, delta))
  t.equal(aggregator.read('gateway_traffic_log_dropped_total')[0]?.values[0], 7)
  t.equal(aggregator.read('gateway_traffic_log_opensearch_dropped_total')[0]?.values[0], 7)
  t.end()
})
