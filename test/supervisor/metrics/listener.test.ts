import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createKeyRing } from '../../../shared/keys/key-ring.ts'
import type { KeySet } from '../../../shared/keys/key-set.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { listenForScrapes } from '../../../supervisor/metrics/listener.ts'
import { get } from '../../support/client.ts'
import { writeKeySet } from '../../support/key-sets.ts'
import { waitUntil } from '../../support/processes.ts'

async function start(t: Test, env: Record<string, string>, keySet?: KeySet) {
  const settings = parseSettings(env)
  const keyRing = createKeyRing(settings, keySet)
  const clock = { nowMs: 0 }
  const listener = await listenForScrapes(
    { log: pino({ level: 'silent' }), scrape: async () => Buffer.from('metrics'), nowMs: () => clock.nowMs },
    { port: 0, settings, keyRing }
  )
  t.teardown(() => listener.close())
  const url = `http://${settings.metricsHost}:${listener.port}/metrics`
  const codeOf = async (headers: Record<string, string> = {}, query = '') => {
    const { status, json } = await get(url + query, headers)
    return json === undefined ? status : `${status} ${json.error.code}`
  }
  return { clock, keyRing, codeOf, port: listener.port }
}

t.test('keys 2: with a keys file the metrics need the default or the admin key', async t => {
  const env = {
    GATEWAY_KEYS_FILE: 'keys.yaml',
    GATEWAY_API_KEY: 'operator',
    GATEWAY_API_KEYS: '{"named":"named"}',
    GATEWAY_ADMIN_API_KEY: 'admin'
  }
  const keys = [
    { name: 'ci', secrets: ['client'] },
    { name: 'ending', secrets: ['ending'], expiresAtMs: 1000 },
    { name: 'off', secrets: ['off'], isEnabled: false }
  ]
  const { clock, codeOf, keyRing } = await start(t, env, writeKeySet({ keys }))
  clock.nowMs = 1000
  t.equal(await codeOf(), '401 invalid_api_key')
  t.equal(await codeOf({ authorization: 'Bearer operator' }), 200)
  t.equal(await codeOf({}, '?key=operator'), 200)
  t.equal(await codeOf({ authorization: 'Bearer admin' }), 200)
  t.equal(await codeOf({ 'x-admin-api-key': 'admin' }), 200)
  t.equal(await codeOf({ 'x-api-key': 'admin' }), '401 invalid_api_key', 'the admin key has carriers of its own')
  t.equal(await codeOf({ 'x-api-key': 'client' }), '403 admin_key_required')
  t.equal(await codeOf({ 'x-api-key': 'named' }), '403 admin_key_required')
  t.equal(await codeOf({ 'x-api-key': 'ending' }), '401 key_expired')
  t.equal(await codeOf({ 'x-api-key': 'off' }), '401 key_disabled')
  keyRing.replace(writeKeySet({ keys: [] }))
  t.equal(await codeOf({ 'x-api-key': 'client' }), '401 invalid_api_key')
})

t.test(
  'keys 19: without a keys file any key of the settings reads the metrics, and none is needed where none is set',
  async t => {
    const { codeOf } = await start(t, {
      GATEWAY_MODE: 'PROD',
      GATEWAY_API_KEY: 'operator',
      GATEWAY_API_KEYS: '{"named":"n"}'
    })
    t.equal(await codeOf({ 'x-api-key': 'n' }), 200)
    t.equal(await codeOf({ 'x-api-key': 'x' }), '401 invalid_api_key')
    const open = await start(t, {})
    t.equal(await open.codeOf(), 200)
  }
)

t.test('the metrics port listens on its host, which is the loopback address by default', async t => {
  t.equal(parseSettings({}).metricsHost, '127.0.0.1')
  const { codeOf } = await start(t, { GATEWAY_METRICS_HOST: '127.0.0.2' })
  t.equal(await codeOf(), 200)
})

t.test('decisions.md 101: without keys the name of another machine reads no metrics', async t => {
  const { port } = await start(t, { GATEWAY_ALLOWED_HOSTS: 'scraper.example' })
  const keyed = await start(t, { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'operator' })
  const ask = async (port: number, host: string, origin?: string) => {
    const headers = { host, 'x-api-key': 'operator', ...(origin === undefined ? {} : { origin }) }
    const outgoing = request({ port, host: '127.0.0.1', path: '/metrics', headers })
    outgoing.end()
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    response.resume()
    t.match(response.headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    return response.statusCode
  }
  for (const host of [`127.0.0.1:${port}`, 'localhost', 'scraper.example:9090'])
    t.equal(await ask(port, host), 200, host)
  for (const host of ['evil.example', `0.0.0.0:${port}`]) {
    t.equal(await ask(port, host), 421, host)
    t.equal(await ask(keyed.port, host), 200, host)
  }
  for (const origin of ['http://localhost:3000', 'http://scraper.example:9090'])
    t.equal(await ask(port, 'scraper.example:9090', origin), 200, origin)
  for (const origin of ['https://evil.example', 'null', 'http://scraper.example']) {
    t.equal(await ask(port, 'scraper.example:9090', origin), 403, origin)
    t.equal(await ask(keyed.port, 'localhost', origin), 200, origin)
  }
})

t.test('connections to the metrics port are bounded, so that the supervisor keeps its descriptors', async t => {
  const { port, codeOf } = await start(t, {})
  const idle = Array.from({ length: 80 }, () => connect(port, '127.0.0.1'))
  const closed: string[] = []
  for (const socket of idle) socket.on('error', () => undefined).on('close', () => closed.push('one'))
  t.teardown(() => {
    for (const socket of idle) socket.destroy()
  })
  await waitUntil(() => closed.length === 16, 'those beyond the bound are closed')
  const [first] = idle.filter(socket => !socket.closed)
  first?.destroy()
  await waitUntil(async () => (await codeOf().catch(() => undefined)) === 200, 'a scrape has its place')
})
