// The machine documents of a gateway without a profile file, as a supervisor reads them
// (bridge.md 5.3 to 5.6).

import { mock } from 'node:test'
import t from 'tap'
import { createEmulator } from '../../../ops/emulator/server.ts'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { NATIVE_PROFILE_ID } from '../../../shared/profile/native-profile.ts'
import { revisionOf } from '../../../shared/revision.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { computeMatrixRevision } from '../../../shared/support/support-matrix.ts'
import { PROVIDER_KINDS, publicProtocols, semanticNames } from '../../../shared/support/support-vocabulary.ts'
import { referenceMatrix } from '../../shared/fixtures/reference-matrix.ts'
import { get } from '../../support/client.ts'
import { startDraining } from '../../support/drain.ts'
import { startGateway as startProcesses } from '../../support/gateway.ts'
import {
  emulatorVariables,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { received } from '../../support/upstream.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'

const { gateway, emulator } = await startSharedGateway()
const { url } = gateway
const max = 'GigaChat-2-Max'

/** For the cases that change the list of models; each asks for a fresh one first. */
const changing = await startChanging()

async function startChanging() {
  const own = await startEmulator(t)
  const { url } = await startGateway(t, { env: emulatorVariables(own) })
  return { own, url }
}

/** The document of effective capabilities for Responses. */
const askCapabilities = (model: string, apiMode: string, { url }: Pick<ServingGateway, 'url'> = gateway) =>
  get(`${url}/bridge/capabilities?model=${model}&protocol=openai_responses&api_mode=${apiMode}`)

/** The error document with this code and reason, and nothing beside it. */
const errorDocument = (code: string, reason: string) => ({
  schema_version: 'gateway.error.v1',
  error: { code, message: String, details: [{ reason_id: reason }] }
})

t.test('bridge 58: the support matrix has every cell and row in order, and its revision', async t => {
  await waitUntil(async () => (await get(`${url}/ready`)).status === 200, 'the gateway is ready')
  const { status, json } = await get(`${url}/bridge/capabilities?ignored=1`)
  t.equal(status, 200)
  t.equal(json.schema_version, 'gateway.route-support-matrix.v1')
  const routes = json.cells.map((cell: Record<string, string>) => [cell.public_protocol, cell.upstream_provider])
  t.same(
    routes,
    publicProtocols.flatMap(protocol => PROVIDER_KINDS.map(kind => [protocol, kind]))
  )
  t.same(PROVIDER_KINDS, ['chat_compatible', 'content_compatible', 'messages_compatible', 'native'])
  t.equal(routes.length, 16)
  for (const { status, semantics } of json.cells) {
    t.same(
      semantics.map((row: { semantic: string }) => row.semantic),
      semanticNames
    )
    t.equal(semantics.length, 21)
    // This build executes every kind from every client protocol.
    t.ok(semantics.some((row: { disposition: string }) => row.disposition === 'exact'))
    const isLost = semantics.some((row: { reason_id: string }) => row.reason_id === 'semantic_not_proven')
    t.equal(status, isLost ? 'technical_preview' : 'stable')
  }
  const content = { schema_version: 'gateway.bridge-loss-matrix.v1', cells: json.cells }
  t.equal(json.matrix_revision, revisionOf(content, { keepNulls: true }))
  t.equal(
    computeMatrixRevision(referenceMatrix),
    'sha256:c747dcceb51909ee3c8397c8ca09ce2c02b0ccdd39062a30506cd1c7394c276c'
  )
})

t.test('bridge 59: a capability query without a protocol is incomplete', async t => {
  const { status, json } = await get(`${url}/bridge/capabilities?model=${max}`)
  t.equal(status, 400)
  t.match(json, errorDocument('invalid_request', 'incomplete_capability_query'))
  t.same(Object.keys(json), ['schema_version', 'error'])
})

t.test('bridge 60: a capability query for an unknown model is 404', async t => {
  const { status, json } = await askCapabilities('nope', 'v2')
  t.equal(status, 404)
  t.match(json, errorDocument('unknown_model_alias', 'model_not_found'))
})

t.test('bridge 61: a capability query for an unknown protocol is 400', async t => {
  const { status, json } = await get(`${url}/bridge/capabilities?model=${max}&protocol=x&api_mode=v2`)
  t.equal(status, 400)
  t.match(json, errorDocument('invalid_request', 'unknown_public_protocol'))
})

t.test('bridge 62: the largest model on v2 supports hosted tools, parallel calls and state', async t => {
  const { status, json } = await askCapabilities(max, 'v2')
  t.equal(status, 200)
  t.strictSame(Object.keys(json.capabilities), [
    ...['cancellation', 'conversation_state', 'disconnect', 'file_input', 'function_tools', 'hosted_3d_generation'],
    ...['hosted_code_interpreter', 'hosted_image_generation', 'hosted_url_extraction', 'hosted_web_search'],
    ...['image_input', 'json_schema_output', 'parallel_tool_calls', 'previous_response_state', 'reasoning_controls'],
    ...['reasoning_summary', 'streaming', 'text_input', 'usage_tokens']
  ])
  for (const name of ['hosted_web_search', 'parallel_tool_calls', 'previous_response_state']) {
    t.match(json.capabilities[name], { state: 'supported', reason_id: 'all_layers_supported' }, name)
  }
  t.match(json, {
    schema_version: 'gateway.effective-capabilities.v1',
    model: max,
    provider_kind: 'native',
    provider_profile_id: NATIVE_PROFILE_ID,
    public_protocol: 'openai_responses',
    api_mode: 'v2'
  })
})

t.test('bridge 63: hosted tools are unsupported on v1', async t => {
  const { json } = await askCapabilities(max, 'v1')
  t.match(json.capabilities.hosted_web_search, { state: 'unsupported', source: 'api_mode' })
  const { json: defaulted } = await get(`${url}/bridge/capabilities?model=${max}&protocol=openai_responses`)
  t.same(defaulted, json, 'v1 is the mode of unprefixed routes')
})

t.test('bridge 64: an unreviewed model is unknown', async t => {
  const { json } = await askCapabilities('GigaChat-3-Ultra', 'v2')
  t.match(json.capabilities.text_input, { state: 'unknown', reason_id: 'unreviewed_model_capability' })
})

t.test('all documents of one gateway carry the same revisions, whichever worker responds', async t => {
  const several = await startProcesses(t, { env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: '3' } })
  await waitUntil(async () => {
    const asked = Array.from({ length: 24 }, () => get(`${several.url}/ready`, { connection: 'close' }))
    return (await Promise.all(asked)).every(({ status }) => status === 200)
  }, 'the catalog of every worker is filled')
  const paths = [
    '/ready',
    '/bridge/models',
    '/bridge/capabilities',
    `/bridge/capabilities?model=${max}&protocol=openai_responses`
  ]
  const documents = await Promise.all(
    Array.from({ length: 24 }, async (_, index) => {
      const { json } = await get(several.url + paths[index % paths.length], { connection: 'close' })
      return json
    })
  )
  for (const name of ['config_revision', 'matrix_revision']) {
    t.equal(new Set(documents.map(document => document[name])).size, 1, name)
  }
  const inventories = documents.map(
    document => document.model_catalog?.inventory_revision ?? document.inventory_revision
  )
  t.equal(new Set(inventories.filter(revision => revision !== undefined)).size, 1)
  const inspected = documents.find(document => document.schema_version === 'gateway.bridge-models.v3')
  t.match(inspected, { source: 'shared_model_catalog', provider_profile_id: NATIVE_PROFILE_ID, stale: false })
  t.match(
    inspected.models.find(({ id }: { id: string }) => id === 'Embeddings'),
    { provider_kind: 'native', owned_by: 'salutedevices', model_type: 'embedder', available: true }
  )
})

