// Where the metrics are served, to whom and in which form (operations.md 7.1 and 7.5).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LABEL_NAMES } from '../../../shared/metrics/definitions.ts'
import { get, post } from '../../support/client.ts'
import { compileCache } from '../../support/compile-cache.ts'
import { startDraining } from '../../support/drain.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { fetchMetrics, scrape, scrapeUntil } from '../../support/metrics.ts'
import { readMetricsText } from '../../support/metrics-text.ts'
import { absentCollector } from '../../support/otlp/receiver.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const specified = [
  'gateway_requests_total',
  'gateway_request_duration_seconds',
  'gateway_upstream_duration_seconds',
  'gateway_upstream_errors_total',
  'gateway_tokens_input_total',
  'gateway_tokens_output_total',
  'gateway_stream_disconnects_total',
  'gateway_traffic_log_dropped_total'
]

const AUTH = { GATEWAY_ENABLE_API_KEY_AUTH: 'True', GATEWAY_API_KEY: 'k1' }
const TEXT = 'text/plain; version=0.0.4; charset=utf-8'
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

t.test('operations 59: without the setting there are no metrics, and they need the key of the gateway', async t => {
  const off = await startGateway(t)
  t.equal((await get(`${off.url}/metrics`)).status, 404)
  const on = await startGateway(t, { env: { ...AUTH, GATEWAY_METRICS_ENABLED: 'True' } })
  const url = `${on.url}/metrics`
  const refused = await get(url)
  t.equal(refused.status, 401)
  t.same(refused.json, { error: { code: 'invalid_api_key', message: 'API key required' } })
  t.equal((await get(url, { authorization: 'Bearer wrong' })).status, 401)
  for (const headers of [{ authorization: 'Bearer k1' }, { 'x-api-key': 'k1' }]) {
    const { status, contentType, text } = await fetchMetrics(url, headers as Record<string, string>)
    t.equal(status, 200)
    t.equal(contentType, TEXT)
    readMetricsText(text)
  }
  const { text } = await fetchMetrics(url, { 'x-api-key': 'k1' })
  const failures = readMetricsText(text).samples('gateway_auth_failures_total')
  t.match(failures, [{ labels: { protocol: 'system', route: '/metrics', status: '401' }, value: 2 }])
})

/** For two cases; the first one expects that nothing was requested before. */
const emulator = await startEmulator(t)
const shared = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_METRICS_ENABLED: 'True', GATEWAY_WORKERS: '2' }
})

t.test('operations 60: the metrics path is trimmed and gets exactly one leading slash', async t => {
  const gateway = await startGateway(t, { env: { GATEWAY_METRICS_ENABLED: 'True', GATEWAY_METRICS_PATH: ' m/ ' } })
  t.equal((await fetchMetrics(`${gateway.url}/m`)).status, 200)
  t.equal((await fetchMetrics(`${gateway.url}/metrics`)).status, 404)
  const routes = (await scrape(gateway, '/m')).samples('gateway_requests_total').map(({ labels }) => labels.route)
  t.same(routes, ['/m', 'unmatched'])
})

t.test('operations 61: all series are there from the start, with the allowed labels only', async t => {
  const { text } = await fetchMetrics(`${shared.url}/metrics`)
  const first = readMetricsText(text)
  t.same(
    first.families.slice(0, specified.length).map(({ name }) => name),
    specified
  )
  for (const name of specified) {
    const { samples, type } = first.family(name)
    t.same(new Set(samples.map(({ value }) => value)), new Set([0]), name)
    if (type !== 'histogram') t.equal(samples.length, 1, name)
    else {
      const buckets = samples.filter(sample => sample.name.endsWith('_bucket'))
      t.equal(buckets.length, 14, name)
      t.equal(buckets.at(-1)?.labels.le, '+Inf', name)
    }
  }
  t.match(text, /^gateway_traffic_log_dropped_total 0$/m)

  await post(`${shared.url}/v1/chat/completions`, { model: 'GigaChat', messages: [{ role: 'user', content: 'hi' }] })
  await post(`${shared.url}/v1/messages`, {})
  await get(`${shared.url}/nope`)
  const used = new Set(
    (await scrape(shared)).families.flatMap(({ samples }) => samples.flatMap(({ labels }) => Object.keys(labels)))
  )
  for (const label of used) t.ok(label === 'le' || LABEL_NAMES.some(name => name === label), label)
})

t.test('OpenMetrics is written for a scraper that asks for it', async t => {
  const prometheus =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,' +
    'text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
  const { contentType, text } = await fetchMetrics(`${shared.url}/metrics`, { accept: prometheus })
  t.equal(contentType, OPEN_METRICS)
  t.equal(readMetricsText(text, 'openmetrics').families[0]?.name, 'gateway_requests')
  for (const accept of [
    '*/*',
    'text/plain',
    'application/openmetrics-text;version=2.0.0',
    'text/plain, application/openmetrics-text;q=0.1'
  ]) {
    t.equal((await fetchMetrics(`${shared.url}/metrics`, { accept })).contentType, TEXT, accept)
  }
})

