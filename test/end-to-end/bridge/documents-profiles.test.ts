// Model lists and machine documents of workers that run the profiles of a file (bridge.md 5.4, 5.7,
// 5.8 and 6.3).

import t, { type Test } from 'tap'
import { createInspectDocument } from '../../../shared/documents/inspect-document.ts'
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import { computeConfigRevision } from '../../../shared/profile/profile-revision.ts'
import { revisionOf } from '../../../shared/revision.ts'
import { Secret } from '../../../shared/secrets/secret.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { matrixRevision } from '../../../shared/support/support-matrix.ts'
import { get, type HttpResponse } from '../../support/client.ts'
import { emulatorVariables, startEmulator } from '../../support/in-process-gateway.ts'
import { aliasOf, BASE_FEATURES, dynamicProfile, edgeProfile, fileOf } from '../../support/profile-sets.ts'
import { received } from '../../support/upstream.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'

const MESSAGES = { 'anthropic-version': '2023-06-01' }
const CONTENT = { 'x-goog-api-client': 'gl-node/24' }

const limits = { contextWindow: 4096, maxInputTokens: 4000, maxOutputTokens: 96 }
const edge = edgeProfile([
  aliasOf('edge/mini', 'mini-7b', { features: BASE_FEATURES, limits }),
  aliasOf('edge/large', 'large-70b', { features: BASE_FEATURES, limits: { contextWindow: 8192 } }),
  aliasOf('edge/off', 'off-1b', { enabled: false })
])
const uncounted = edgeProfile([aliasOf('raw', 'raw-1b', { features: BASE_FEATURES, deprecated: true })], {
  profileId: 'edge-raw',
  tokenCounting: 'off'
})
const staticFile = fileOf([edge, uncounted])

/** Starts a worker whose native profile has the credential of the emulator. */
async function start(t: Test, profiles: ProfileSet, environment: Record<string, string> = {}) {
  const options = workerOptions(parseSettings(environment), profiles)
  const credentials = { 'native-main': new Secret(Buffer.from('client:secret').toString('base64')) }
  const { url } = await startWorker(t, { ...options, credentials })
  return { url, configRevision: options.revisions.config }
}

const idsOf = ({ json }: HttpResponse): string[] => json.data.map(({ id }: { id: string }) => id)

t.test('a file of static aliases lists them in each family, with what it declares about them', async t => {
  const { url } = await start(t, staticFile)
  const { json } = await get(`${url}/v1/models?refresh=1`)
  const created = json.data[0].created
  t.ok(Math.abs(created - Date.now() / 1000) < 600, 'created when the process started')
  const item = (id: string, extras: object, methods: string[] = ['countTokens']) => ({
    type: 'model',
    display_name: id,
    description: 'Model served by the gateway.',
    ...extras,
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', ...methods],
    id,
    object: 'model',
    created,
    owned_by: 'chat_compatible',
    metadata: { type: 'chat' }
  })
  t.same(json, {
    object: 'list',
    data: [
      item('edge/large', { input_token_limit: 8192 }),
      item('edge/mini', { input_token_limit: 4000, output_token_limit: 96 }),
      { ...item('raw', { input_token_limit: 4096 }, []), deprecated: true }
    ]
  })
  const messages = await get(`${url}/v1/models`, MESSAGES)
  t.match(messages.json, { has_more: false, first_id: 'edge/large', last_id: 'raw' })
  t.match(messages.json.data[1], {
    id: 'edge/mini',
    type: 'model',
    lifecycle: 'active',
    max_input_tokens: 4000,
    max_tokens: 96
  })
  t.match(messages.json.data[2], { id: 'raw', lifecycle: 'deprecated', max_tokens: null })
  const content = await get(`${url}/v1beta/models`)
  t.match(content.json.models[1], {
    name: 'models/edge/mini',
    inputTokenLimit: 4000,
    outputTokenLimit: 96,
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens']
  })
  t.same(content.json.models[2].supportedGenerationMethods, ['generateContent', 'streamGenerateContent'])
  t.notOk('outputTokenLimit' in content.json.models[2])
})

t.test('bridge 100: a model with a slash in its id can be retrieved, encoded or not, in each family', async t => {
  const profiles = fileOf([edgeProfile([aliasOf('bridge/a', 'a', { features: BASE_FEATURES })])])
  const { url } = await start(t, profiles)
  const plain = await get(`${url}/v1/models/bridge/a`)
  t.equal(plain.status, 200)
  t.match(plain.json, { id: 'bridge/a', object: 'model', owned_by: 'chat_compatible' })
  for (const id of ['bridge/a', 'bridge%2Fa', 'bridge%2fa']) {
    for (const prefix of ['', '/v1', '/v2']) {
      t.match((await get(`${url}${prefix}/models/${id}`)).json, { id: 'bridge/a', object: 'model' }, prefix + id)
      t.match((await get(`${url}${prefix}/models/${id}`, MESSAGES)).json, { id: 'bridge/a', type: 'model' })
      t.match((await get(`${url}${prefix}/models/${id}`, CONTENT)).json, { name: 'models/bridge/a' })
    }
    t.match((await get(`${url}/v1beta/models/${id}`)).json, { name: 'models/bridge/a', baseModelId: 'bridge/a' })
  }
  t.match((await get(`${url}/v1beta/models/models%2Fbridge%2Fa`)).json, { name: 'models/bridge/a' })
})

