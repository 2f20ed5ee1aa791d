// The series about processes move through a started gateway (operations contract, section 7.5).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LONG_GRACE, startDraining } from '../../support/drain.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { type Scrape, scrape } from '../../support/scrape.ts'
import { askIn, model, openStream } from './support.ts'

const METRICS = { GATEWAY_METRICS_ENABLED: 'true' }

/** Scrapes until the condition holds. */
async function scrapeUntil(
  gateway: { url: string },
  what: string,
  holds: (scrape: Scrape) => boolean
): Promise<Scrape> {
  let last = await scrape(gateway)
  await waitUntil(async () => {
    if (!holds(last)) last = await scrape(gateway)
    return holds(last)
  }, what)
  return last
}

t.test('a gateway tells its build, its processes, its readiness and the age of its model list', async t => {
  const emulator = await startEmulator(t)
  const env = { ...emulatorVariables(emulator), ...METRICS, GATEWAY_WORKERS: '2' }
  const gateway = await startGateway(t, { env })
  const ready = await scrapeUntil(gateway, 'the gateway is ready', at => at.value('gateway_ready') === 1)
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'))
  t.equal(ready.value('gateway_build_info'), 1)
  t.match(ready.text, new RegExp(`# HELP gateway_build_info .*${version}, Node ${process.version}, commit \\w+`))
  t.ok(Number(ready.value('gateway_process_start_time_seconds')) > 1.6e9)
  t.ok(Number(ready.value('gateway_memory_rss_bytes')) > Number(ready.value('gateway_heap_used_bytes')))
  t.ok(Number(ready.value('gateway_heap_used_bytes')) > 1e6)
  t.equal(ready.value('gateway_workers', { lifecycle: 'ready' }), 2)
  t.equal(ready.value('gateway_workers', { lifecycle: 'starting' }), 0)
  t.equal(ready.value('gateway_workers', { lifecycle: 'draining' }), 0)
  t.equal(ready.value('gateway_draining'), 0)
  t.equal(ready.value('gateway_worker_restarts_total'), 0)
  const names = ['lag_p50_seconds', 'lag_p99_seconds', 'lag_max_seconds', 'utilization']
  const busy = await scrapeUntil(gateway, 'the event loops have been measured', at =>
    names.every(name => Number(at.value(`gateway_event_loop_${name}`)) > 0)
  )
  const values = names.map(name => Number(busy.value(`gateway_event_loop_${name}`)))
  t.strictSame(
    values.slice(0, 3).toSorted((left, right) => left - right),
    values.slice(0, 3)
  )
  t.ok(Number(values[3]) <= 1)
  const age = Number(busy.value('gateway_catalog_age_seconds'))
  await scrapeUntil(gateway, 'the model list grows older', at => Number(at.value('gateway_catalog_age_seconds')) > age)

  const killed = readChildPids(Number(gateway.process.pid))[0]
  process.kill(Number(killed), 'SIGKILL')
  const respawned = await scrapeUntil(
    gateway,
    'the worker is replaced',
    at => at.value('gateway_worker_restarts_total') === 1 && at.value('gateway_workers', { lifecycle: 'ready' }) === 2
  )
  t.equal(respawned.value('gateway_ready'), 1)
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
  const before = await scrapeUntil(gateway, 'the gateway is ready', at => at.value('gateway_ready') === 1)
  t.equal(before.value('gateway_pool_wait_seconds_count'), 0)
  t.equal(before.value('gateway_pool_tasks'), 0)
  t.equal(before.value('gateway_upstream_token_refresh_failures_total'), 0)
  const large = 'a large prompt '.repeat(20_000)
  await Promise.all([1, 2, 3].map(() => askIn(gateway, 'completions', `[[text:short]] ${large}`)))
  const after = await scrape(gateway)
  t.ok(Number(after.value('gateway_pool_wait_seconds_count')) >= 3)
  t.ok(Number(after.value('gateway_upstream_token_refresh_total')) >= 1)
  t.ok(Number(after.value('gateway_upstream_connections', { provider: 'native' })) >= 1)
  await scrapeUntil(gateway, 'the idle connections are closed', at => at.value('gateway_upstream_connections') === 0)
  await scrapeUntil(gateway, 'garbage is collected', at => Number(at.value('gateway_gc_pause_seconds_count')) > 0)
})

t.test('a token that cannot be fetched is counted', async t => {
  const emulator = await startEmulator(t, { credentials: 'b3RoZXI6b3RoZXI=' })
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), ...METRICS } })
  const failed = await scrapeUntil(
    gateway,
    'a token fetch has failed',
    at => Number(at.value('gateway_upstream_token_refresh_failures_total')) > 0
  )
  t.equal(
    failed.value('gateway_upstream_token_refresh_total'),
    failed.value('gateway_upstream_token_refresh_failures_total')
  )
  t.equal(failed.value('gateway_ready'), 0)
  t.equal(failed.value('gateway_catalog_age_seconds'), 0)
})

t.test('the use of a concurrency limit is shown under the name of the model', async t => {
  const emulator = await startEmulator(t)
  const env = {
    ...emulatorVariables(emulator),
    ...METRICS,
    GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 1, 'not-listed': 5 }),
    GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: '3',
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
  }
  const gateway = await startGateway(t, { env })
  const idle = await scrapeUntil(gateway, 'the gateway is ready', at => at.value('gateway_ready') === 1)
  t.equal(idle.value('gateway_model_concurrency_limit', { model }), 1)
  t.equal(idle.value('gateway_model_concurrency_limit', { model: 'not-listed' }), 5)
  t.equal(idle.value('gateway_model_concurrency_in_use', { model }), 0)
  const controller = new AbortController()
  await openStream(gateway, 'messages', '[[tick:50]][[len:5000]]', { signal: controller.signal })
  await openStream(gateway, 'completions', '[[tick:50]][[len:5000]]', { signal: controller.signal, model: 'invented' })
  t.equal((await askIn(gateway, 'completions', 'hi', { model: `models/${model}:latest` })).status, 429)
  const used = await scrape(gateway)
  t.equal(used.value('gateway_model_concurrency_in_use', { model }), 1)
  t.equal(used.value('gateway_model_concurrency_waiting', { model }), 0)
  t.equal(used.value('gateway_model_concurrency_rejected_total', { model }), 1)
  t.equal(used.value('gateway_model_concurrency_limit', { model: 'other' }), 3, 'no client makes a label')
  controller.abort()
  await scrapeUntil(gateway, 'the slots are free', at => at.value('gateway_model_concurrency_in_use') === 0)
})

t.test('a gateway that drains says so and counts what it waits for', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), ...METRICS, ...LONG_GRACE } })
  await scrapeUntil(gateway, 'the gateway is ready', at => at.value('gateway_ready') === 1)
  const controller = new AbortController()
  await openStream(gateway, 'messages', '[[tick:50]][[len:5000]]', { signal: controller.signal })
  await startDraining(gateway)
  const draining = await scrape(gateway)
  t.equal(draining.value('gateway_draining'), 1)
  t.equal(draining.value('gateway_ready'), 0)
  t.equal(draining.value('gateway_workers', { lifecycle: 'draining' }), 1)
  t.equal(draining.value('gateway_drain_active_requests'), 1)
  controller.abort()
  await scrapeUntil(gateway, 'no request is left', at => at.value('gateway_drain_active_requests') === 0)
})
