// The states of inventories: fresh, stale and absent ones, several profiles beside the native upstream,
// lists of hostile providers, and what documents, records and metrics say (providers.md 3, case 14).

import t from 'tap'
import { get, post } from '../../support/client.ts'
import { startEmulator } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import {
  anthropicBaseUrl,
  startProfileGateway,
  writeChatProfile,
  writeNativeProfile
} from '../../support/profile-gateway.ts'
import { ADMIN_KEY, debugVariables } from '../debug/support.ts'
import { askIn } from '../system/support.ts'
import { listOf, startProvider, writeDiscovered } from './listing-provider.ts'

const ask = (url: string, model: string, more: object = {}) =>
  askIn({ url }, 'completions', 'hi', { model, more, headers: { connection: 'close' } })
const idsOf = async (url: string, query = '') =>
  (await get(`${url}/v1/models${query}`)).json.data.map(({ id }: { id: string }) => id)
const catalogOf = async (url: string) => (await get(`${url}/ready`)).json

t.test(
  'providers 14: a model that the fresh list lacks is 404; while the list is stale or absent the provider decides',
  async t => {
    const { state, baseUrl } = await startProvider(t, listOf('one'))
    state.status = 503
    const { url } = await startProfileGateway(t, { profiles: [writeDiscovered({ id: 'local', baseUrl })] })
    await waitUntil(() => state.lists > 0, 'the list was asked for')
    t.match(await catalogOf(url), { ready: true, warnings: [{ reason_id: 'model_inventory_incomplete' }] })
    t.same(await idsOf(url), [])
    t.equal((await ask(url, 'local/any')).status, 200, 'absent: sent')
    const capabilities = (model: string) =>
      get(`${url}/bridge/capabilities?protocol=openai_chat_completions&model=${encodeURIComponent(model)}`)
    t.equal((await capabilities('local/any')).status, 200)
    t.equal(state.chats.at(-1)?.model, 'any')

    state.status = 200
    t.same(await idsOf(url, '?refresh=1'), ['local/one'])
    t.match(await catalogOf(url), { ready: true, warnings: [], model_catalog: { state: 'fresh' } })
    const sent = state.chats.length
    const refused = await ask(url, 'local/any')
    t.match(refused, { status: 404, json: { error: { code: 'unknown_model_alias', param: 'model' } } })
    t.equal(state.chats.length, sent)
    t.equal((await capabilities('local/any')).status, 404)
    t.equal((await ask(url, 'local/one')).json.model, 'local/one')

    const { json: fresh } = await get(`${url}/bridge/models`)
    state.status = 500
    t.same(await idsOf(url, '?refresh=1'), ['local/one'], 'the earlier list is shown')
    t.match(await catalogOf(url), { ready: true, warnings: [{ reason_id: 'model_inventory_stale_but_usable' }] })
    const { json: stale } = await get(`${url}/bridge/models`)
    t.match(stale, { stale: true, inventory_revision: fresh.inventory_revision, models: [{ stale: true }] })
    t.equal((await ask(url, 'local/any')).status, 200, 'stale: sent')

    state.status = 200
    state.models = listOf('one', 'two')
    t.same(await idsOf(url, '?refresh=true'), ['local/one', 'local/two'])
    const { json: grown } = await get(`${url}/bridge/models`)
    t.not(grown.inventory_revision, fresh.inventory_revision)
    t.equal(grown.config_revision, fresh.config_revision)
  }
)

t.test(
  'providers 14: two dynamic profiles stand beside the native upstream, and one that is down hides nothing else',
  async t => {
    const emulator = await startEmulator(t)
    const one = await startProvider(t, listOf('a', 'b'))
    const dead = await startProvider(t, 'no list')
    const profiles = [
      writeNativeProfile({ id: 'native-main', emulator, credentialEnv: 'NATIVE_KEY', isDynamic: true }),
      writeDiscovered({ id: 'one', baseUrl: one.baseUrl }),
      writeDiscovered({
        id: 'two',
        baseUrl: anthropicBaseUrl(emulator, 'two'),
        kind: 'messages_compatible',
        prefix: 'two:'
      }),
      writeDiscovered({ id: 'dead', baseUrl: dead.baseUrl }),
      writeChatProfile({
        id: 'edge',
        baseUrl: one.baseUrl,
        aliases: [
          { alias: 'one/b', model: 'declared' },
          { alias: 'one/off', more: { enabled: false } }
        ]
      })
    ]
    const env = {
      NATIVE_KEY: Buffer.from('a:b').toString('base64'),
      UPSTREAM_AUTH_URL: emulator.authUrl,
      GATEWAY_METRICS_ENABLED: 'true',
      GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ 'one/a': 3 }),
      ...debugVariables
    }
    const { url } = await startProfileGateway(t, { profiles, env })
    const known = async () => (await idsOf(url)).length
    await waitUntil(async () => (await known()) >= 20 + 4, 'the lists are there')
    const ids = await idsOf(url)
    t.ok(ids.includes('GigaChat-2-Max'))
    t.same(ids.slice(-4), ['one/a', 'one/b', 'two:emulator-large', 'two:emulator-small'])
    t.match(await catalogOf(url), { ready: true, warnings: [{ reason_id: 'model_inventory_incomplete' }] })
    const { models } = (await get(`${url}/bridge/models`)).json
    const find = (id: string) => models.find((model: { id: string }) => model.id === id)
    t.match(find('one/a'), { provider_profile_id: 'one', owned_by: 'chat_compatible', stale: false })
    t.match(find('one/b'), { provider_profile_id: 'edge' })

    t.equal((await ask(url, 'GigaChat-2-Max')).status, 200)
    t.equal((await ask(url, 'two:emulator-small')).status, 200)
    t.equal((await ask(url, 'one/a')).status, 200)
    t.equal(one.state.chats.at(-1)?.model, 'a')
    t.equal((await ask(url, 'one/b')).status, 200)
    t.equal(one.state.chats.at(-1)?.model, 'declared')
    t.equal((await ask(url, 'dead/x')).status, 200, 'its list is absent')
    for (const model of ['one/off', 'one/no', 'two:', 'two:no', 'no-such-model']) {
      t.equal((await ask(url, model)).status, 404, model)
    }

    const body = { model: 'one/a', messages: [{ role: 'user', content: 'hi' }], seed: 7 }
    const explained = await post(`${url}/_debug/explain/openai`, body, { 'x-admin-api-key': ADMIN_KEY })
    t.match(explained.json, { route: { profile_id: 'one', upstream_model: 'a' } })
    const { text } = await get(`${url}/metrics`)
    t.match(text, /gateway_model_concurrency_limit\{[^}]*model="one\/a"[^}]*\} 3/)
    t.notMatch(text, 'dead/x', 'a name that no list has is no label')
  }
)

