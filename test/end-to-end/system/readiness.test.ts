// Readiness and the model catalog of a native gateway, as load balancers and clients see them
// (bridge.md 5.3 and 6.1).

import t from 'tap'
import { createEmulator } from '../../../ops/emulator/server.ts'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { get, type HttpResponse } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { askIn, families, readError } from './support.ts'

const idsOf = (response: HttpResponse): string[] => response.json.data.map(({ id }: { id: string }) => id)

/** Sends a request over a new connection, so that any worker may serve it. */
const getAnywhere = (url: string, headers: Record<string, string> = {}) => get(url, { connection: 'close', ...headers })

t.test('bridge 54: concurrent list requests with an empty catalog wait for the one running discovery', async t => {
  const emulator = await startEmulator(t)
  // Long enough that the requests arrive before the response to the discovery of the start.
  const list = { object: 'list', data: [{ id: 'only', object: 'model', type: 'chat' }] }
  emulator.respondNext({ path: '/models', delayMs: 1_000, body: list })
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: '3' } })
  const responses = await Promise.all(Array.from({ length: 16 }, () => getAnywhere(`${gateway.url}/models`)))
  for (const response of responses) t.strictSame(idsOf(response), ['only'])
  t.equal(emulator.requests.filter(({ path }) => path.endsWith('/models')).length, 1)
})

t.test('bridge 51, 54: a gateway becomes ready without a request, and lists its models from one discovery', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: '3' } })
  await waitUntil(async () => (await getAnywhere(`${gateway.url}/ready`)).status === 200, 'it is ready', 10_000)
  const { json } = await get(`${gateway.url}/ready`)
  t.match(json, {
    schema_version: 'gateway.readiness.v1',
    ready: true,
    process_alive: true,
    provider_routes_configured: true,
    provider_adapters_ready: true,
    model_catalog: {
      state: 'fresh',
      usable: true,
      discovery_available: true,
      provider_profile_id: 'native-upstream',
      inventory_revision: /^sha256:[0-9a-f]{64}$/
    },
    config_revision: /^sha256:[0-9a-f]{64}$/,
    matrix_revision: /^sha256:[0-9a-f]{64}$/,
    reasons: [],
    warnings: []
  })
  const responses = await Promise.all(
    Array.from({ length: 16 }, (_, index) =>
      getAnywhere(`${gateway.url}${['/models', '/v1/models', '/v2/models'][index % 3]}`)
    )
  )
  for (const response of responses) t.strictSame(idsOf(response), idsOf(responses[0] as HttpResponse))
  t.equal(emulator.requests.filter(({ path }) => path.endsWith('/models')).length, 1)
  const revisions = await Promise.all(Array.from({ length: 12 }, () => getAnywhere(`${gateway.url}/ready`)))
  t.equal(new Set(revisions.map(response => response.json.model_catalog.inventory_revision)).size, 1)
  const calls = () => emulator.requests.filter(({ path }) => path.endsWith('/models')).length
  await get(`${gateway.url}/ready`)
  t.equal(calls(), 1, 'readiness makes no upstream call')
})

t.test('a gateway without an upstream starts unready, and becomes ready when the upstream starts', async t => {
  const port = await findFreePort()
  const reserved = await createEmulator({ port })
  await reserved.close()
  const gateway = await startGateway(t, { env: { ...emulatorVariables(reserved), UPSTREAM_TIMEOUT: '2' } })
  let unready = await get(`${gateway.url}/ready`)
  await waitUntil(async () => {
    unready = await get(`${gateway.url}/ready`)
    return !JSON.stringify(unready.json.reasons).includes('provider_clients_not_ready')
  }, 'the first discovery has failed')
  t.equal(unready.status, 503)
  t.match(unready.json, {
    ready: false,
    model_catalog: { state: 'unavailable', usable: false, provider_profile_id: null, inventory_revision: null },
    reasons: [{ reason_id: 'model_inventory_unavailable' }]
  })
  t.equal((await get(`${gateway.url}/health`)).status, 200)
  for (const [family, headers] of [
    ['completions', {}],
    ['messages', { 'anthropic-version': '2023-06-01' }],
    ['content', { 'x-goog-api-client': 'x' }]
  ] as const) {
    const response = await get(`${gateway.url}/v1/models`, headers)
    t.equal(response.status, 502, family)
    readError(family, response)
    t.notMatch(response.text, /127\.0\.0\.1|"data"/, family)
  }
  for (const family of families) t.equal((await askIn(gateway, family, 'hi')).status, 502, family)
  const emulator = await startEmulator(t, { port })
  await waitUntil(async () => (await get(`${gateway.url}/ready`)).status === 200, 'the warm-up succeeded', 40_000)
  t.ok(emulator.requests.some(({ path }) => path.endsWith('/models')))
  t.equal((await askIn(gateway, 'completions', 'hi')).status, 200)
})

t.test('the headers of each SDK select the form of the shared list', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
  for (const path of ['/models', '/v1/models', '/v2/models']) {
    for (const [headers, form] of [
      [{}, { object: 'list', data: [{ object: 'model' }] }],
      [{ 'anthropic-version': '2023-06-01' }, { data: [{ type: 'model' }], has_more: Boolean }],
      [{ 'user-agent': 'Anthropic/JS 1.0' }, { data: [{ type: 'model' }] }],
      [{ 'x-goog-api-client': 'gl-node/24' }, { models: [{ name: /^models\// }] }],
      [{ 'user-agent': 'google-genai-sdk/1' }, { models: [{ name: /^models\// }] }],
      [{ 'anthropic-beta': 'x', 'x-goog-api-client': 'y' }, { data: [{ type: 'model' }] }]
    ] as const) {
      t.match((await get(gateway.url + path, headers)).json, form, `${path} ${JSON.stringify(headers)}`)
    }
    t.match((await get(`${gateway.url}${path}?key=k`)).json, { models: [{ name: /^models\// }] })
  }
})
