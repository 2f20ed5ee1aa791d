// Who may use the admin API, and what it says where it has nothing to ask (operations.md 4.2 and
// 9).

import t from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { readVersion } from '../../../shared/version.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { ADMIN_KEY, createCalls, error, startAdminGateway, UNKNOWN_ID } from './support.ts'

const PATHS = [
  '',
  '/tail',
  '/export.ndjson',
  '/export.csv',
  '/sums',
  '/latencies',
  `/${UNKNOWN_ID}`,
  `/${UNKNOWN_ID}/request`
]
const CHANGING = ['/retention/purge', `/${UNKNOWN_ID}/replay`, `/${UNKNOWN_ID}/redact`]
const ROUTES = [...PATHS.map(path => [path, 'GET'] as const), ...CHANGING.map(path => [path, 'POST'] as const)]

const emulator = await startEmulator(t)
/** The admin API without a store. */
const on = { ...emulatorVariables(emulator), GATEWAY_ADMIN_API_ENABLED: 'true', GATEWAY_ADMIN_API_KEY: ADMIN_KEY }
const storeless = await startGateway(t, { env: on })

t.test('operations 81: the admin routes exist where they are on, and take only the admin key', async t => {
  const off = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_ADMIN_API_KEY: ADMIN_KEY } })
  const { logs: ofOff } = createCalls(off)
  for (const [path, method] of ROUTES) {
    const { status, json } = await ofOff(path, { method, headers: { 'x-admin-api-key': ADMIN_KEY } })
    t.equal(status, 404, path)
    t.same(json, error('not_found', 'Not Found'), path)
  }
  const unkeyed = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_ADMIN_API_ENABLED: 'true' } })
  for (const [path, method] of ROUTES) {
    const refused = await createCalls(unkeyed).logs(path, { method, headers: { 'x-admin-api-key': ADMIN_KEY } })
    t.equal(refused.status, 403, path)
    t.same(refused.json, error('admin_key_required', 'Admin API key is required'), path)
  }

  const { logs } = await startAdminGateway(t, { env: { GATEWAY_API_KEY: 'k1', GATEWAY_ENABLE_API_KEY_AUTH: 'true' } })
  for (const [path, method] of ROUTES) {
    for (const headers of [
      {},
      { 'x-admin-api-key': 'wrong' },
      { 'x-api-key': 'k1' },
      { 'x-api-key': ADMIN_KEY },
      { authorization: 'Bearer k1' }
    ] as Array<Record<string, string>>) {
      const { status, json, headers: sent } = await logs(path, { method, headers })
      t.equal(status, 403, path)
      t.same(json, error('invalid_admin_key', 'Invalid admin API key'), path)
      t.equal(sent.get('cache-control'), 'no-store')
    }
  }
  t.equal((await logs(`?x-admin-api-key=${ADMIN_KEY}`, { headers: {} })).status, 403, 'never in the query')
  t.equal((await logs('?limit=0', { headers: {} })).status, 403, 'the key is checked before the query')
  t.equal((await logs('', { headers: { authorization: `Bearer ${ADMIN_KEY}` } })).status, 200)
  t.equal((await logs('', { headers: { 'x-admin-api-key': ' ', authorization: `Bearer ${ADMIN_KEY}` } })).status, 200)
})

t.test('operations 82, 110: without a store, and while it is down, every route that touches data says so', async t => {
  const routes = [...PATHS.map(path => [path, 'GET'] as const), ['/retention/purge', 'POST'] as const]
  const jsonl = { GATEWAY_TRAFFIC_LOG_ENABLED: 'true', GATEWAY_TRAFFIC_LOG_SINK: 'jsonl' }
  const recording = await startGateway(t, { env: { ...on, ...jsonl } })
  for (const [gateway, isEnabled] of [
    [storeless, false],
    [recording, true]
  ] as const) {
    const { logs } = createCalls(gateway)
    for (const [path, method] of [...routes, [`/${UNKNOWN_ID}/redact`, 'POST'] as const]) {
      const { status, json } = await logs(path, { method, headers: { 'x-admin-api-key': ADMIN_KEY } })
      t.equal(status, 503, path)
      t.same(json, error('query_store_not_configured', 'Traffic log query store is not configured'), path)
    }
    const stream = await logs('/tail', { headers: { 'x-admin-api-key': ADMIN_KEY, accept: 'text/event-stream' } })
    t.equal(stream.status, 503)
    t.match((await logs('/health')).json, {
      query_store: null,
      enabled: isEnabled,
      store: null,
      responses_stored: false,
      version: readVersion()
    })
    t.equal((await logs('/not-a-uuid')).status, 400, 'the id is looked at first')
    t.equal((await logs('?limit=0')).status, 422, 'and so is the query')
  }

  const down = await startAdminGateway(t, {
    env: {
      GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
      GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: `postgres://u:hunter2@127.0.0.1:${await findFreePort()}/db`
    }
  })
  for (const [path, method] of routes) {
    const { status, json } = await down.logs(path, { method, headers: { 'x-admin-api-key': ADMIN_KEY } })
    t.equal(status, 503, path)
    t.same(json, error('query_store_unavailable', 'Traffic log query store is unavailable'), path)
  }
  t.match((await down.logs('/health')).json, { query_store: 'postgres', writer: 'connected', store: null })
  t.equal(await down.gateway.stop(), 0)
  const log = JSON.stringify(readLog(down.gateway))
  t.match(log, /"GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN":"\*\*\*"/)
  t.match(log, /"event":"traffic_sink_unavailable"/)
  t.notMatch(log, 'hunter2')
})

t.test('operations 23: the paths of the admin API are never repaired into those of a family', async t => {
  const { logs, call } = createCalls(storeless)
  const { status, json } = await logs('/models')
  t.equal(status, 400)
  t.same(json, error('invalid_log_id', 'Invalid traffic log id'))
  t.equal((await call('/_admin/logs/')).status, 404)
  t.equal((await call('/_admin/v1/models')).status, 404)
})