t.test('an unknown, a disabled and a differently spelled id are 404 in the form of each family', async t => {
  const { url } = await start(t, staticFile)
  for (const id of ['nope', 'edge/off', 'Edge/mini', 'edge']) {
    const path = `${url}/v1/models/${id}`
    const completions = await get(path)
    t.equal(completions.status, 404, id)
    t.match(completions.json, { error: { code: 'model_not_found', param: 'model' } })
    const messages = await get(path, MESSAGES)
    t.match([messages.status, messages.json], [404, { type: 'error', error: { type: 'not_found_error' } }])
    const content = await get(path, CONTENT)
    t.match([content.status, content.json], [404, { error: { code: 404, status: 'NOT_FOUND' } }])
  }
})

t.test('model info projects the same catalog', async t => {
  const { url } = await start(t, staticFile)
  const info = (id: string) => ({ model_name: id, litellm_params: { model: id }, model_info: { id } })
  for (const prefix of ['', '/v1', '/v2']) {
    const { json } = await get(`${url}${prefix}/model/info`)
    t.same(json, { data: ['edge/large', 'edge/mini', 'raw'].map(info) })
  }
  t.same((await get(`${url}/model/info?model=edge/mini`)).json, info('edge/mini'))
  t.equal((await get(`${url}/model/info?model=edge/off`)).status, 404)
})

t.test('the bridge document of a static file is the registry, fixed until the process restarts', async t => {
  const { url, configRevision } = await start(t, staticFile)
  const { json } = await get(`${url}/bridge/models`)
  t.match(json, {
    provider_profile_id: 'provider-registry',
    inventory_revision: configRevision,
    config_revision: configRevision,
    matrix_revision: matrixRevision,
    discovered_at: 'process-startup',
    expires_at: 'process-restart',
    stale: false
  })
  t.same(
    json.models,
    ['edge/large', 'edge/mini', 'raw'].map(id => ({
      id,
      provider_kind: 'chat_compatible',
      provider_profile_id: 'provider-registry',
      owned_by: 'chat_compatible',
      model_type: 'chat',
      available: true,
      deprecated: id === 'raw',
      stale: false,
      inventory_revision: configRevision
    }))
  )
  const ready = await get(`${url}/ready`)
  t.equal(ready.status, 200)
  t.equal(ready.json.model_catalog.inventory_revision, configRevision)
})

t.test('the effective capabilities of an external alias are those of its profile and its wire', async t => {
  const { url, configRevision } = await start(t, staticFile)
  const ask = (query: string) => get(`${url}/bridge/capabilities?protocol=anthropic_messages&${query}`)
  const { status, json } = await ask('model=edge/mini')
  t.equal(status, 200)
  t.match(json, {
    model: 'edge/mini',
    provider_kind: 'chat_compatible',
    provider_profile_id: 'edge-chat',
    public_protocol: 'anthropic_messages',
    api_mode: 'v1',
    inventory_revision: configRevision,
    config_revision: configRevision,
    matrix_revision: matrixRevision
  })
  t.match(json.capabilities.text_input, { state: 'supported', source: 'effective_intersection' })
  t.match(json.capabilities.function_tools, { state: 'unsupported', reason_id: 'profile_feature_absent' })
  t.match(json.capabilities.hosted_web_search, { state: 'unsupported', source: 'provider_adapter' })
  for (const [query, code] of [
    ['model=edge/off', 'alias_disabled'],
    ['model=Edge/mini', 'model_not_found']
  ]) {
    const refused = await ask(String(query))
    t.equal(refused.status, 404)
    t.match(refused.json.error, { code: 'unknown_model_alias', details: [{ reason_id: code }] })
  }
})

