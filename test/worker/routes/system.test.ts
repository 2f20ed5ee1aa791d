import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import t from 'tap'
import { parseSettings } from '../../../shared/settings.ts'
import { createLocalControlChannel } from '../../../worker/control/local-control-channel.ts'
import { get } from '../../support/client.ts'
import { startApplication } from '../http/support.ts'

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const auth = { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' }

async function ask(port: number, method: string, path: string) {
  const request = httpRequest({ port, host: '127.0.0.1', method, path, agent: false }).end()
  const [response] = await once(request, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode, headers: response.headers, text }
}

t.test('operations 1: /health is an empty 200 without a key', async t => {
  const { port } = await startApplication(t, { env: auth })
  const { status, headers, text } = await ask(port, 'GET', '/health')
  t.equal(status, 200)
  t.equal(text, '')
  t.equal(headers['content-length'], '0')
  t.equal(headers['content-type'], undefined)
  t.match(headers['x-request-id'], UUID_V4)
})

t.test('operations 2: /ping takes GET and POST, /health only GET', async t => {
  const { url, port } = await startApplication(t)
  for (const method of ['GET', 'POST', 'HEAD']) {
    const { status, text, headers } = await ask(port, method, '/ping')
    t.same([status, text, headers['content-length']], [200, '', '0'], method)
  }
  t.equal((await fetch(`${url}/ping`, { method: 'POST', body: '{"a":1}' })).status, 200)
  const refused = await fetch(`${url}/health`, { method: 'POST' })
  t.equal(refused.status, 405)
  t.equal(refused.headers.get('allow'), 'GET')
  t.same(await refused.json(), { error: { code: 'method_not_allowed', message: 'Method Not Allowed' } })
})

t.test('operations 3: only the exact path is served; health and ping also after any prefix', async t => {
  const { port } = await startApplication(t)
  t.equal((await ask(port, 'GET', '/health/')).status, 404)
  t.equal((await ask(port, 'GET', '/ready/')).status, 404)
  t.equal((await ask(port, 'GET', '/abc/health')).status, 200)
  t.equal((await ask(port, 'GET', '/x/y/ping')).status, 200)
  t.equal((await ask(port, 'GET', '/v1/ready')).status, 404)
})

t.test('a HEAD response has the status and headers of GET and no body', async t => {
  const { port } = await startApplication(t)
  for (const [path, status] of [
    ['/', 307],
    ['/v1', 200],
    ['/v2', 200],
    ['/api/hello', 200],
    ['/health', 200],
    ['/livez', 200],
    ['/ready', 503],
    ['/readyz', 503]
  ] as const) {
    const head = await ask(port, 'HEAD', path)
    const whole = await ask(port, 'GET', path)
    t.equal(head.status, status, path)
    t.equal(head.text, '')
    t.equal(head.headers['content-length'], whole.headers['content-length'])
  }
})

t.test(
  'operations 7: readiness needs no key in PROD and is 503 until the first catalog discovery succeeds',
  async t => {
    const settings = parseSettings({})
    const control = createLocalControlChannel(settings)
    const { url } = await startApplication(t, { control, env: { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'k1' } })
    const before = await get(`${url}/ready`)
    t.equal(before.status, 503)
    t.match(before.json, {
      schema_version: 'gateway.readiness.v1',
      ready: false,
      process_alive: true,
      model_catalog: { state: 'unavailable', usable: false },
      reasons: [{ reason_id: 'model_inventory_unavailable' }]
    })
    await control.refreshCatalog(async () => ({ entries: [], skippedCount: 0, duplicateCount: 0 }), {
      profileId: 'native-upstream',
      force: false
    })
    const after = await get(`${url}/ready`)
    t.equal(after.status, 200)
    t.match(after.json, { ready: true, model_catalog: { state: 'fresh', usable: true }, reasons: [], warnings: [] })
    t.same((await get(`${url}/readyz`)).json, after.json)
  }
)

t.test('a stale catalog is a readiness warning and not a reason for 503', async t => {
  const control = createLocalControlChannel(parseSettings({}))
  const { url } = await startApplication(t, { control })
  await control.refreshCatalog(async () => ({ entries: [], skippedCount: 0, duplicateCount: 0 }), {
    profileId: 'native-upstream',
    force: false
  })
  await control.refreshCatalog(() => Promise.reject(new Error('away')), { profileId: 'native-upstream', force: true })
  const { status, json } = await get(`${url}/ready`)
  t.equal(status, 200)
  t.same(json.warnings, [{ reason_id: 'model_inventory_stale_but_usable' }])
})

t.test('liveness stays 200 while draining, readiness turns 503 (I1, I2)', async t => {
  const control = createLocalControlChannel(parseSettings({}))
  const { url, drainGate } = await startApplication(t, { control })
  await control.refreshCatalog(async () => ({ entries: [], skippedCount: 0, duplicateCount: 0 }), {
    profileId: 'native-upstream',
    force: false
  })
  drainGate.startDraining()
  t.equal((await get(`${url}/health`)).status, 200)
  t.equal((await get(`${url}/livez`)).status, 200)
  const { status, json } = await get(`${url}/ready`)
  t.equal(status, 503)
  t.same(json.reasons, [{ reason_id: 'gateway_shutting_down' }])
})
