// Alone: it measures the event loop of its process.
// The probes of a worker process.

import t, { type Test } from 'tap'
import type { MetricName } from '../../../../shared/metrics/definitions.ts'
import { createMetricRegistry } from '../../../../shared/metrics/registry.ts'
import { createMetricsAggregator } from '../../../../supervisor/metrics/aggregator.ts'
import { startProcessProbes } from '../../../../worker/observation/metrics/probes.ts'
import { waitUntil } from '../../../support/processes.ts'

function start(t: Test) {
  const registry = createMetricRegistry()
  const totals = createMetricsAggregator({ nowMs: Date.now }, { modelsMax: 10 })
  const clock = { nowMs: 0 }
  const probes = startProcessProbes(registry, () => clock.nowMs)
  t.teardown(() => probes.close())
  function read(name: MetricName): number {
    const delta = registry.takeDelta()
    if (delta !== undefined) t.ok(totals.apply(1, delta))
    return totals.read(name)[0]?.values[0] ?? Number.NaN
  }
  return { probes, clock, read }
}

/** Keeps the event loop busy. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

t.test('a block of the event loop shows for the current window and the next one', async t => {
  const { clock, read } = start(t)
  // The measurement begins with its first timer.
  await waitUntil(() => read('gateway_event_loop_utilization') > 0, 'the event loop is measured')
  await new Promise(resolve => setImmediate(resolve))
  block(300)
  await waitUntil(() => read('gateway_event_loop_lag_max_seconds') > 0.2, 'the block is seen')
  clock.nowMs = 15_000
  read('gateway_event_loop_lag_max_seconds')
  t.ok(read('gateway_event_loop_lag_max_seconds') > 0.2, 'in the window after it')
  clock.nowMs = 30_000
  read('gateway_event_loop_lag_max_seconds')
  t.ok(read('gateway_event_loop_lag_max_seconds') < 0.2, 'and no longer')
})

t.test('memory, tasks, connections and tokens', async t => {
  const { probes, read } = start(t)
  t.ok(read('gateway_memory_rss_bytes') > read('gateway_heap_used_bytes'))
  t.equal(read('gateway_pool_tasks'), 0)
  const pool = { poolTasks: 3 }
  probes.watchPool(pool)
  t.equal(read('gateway_pool_tasks'), 3)
  const { onConnectionChange, onTokenFetched } = probes.listeners
  onConnectionChange('native', 1)
  onConnectionChange('native', 1)
  onConnectionChange('native', -1)
  t.equal(read('gateway_upstream_connections'), 1)
  onTokenFetched(true)
  onTokenFetched(false)
  t.equal(read('gateway_upstream_token_refresh_total'), 2)
  t.equal(read('gateway_upstream_token_refresh_failures_total'), 1)
})