t.test('a mixed file lists its aliases behind the discovered models, and one revision covers both', async t => {
  const emulator = await startEmulator(t)
  const team = [aliasOf('team/large', 'GigaChat-2-Max', { supportStatus: 'stable' })]
  const profiles = fileOf([edge, dynamicProfile(emulator.baseUrl, team)])
  const { url, configRevision } = await start(t, profiles, emulatorVariables(emulator))
  const before = await get(`${url}/ready`)
  t.equal(before.status, 200, 'the edge does not wait for another upstream')
  t.match(before.json, { model_catalog: { state: 'stale' }, warnings: [{ reason_id: 'model_inventory_incomplete' }] })
  const list = await get(`${url}/v1/models`)
  const aliases = ['edge/large', 'edge/mini', 'team/large']
  t.same(idsOf(list).slice(-3), aliases)
  t.same(idsOf(list)[0], 'GigaChat')
  t.equal(received(emulator, '/models').length, 1)
  t.match((await get(`${url}/v1/models/team/large`)).json, {
    id: 'team/large',
    owned_by: 'salutedevices',
    metadata: { type: 'chat' }
  })
  t.notOk('display_name' in (await get(`${url}/v1/models/team/large`)).json, "the upstream's data, not the file's")
  const content = (await get(`${url}/v1beta/models?pageSize=1000`)).json.models.map(
    ({ name }: { name: string }) => name
  )
  t.same(
    content.slice(-3),
    aliases.map(id => `models/${id}`)
  )

  const { json } = await get(`${url}/bridge/models`)
  t.equal(json.provider_profile_id, 'provider-registry')
  const find = (id: string) => json.models.find((model: { id: string }) => model.id === id)
  t.match(find('edge/mini'), { provider_profile_id: 'edge-chat', provider_kind: 'chat_compatible' })
  t.match(find('team/large'), { provider_profile_id: 'native-main', provider_kind: 'native' })
  t.match(find('GigaChat-2'), { provider_profile_id: 'native-main', inventory_revision: json.inventory_revision })
  t.same(
    json.models.map(({ id }: { id: string }) => id),
    json.models.map(({ id }: { id: string }) => id).toSorted()
  )
  const alone = await start(t, fileOf([dynamicProfile(emulator.baseUrl)]), emulatorVariables(emulator))
  const { inventory_revision: native } = (await get(`${alone.url}/bridge/models`)).json
  t.equal(json.inventory_revision, revisionOf([native, configRevision], { keepNulls: true }))

  const ready = await get(`${url}/ready`)
  t.equal(ready.status, 200)
  t.match(ready.json.model_catalog, {
    provider_profile_id: 'provider-registry',
    inventory_revision: json.inventory_revision
  })
  const ask = async (model: string) =>
    (await get(`${url}/bridge/capabilities?model=${model}&protocol=openai_responses&api_mode=v2`)).json
  t.match(await ask('team/large'), {
    model: 'team/large',
    provider_profile_id: 'native-main',
    inventory_revision: json.inventory_revision,
    capabilities: { hosted_web_search: { state: 'supported' } }
  })
  t.match(await ask('edge/mini'), { provider_profile_id: 'edge-chat', inventory_revision: configRevision })
})

t.test('a client cannot bring its own credential to the list of a file', async t => {
  const emulator = await startEmulator(t)
  const variables = { ...emulatorVariables(emulator), GATEWAY_PASS_TOKEN: 'true' }
  const { url } = await start(t, fileOf([dynamicProfile(emulator.baseUrl)]), variables)
  const own = await get(`${url}/v1/models`)
  t.equal(own.status, 200)
  const calls = received(emulator, '/models').length
  const other = Buffer.from('other:1').toString('base64')
  const brought = await get(`${url}/v1/models`, { authorization: `Bearer upstream-cred-${other}` })
  t.same(brought.json, own.json)
  t.equal(received(emulator, '/models').length, calls)
})

t.test('an edited profile file changes the revisions that depend on it, and only those', async t => {
  const read = async (profiles: ProfileSet) => {
    const { url } = await start(t, profiles)
    const {
      config_revision: config,
      matrix_revision: matrix,
      inventory_revision: inventory
    } = (await get(`${url}/bridge/models`)).json
    const { json } = await get(`${url}/bridge/capabilities?model=edge/mini&protocol=openai_responses`)
    t.equal(createInspectDocument(profiles, { matrix }).config_revision, config, 'as in the preflight')
    t.equal(computeConfigRevision(profiles), config)
    return { config, matrix, inventory, capability: json.capability_revision }
  }
  const before = await read(staticFile)
  const editAlias = (changes: object) => {
    const models = edge.models.map(alias => (alias.publicAlias === 'edge/mini' ? { ...alias, ...changes } : alias))
    return fileOf([{ ...edge, models }, uncounted])
  }
  const deprecated = await read(editAlias({ deprecated: true }))
  t.not(deprecated.config, before.config)
  t.not(deprecated.inventory, before.inventory)
  t.equal(deprecated.matrix, before.matrix)
  t.equal(deprecated.capability, before.capability, 'neither routes nor features changed')
  const features = { features: [...BASE_FEATURES, 'image_references'], limits }
  const seeing = await read(editAlias({ capabilities: features }))
  t.not(seeing.config, before.config)
  t.equal(seeing.matrix, before.matrix)
  t.not(seeing.capability, before.capability)
})