t.test('the documents are served below a prefix, with HEAD, and with no other method', async t => {
  for (const path of ['/bridge/models', '/bridge/capabilities']) {
    const plain = await get(url + path)
    t.same((await get(`${url}/some/proxy${path}`)).json, plain.json)
    const head = await fetch(url + path, { method: 'HEAD' })
    t.equal(head.status, 200)
    t.equal(head.headers.get('content-length'), String(Buffer.byteLength(plain.text)))
    t.equal(await head.text(), '')
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const refused = await fetch(url + path, { method })
      t.equal(refused.status, 405, `${method} ${path}`)
      t.equal(refused.headers.get('allow'), 'GET')
      t.match(await refused.json(), {
        schema_version: 'gateway.error.v1',
        error: { code: 'method_not_allowed', details: [] }
      })
    }
    t.equal((await get(`${url}/v1${path}`)).status, 404)
    t.equal((await get(`${url}${path}/`)).status, 404)
  }
  t.equal((await get(`${url}/bridge/other`)).json.schema_version, 'gateway.error.v1')
})

t.test('bridge 65: with authentication on the machine documents stay open and the models do not', async t => {
  const env = { ...emulatorVariables(emulator), GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'key' }
  const closed = await startGateway(t, { env })
  await waitUntil(async () => (await get(`${closed.url}/ready`)).status === 200, 'it is ready without a key')
  const capabilities = `/bridge/capabilities?model=${max}&protocol=openai_responses&api_mode=v2`
  for (const path of ['/ready', '/bridge/models', '/bridge/capabilities', capabilities, '/health']) {
    t.equal((await get(closed.url + path)).status, 200, path)
  }
  t.equal((await get(`${closed.url}/v1/models`)).status, 401)
})

t.test('bridge 52: without an upstream the model document is a 503 that shows no address', async t => {
  const reserved = await createEmulator({ port: await findFreePort() })
  await reserved.close()
  const alone = await startGateway(t, { env: { ...emulatorVariables(reserved), UPSTREAM_TIMEOUT: '2' } })
  const { status, json, text, headers } = await get(`${alone.url}/bridge/models`)
  t.equal(status, 503)
  t.equal(headers.get('retry-after'), '1')
  t.same(json, {
    schema_version: 'gateway.error.v1',
    error: {
      code: 'gateway_not_ready',
      message: 'Gateway routes are not ready.',
      details: [{ reason_id: 'model_catalog_unavailable' }]
    }
  })
  t.notMatch(text, /127\.0\.0\.1|http/)
  t.equal((await get(`${alone.url}/health`)).status, 200)
  const capabilities = await askCapabilities(max, 'v2', alone)
  t.equal(capabilities.status, 503)
  t.match(capabilities.json, errorDocument('gateway_not_ready', 'effective_capabilities_unavailable'))
  const whole = await get(`${alone.url}/bridge/capabilities`)
  t.equal(whole.status, 503, 'nothing is planned by the matrix of a gateway that is not ready')
  t.match(whole.json, errorDocument('gateway_not_ready', 'model_inventory_unavailable'))
})