t.test('a port of their own takes the metrics off the public one', async t => {
  const gateway = await startGateway(t, {
    env: { ...AUTH, GATEWAY_METRICS_ENABLED: 'True', GATEWAY_METRICS_PORT: '0', GATEWAY_METRICS_PATH: '/internal/m' }
  })
  const listening = readLog(gateway).find(({ event }) => event === 'metrics_listening')
  t.equal(listening?.host, '127.0.0.1')
  const url = `http://127.0.0.1:${listening?.port}`
  t.equal((await fetchMetrics(`${gateway.url}/internal/m`, { 'x-api-key': 'k1' })).status, 404)
  t.same(JSON.parse((await fetchMetrics(`${url}/internal/m`)).text), {
    error: { code: 'invalid_api_key', message: 'API key required' }
  })
  const wrong = await get(`${url}/internal/m`, { 'x-api-key': 'no' })
  t.equal(wrong.status, 401)
  t.equal(wrong.headers.get('www-authenticate'), 'Bearer')
  t.equal((await fetchMetrics(`${url}/metrics`, { 'x-api-key': 'k1' })).status, 404)
  const refused = await post(`${url}/internal/m`, {}, { 'x-api-key': 'k1' })
  t.equal(refused.status, 405)
  t.equal(refused.headers.get('allow'), 'GET')
  for (const carrier of [
    { headers: { 'x-goog-api-key': 'k1' } },
    { query: '?key=k1' },
    { headers: { authorization: 'bearer k1' } }
  ]) {
    const { headers, query = '' } = carrier as { headers?: Record<string, string>; query?: string }
    const { status, contentType, text } = await fetchMetrics(`${url}/internal/m${query}`, headers)
    t.equal(status, 200)
    t.equal(contentType, TEXT)
    t.equal(readMetricsText(text).sum('gateway_requests_total', { route: 'unmatched' }), 1)
  }
  // A connection that a scraper keeps open does not delay the end.
  const kept = connect(Number(listening?.port), '127.0.0.1')
  t.teardown(() => kept.destroy())
  await once(kept, 'connect')
  kept.on('error', () => undefined)
  t.equal(await gateway.stop(), 0)
  await t.rejects(fetchMetrics(`${url}/internal/m`))
})

/** Starts a gateway that does not start; resolves with its exit code and what it wrote on stderr. */
async function failToStart(t: Test, env: Record<string, string>): Promise<{ code: number | null; errors: string }> {
  const folder = createTemporaryFolder(t)
  const root = join(import.meta.dirname, '..', '..', '..')
  const child = spawn(process.execPath, [join(root, 'supervisor', 'main.ts')], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      ...compileCache,
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: '0',
      GATEWAY_WORKERS: '1',
      ...env
    },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  let errors = ''
  child.stderr.on('data', chunk => {
    errors += String(chunk)
  })
  const [code] = await once(child, 'close')
  return { code, errors }
}

t.test('a port that is taken and a path that another route has end the start', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const portTaken = await failToStart(t, { GATEWAY_METRICS_ENABLED: 'True', GATEWAY_METRICS_PORT: String(port) })
  t.equal(portTaken.code, 1)
  t.match(portTaken.errors, `port_in_use: 127.0.0.1:${port}`)
  const pathTaken = await failToStart(t, { GATEWAY_METRICS_ENABLED: 'True', GATEWAY_METRICS_PATH: '/health' })
  t.equal(pathTaken.code, 2)
  t.match(pathTaken.errors, 'GATEWAY_METRICS_PATH is the path of another route')
  const pattern = await failToStart(t, { GATEWAY_METRICS_ENABLED: 'True', GATEWAY_METRICS_PATH: '/:any' })
  t.equal(pattern.code, 2)
  t.match(pattern.errors, 'GATEWAY_METRICS_PATH')
})

t.test('no metric holds the id of a trace, not even that of a sampled one (specification.md 6.2)', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_METRICS_ENABLED: 'True',
      GATEWAY_OBSERVABILITY_ENABLED: 'True',
      GATEWAY_TRACE_COLLECTOR_ENDPOINT: await absentCollector()
    }
  })
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const body = { model: 'GigaChat', messages: [{ role: 'user', content: 'hi' }] }
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`
  t.equal((await post(`${gateway.url}/v1/chat/completions`, body, { traceparent })).status, 200)
  await scrapeUntil(gateway, text => text.sum('gateway_requests_total', { provider: 'native' }) === 1, 'it is counted')
  const { text } = await fetchMetrics(`${gateway.url}/metrics`, { accept: 'application/openmetrics-text' })
  const metrics = readMetricsText(text, 'openmetrics')
  t.ok(metrics.samples('gateway_request_duration_seconds_bucket', { provider: 'native' }).length > 0)
  for (const exposed of [text, (await fetchMetrics(`${gateway.url}/metrics`)).text]) t.notOk(exposed.includes(traceId))
})

t.test('the port of the metrics serves until the end of a drain, and refused requests are counted', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_METRICS_ENABLED: 'True', GATEWAY_METRICS_PORT: '0' }
  })
  const port = readLog(gateway).find(({ event }) => event === 'metrics_listening')?.port
  const url = `http://127.0.0.1:${port}`
  const draining = await startDraining(t, gateway)
  const refused = await post(`${draining.url}/v1/messages`, {})
  t.equal(refused.status, 503)
  const labels = { protocol: 'anthropic', route: '/v1/messages', status: '503', lifecycle: 'request_error' }
  const metrics = await scrapeUntil({ url }, text => text.sum('gateway_requests_total', labels) === 1, 'it is counted')
  t.equal(metrics.sum('gateway_draining'), 1)
  gateway.process.kill('SIGTERM')
  t.equal(await gateway.stop(), 0)
  await t.rejects(fetchMetrics(`${url}/metrics`))
})
