// The series about processes move through a started gateway (operations.md 7.5).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startDraining } from '../../support/drain.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { scrape, scrapeUntil } from '../../support/scrape.ts'
import { askIn, model, openStream } from './support.ts'

const METRICS = { GATEWAY_METRICS_ENABLED: 'true' }

t.test('a gateway tells its build, its processes, its readiness and the age of its model list', async t => {
  const emulator = await startEmulator(t)
  const env = { ...emulatorVariables(emulator), ...METRICS, GATEWAY_WORKERS: '2' }
  const gateway = await startGateway(t, { env })
  const ready = await scrapeUntil(gateway, 'the gateway is ready', at => at.sum('gateway_ready') === 1)
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'))
  t.equal(ready.sum('gateway_build_info'), 1)
  t.match(ready.family('gateway_build_info').help, new RegExp(`${version}, Node ${process.version}, commit \\w+`))
  t.ok(ready.sum('gateway_process_start_time_seconds') > 1.6e9)
  t.ok(ready.sum('gateway_memory_rss_bytes') > ready.sum('gateway_heap_used_bytes'))
  t.ok(ready.sum('gateway_heap_used_bytes') > 1e6)
  t.equal(ready.sum('gateway_workers', { lifecycle: 'ready' }), 2)
  t.equal(ready.sum('gateway_workers', { lifecycle: 'starting' }), 0)
  t.equal(ready.sum('gateway_workers', { lifecycle: 'draining' }), 0)
  t.equal(ready.sum('gateway_draining'), 0)
  t.equal(ready.sum('gateway_worker_restarts_total'), 0)
  const names = ['lag_p50_seconds', 'lag_p99_seconds', 'lag_max_seconds', 'utilization']
  const busy = await scrapeUntil(gateway, 'the event loops have been measured', at =>
    names.every(name => at.sum(`gateway_event_loop_${name}`) > 0)
  )
  const values = names.map(name => busy.sum(`gateway_event_loop_${name}`))
  t.strictSame(
    values.slice(0, 3).toSorted((left, right) => left - right),
    values.slice(0, 3)
  )
  t.ok(Number(values[3]) <= 1)
  const age = busy.sum('gateway_catalog_age_seconds')
  await scrapeUntil(gateway, 'the model list grows older', at => at.sum('gateway_catalog_age_seconds') > age)

  const workers = () => readChildPids(Number(gateway.process.pid))
  const killed = Number(workers()[0])
  process.kill(killed, 'SIGKILL')
  // No connection goes to it any more.
  await waitUntil(() => !workers().includes(killed), 'the worker has exited')
  const respawned = await scrapeUntil(
    gateway,
    'the worker is replaced',
    at => at.sum('gateway_worker_restarts_total') === 1 && at.sum('gateway_workers', { lifecycle: 'ready' }) === 2
  )
  t.equal(respawned.sum('gateway_ready'), 1)
})

t.test('tasks of threads, connections, tokens and pauses for garbage collection are counted', async t => {
  const emulator = await startEmulator(t)
  const env = {
    ...emulatorVariables(emulator),
    ...METRICS,
    GATEWAY_POOL_THREADS: '1',
    GATEWAY_POOL_THRESHOLD_BYTES: '4096'
  }
  const gateway = await startGateway(t, { env })
  const before = await scrapeUntil(gateway, 'the gateway is ready', at => at.sum('gateway_ready') === 1)
  t.equal(before.sum('gateway_pool_wait_seconds_count'), 0)
  t.equal(before.sum('gateway_pool_tasks'), 0)
  t.equal(before.sum('gateway_upstream_token_refresh_failures_total'), 0)
  const large = 'a large prompt '.repeat(20_000)
  await Promise.all([1, 2, 3].map(() => askIn(gateway, 'completions', `[[text:short]] ${large}`)))
  const after = await scrape(gateway)
  t.ok(after.sum('gateway_pool_wait_seconds_count') >= 3)
  t.ok(after.sum('gateway_upstream_token_refresh_total') >= 1)
  t.ok(after.sum('gateway_upstream_connections', { provider: 'native' }) >= 1)
  await scrapeUntil(gateway, 'the idle connections are closed', at => at.sum('gateway_upstream_connections') === 0)
  await scrapeUntil(gateway, 'garbage is collected', at => at.sum('gateway_gc_pause_seconds_count') > 0)
})