t.test('bridge 53: a stale list is served and shown as stale', async t => {
  const own = await startEmulator(t)
  const two = await startProcesses(t, { env: { ...emulatorVariables(own), GATEWAY_WORKERS: '2' } })
  const first = await get(`${two.url}/models`)
  const filled = (await get(`${two.url}/bridge/models`)).json
  t.equal(filled.stale, false)
  await own.close()
  const refreshed = await get(`${two.url}/models?refresh=1`)
  t.equal(refreshed.status, 200)
  t.same(refreshed.json, first.json)
  await waitUntil(async () => {
    const states = await Promise.all(
      Array.from({ length: 8 }, async () => (await get(`${two.url}/ready`, { connection: 'close' })).json)
    )
    return states.every(({ model_catalog: catalog }) => catalog.state === 'stale')
  }, 'every worker has the stale list')
  const ready = await get(`${two.url}/ready`)
  t.equal(ready.status, 200)
  t.same(ready.json.warnings, [{ reason_id: 'model_inventory_stale_but_usable' }])
  const { status, json } = await get(`${two.url}/bridge/models`)
  t.equal(status, 200)
  t.match(json, { stale: true, inventory_revision: filled.inventory_revision })
  t.ok(json.models.every(({ stale }: { stale: boolean }) => stale))
  t.equal((await askCapabilities(max, 'v2', two)).json.inventory_revision, filled.inventory_revision)
})

t.test('bridge 55: a list is fresh for thirty seconds and not longer', async t => {
  const own = await startEmulator(t)
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
  t.teardown(() => mock.timers.reset())
  const { url: worker } = await startWorker(t, workerOptions(parseSettings(emulatorVariables(own))))
  const calls = () => received(own, '/models').length
  const paths = ['/models', '/bridge/models']
  t.equal((await get(`${worker}/models`)).status, 200)
  t.equal(calls(), 1)
  mock.timers.tick(29_900)
  for (const path of paths) await get(worker + path)
  t.equal(calls(), 1)
  mock.timers.tick(100)
  for (const path of paths) await get(worker + path)
  t.equal(calls(), 2)
})

t.test('bridge 57: an oversized list is refused, and of equal ids the first is kept', async t => {
  const { own, url } = changing
  const show = async () => (await get(`${url}/bridge/models`)).json
  const respond = (data: object[]) => own.respondNext({ path: '/models', body: { object: 'list', data } })
  await get(`${url}/models?refresh=1`)
  const before = await show()
  respond(Array.from({ length: 1025 }, (_, index) => ({ id: `model-${index}`, object: 'model' })))
  await get(`${url}/models?refresh=1`)
  t.match(await show(), { stale: true, inventory_revision: before.inventory_revision })
  respond([
    { id: 'twice', type: 'first' },
    { id: 'once', type: 'chat' },
    { id: 'twice', type: 'second' }
  ])
  await get(`${url}/models?refresh=1`)
  t.same(
    (await show()).models.map(({ id, model_type: type }: Record<string, string>) => [id, type]),
    [
      ['once', 'chat'],
      ['twice', 'first']
    ]
  )
})

t.test('while the gateway drains its documents say so', async t => {
  const started = await startProcesses(t, { env: emulatorVariables(emulator) })
  const draining = await startDraining(t, started)
  for (const path of [
    '/bridge/models',
    '/bridge/capabilities',
    `/bridge/capabilities?model=${max}&protocol=openai_responses`
  ]) {
    const { status, json, headers } = await get(draining.url + path)
    t.equal(status, 503, path)
    t.equal(headers.get('retry-after'), '1')
    t.match(json, errorDocument('gateway_not_ready', 'gateway_shutting_down'))
  }
})

t.test('the inventory revision changes with the upstream and the other revisions do not', async t => {
  const { own, url } = changing
  await get(`${url}/models?refresh=1`)
  const read = async () => {
    const { config_revision: config, matrix_revision: matrix } = (await get(`${url}/bridge/models`)).json
    const { inventory_revision: inventory, capability_revision: capability } = (
      await askCapabilities(max, 'v2', { url })
    ).json
    return { config, matrix, inventory, capability }
  }
  const before = await read()
  own.respondNext({ path: '/models', body: { object: 'list', data: [{ id: max, type: 'chat', context: 1 }] } })
  await get(`${url}/models?refresh=1`)
  const after = await read()
  t.not(after.inventory, before.inventory)
  t.same({ ...after, inventory: '' }, { ...before, inventory: '' })
})
