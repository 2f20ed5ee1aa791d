import { pino } from 'pino'
import t from 'tap'
import { createMetricRegistry } from '../../../shared/metrics/registry.ts'
import { createMetricsAggregator } from '../../../supervisor/metrics/aggregator.ts'
import { createSinkCounters, watchSinks } from '../../../supervisor/writer/sink-metrics.ts'
import { SinkQueue } from '../../../supervisor/writer/sink-queue.ts'
import { createRecords } from './records.ts'

t.test('every sink has its series; counts stay and gauges go with the process', async t => {
  const registry = createMetricRegistry()
  const counters = createSinkCounters(registry)
  const queue = new SinkQueue(
    {
      name: 'sqlite',
      write: async () => {
        throw new Error('the disk is full')
      },
      close: async () => undefined
    },
    {
      recordsMax: 2,
      bytesMax: 1e6,
      batchesAtOnce: 1,
      batchRecordsMax: 10,
      batchBytesMax: 1e6,
      flushIntervalMs: 1e6,
      dropsWhenFull: true,
      releasesInOutage: false,
      slowWriteMs: 1e6,
      isSynchronous: false,
      spill: undefined,
      retryMinMs: 1e6,
      retryMaxMs: 1e6,
      reportIntervalMs: 1e6
    },
    {
      log: pino({ enabled: false }),
      random: () => 0,
      nowMs: () => performance.now(),
      onWritten: (count, durationMs) => counters.written('sqlite', count, durationMs),
      onDropped: (reason, count) => counters.dropped('sqlite', reason, count),
      onWriteError: () => counters.failed('sqlite'),
      onHeld: () => undefined
    }
  )
  t.teardown(() => queue.close())
  const folder = t.testdir({ 'traffic.sqlite-wal': '12345' })
  watchSinks(registry, { queues: [queue], sqliteFile: `${folder}/traffic.sqlite` })
  void queue.accept(createRecords(5), 1000, {})
  await queue.flush()
  counters.written('sqlite', 7, 20)

  const aggregator = createMetricsAggregator({ nowMs: () => 0 }, { modelsMax: 1 })
  const delta = registry.takeDelta()
  t.ok(delta && aggregator.apply(-1, delta))
  const readValue = (name: Parameters<typeof aggregator.read>[0]) => aggregator.read(name)[0]?.values[0]
  t.equal(readValue('gateway_traffic_log_dropped_total'), 3)
  t.equal(readValue('gateway_traffic_log_sqlite_dropped_total'), 3)
  t.equal(readValue('gateway_traffic_log_sqlite_written_total'), 7)
  t.equal(readValue('gateway_traffic_log_sqlite_write_errors_total'), 1)
  t.equal(readValue('gateway_traffic_log_sqlite_queue_depth'), 2)
  t.equal(readValue('gateway_traffic_log_sqlite_spill_bytes'), 0)
  t.equal(readValue('gateway_traffic_log_sqlite_wal_bytes'), 5)
  t.ok((readValue('gateway_traffic_log_sqlite_lag_seconds') ?? 0) > 0)
  t.equal(readValue('gateway_traffic_log_postgres_written_total'), undefined)
  aggregator.releaseOwner(-1)
  t.equal(readValue('gateway_traffic_log_sqlite_written_total'), 7)
  t.equal(readValue('gateway_traffic_log_sqlite_queue_depth'), undefined)
})