t.test('tasks that run or wait for a thread are counted while they do', async t => {
  const emulator = await startEmulator(t)
  const env = {
    ...emulatorVariables(emulator),
    ...METRICS,
    GATEWAY_POOL_THREADS: '1',
    GATEWAY_POOL_THRESHOLD_BYTES: '1'
  }
  const gateway = await startGateway(t, { env })
  let isDone = false
  async function keepBusy(): Promise<void> {
    while (!isDone) await askIn(gateway, 'completions', `[[text:short]] ${'a large prompt '.repeat(100_000)}`)
  }
  const busy = Promise.all([1, 2, 3, 4].map(keepBusy))
  await scrapeUntil(gateway, 'more than one task is counted', at => at.sum('gateway_pool_tasks') > 1)
  isDone = true
  await busy
  t.equal((await scrape(gateway)).sum('gateway_pool_tasks'), 0)
})

t.test('a token that cannot be fetched is counted', async t => {
  const emulator = await startEmulator(t, { credentials: 'b3RoZXI6b3RoZXI=' })
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), ...METRICS } })
  const failed = await scrapeUntil(
    gateway,
    'a token fetch has failed',
    at => at.sum('gateway_upstream_token_refresh_failures_total') > 0
  )
  t.equal(
    failed.sum('gateway_upstream_token_refresh_total'),
    failed.sum('gateway_upstream_token_refresh_failures_total')
  )
  t.equal(failed.sum('gateway_ready'), 0)
  t.equal(failed.sum('gateway_catalog_age_seconds'), 0)
})

t.test('the use of a concurrency limit is shown under the name of the model', async t => {
  const emulator = await startEmulator(t)
  const env = {
    ...emulatorVariables(emulator),
    ...METRICS,
    GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 1, 'not-listed': 5 }),
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
  }
  const gateway = await startGateway(t, { env })
  const idle = await scrapeUntil(gateway, 'the gateway is ready', at => at.sum('gateway_ready') === 1)
  t.equal(idle.sum('gateway_model_concurrency_limit', { model }), 1)
  t.equal(idle.sum('gateway_model_concurrency_limit', { model: 'not-listed' }), 5)
  t.equal(idle.sum('gateway_model_concurrency_in_use', { model }), 0)
  const controller = new AbortController()
  await openStream(gateway, 'messages', '[[tick:50]][[len:5000]]', { signal: controller.signal })
  t.equal((await askIn(gateway, 'completions', 'hi', { model: `models/${model}:latest` })).status, 429)
  const used = await scrape(gateway)
  t.equal(used.sum('gateway_model_concurrency_in_use', { model }), 1)
  t.equal(used.sum('gateway_model_concurrency_waiting', { model }), 0)
  t.equal(used.sum('gateway_model_concurrency_rejected_total', { model }), 1)
  controller.abort()
  await scrapeUntil(gateway, 'the slots are free', at => at.sum('gateway_model_concurrency_in_use') === 0)
})

t.test('requests that wait for a concurrency limit are counted while they do', async t => {
  const emulator = await startEmulator(t)
  const env = { ...emulatorVariables(emulator), ...METRICS, GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: '1' }
  const gateway = await startGateway(t, { env })
  await scrapeUntil(gateway, 'the gateway is ready', at => at.sum('gateway_ready') === 1)
  const controller = new AbortController()
  await openStream(gateway, 'messages', '[[tick:50]][[len:5000]]', { signal: controller.signal })
  const waiting = askIn(gateway, 'completions', 'hi')
  const used = await scrapeUntil(
    gateway,
    'it waits',
    at => at.sum('gateway_model_concurrency_waiting', { model }) === 1
  )
  t.equal(used.sum('gateway_model_concurrency_in_use', { model }), 1)
  t.equal(used.sum('gateway_model_concurrency_limit', { model }), 1)
  controller.abort()
  t.equal((await waiting).status, 200)
  await scrapeUntil(gateway, 'none waits', at => at.sum('gateway_model_concurrency_waiting') === 0)
})

t.test('a gateway that drains says so and counts what it waits for', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), ...METRICS } })
  await scrapeUntil(gateway, 'the gateway is ready', at => at.sum('gateway_ready') === 1)
  const controller = new AbortController()
  await openStream(gateway, 'messages', '[[tick:50]][[len:5000]]', { signal: controller.signal })
  const served = await startDraining(t, gateway, { connections: 300 })
  const draining = await scrape(served)
  t.equal(draining.sum('gateway_draining'), 1)
  t.equal(draining.sum('gateway_ready'), 0)
  t.equal(draining.sum('gateway_workers', { lifecycle: 'draining' }), 1)
  t.equal(draining.sum('gateway_drain_active_requests'), 2)
  controller.abort()
  await scrapeUntil(served, 'one request is left', at => at.sum('gateway_drain_active_requests') === 1)
})