t.test('providers 14: a body that is translated in a thread has the facts of its model', async t => {
  const data = [
    { id: 'small', max_model_len: 8192 },
    { id: 'blind', max_model_len: 131_072, architecture: { input_modalities: ['text'] } }
  ]
  const { state, baseUrl } = await startProvider(t, { data })
  const { url } = await startProfileGateway(t, {
    profiles: [writeDiscovered({ id: 'local', baseUrl, features: ['chat_vision'] })],
    env: { GATEWAY_POOL_THREADS: '1', GATEWAY_POOL_THRESHOLD_BYTES: '20000' }
  })
  await waitUntil(async () => (await idsOf(url)).length === 2, 'the list is there')
  const image = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }]
  for (const padding of [10, 200_000]) {
    const chat = (model: string, content: unknown) =>
      post(`${url}/v1/messages`, {
        model,
        max_tokens: 100_000,
        metadata: { user_id: 'x'.repeat(padding) },
        messages: [{ role: 'user', content }]
      })
    t.equal((await chat('local/blind', 'hi')).status, 200)
    t.equal(state.chats.at(-1)?.max_tokens, 32_768, `a quarter of the stated window, ${padding}`)
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
    const refused = await chat('local/blind', [{ type: 'image', source }])
    t.equal(refused.status, 400, 'the provider says that it reads no images')
    t.equal((await chat('local/small', [{ type: 'image', source }])).status, 200, 'the default of the profile')
  }
  t.equal((await ask(url, 'local/small', { max_tokens: 8000 })).status, 200)
  t.equal(state.chats.at(-1)?.max_tokens, 2048)
  t.equal((await ask(url, 'local/blind', { messages: [{ role: 'user', content: image }] })).status, 400)
  const { data: listed } = (await get(`${url}/v1/models`)).json
  t.match(listed, [
    { id: 'local/small', input_token_limit: 8192 },
    { id: 'local/blind', input_token_limit: 131_072 }
  ])
})

t.test('providers 14: a hostile list neither stops the gateway nor reaches a client', async t => {
  const { state, baseUrl } = await startProvider(t, listOf('good'))
  const { url } = await startProfileGateway(t, { profiles: [writeDiscovered({ id: 'local', baseUrl })] })
  await waitUntil(async () => (await idsOf(url)).length === 1, 'the list is there')
  const many = Array.from({ length: 10_001 }, (_, index) => ({ id: `m${index}` }))
  const broken: unknown[] = [
    '<html>',
    'null',
    '[1,2]',
    { data: { id: 'x' } },
    { data: [{ id: 7 }, 'x', null] },
    { data: many },
    { data: [{ id: 'x', text: 'y'.repeat(9 * 1024 * 1024) }] },
    { data: [], links: { next: '?a=1' } }
  ]
  for (const models of broken) {
    state.models = models
    t.same(await idsOf(url, '?refresh=1'), ['local/good'])
    t.match(await catalogOf(url), { ready: true, model_catalog: { state: 'stale' } })
  }
  state.models = {
    data: [
      { id: 'a', owned_by: 7, max_model_len: 'x' },
      { id: 'a' },
      { id: ' b' },
      { id: 'c\n' },
      { id: '__proto__' },
      [1]
    ]
  }
  t.same(await idsOf(url, '?refresh=1'), ['local/a', 'local/__proto__'])
  t.equal((await ask(url, 'local/__proto__')).status, 200)
  state.models = { data: many.slice(1) }
  t.equal((await idsOf(url, '?refresh=1')).length, 10_000)
  t.equal((await ask(url, 'local/m10000')).status, 200)
  t.equal((await ask(url, 'local/m0')).status, 404)
})
