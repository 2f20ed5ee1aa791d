// Readiness and machine documents of a gateway that was started with a profile file (bridge.md 5.3,
// 5.4 and 9.1).

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { get, type HttpResponse } from '../../support/client.ts'
import { startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { chatBaseUrl, writeChatProfile, writeNativeProfile, writeProfileFile } from '../../support/profile-gateway.ts'
import { startProfileProcesses } from '../../support/profile-processes.ts'
import { askIn, families, readError } from '../system/support.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const upstreamCredentials = Buffer.from('client:secret').toString('base64')

/** Where nothing listens: a provider that must not be called. */
const NOWHERE = 'http://127.0.0.1:9/v1'

/** The readiness of a worker that knows that the others have started as well. */
async function getReady(url: string): Promise<HttpResponse> {
  let ready = await get(`${url}/ready`)
  await waitUntil(async () => {
    ready = await get(`${url}/ready`)
    return !JSON.stringify(ready.json.reasons).includes('provider_clients_not_ready')
  }, 'the worker knows that the gateway has started')
  return ready
}

t.test('bridge 50: a static file is ready at once', async t => {
  const profiles = [writeChatProfile({ id: 'p1', baseUrl: NOWHERE, aliases: [{ alias: 'bridge/a' }] })]
  const gateway = await startProfileProcesses(t, { profiles, env: { GATEWAY_WORKERS: '2' } })
  const { status, json } = await getReady(gateway.url)
  t.equal(status, 200)
  t.match(json, {
    ready: true,
    model_catalog: { state: 'fresh', usable: true, provider_profile_id: 'provider-registry' },
    reasons: [],
    warnings: []
  })
  t.equal(json.model_catalog.inventory_revision, json.config_revision)
  t.match((await get(`${gateway.url}/bridge/models`)).json, { discovered_at: 'process-startup', stale: false })
})

t.test('bridge 97: an older file with an external alias starts, warns and refuses the alias', async t => {
  const alias = {
    public_alias: 'bridge/a',
    upstream_model: 'mini',
    capability_profile: 'mini-v1',
    support_status: 'technical_preview'
  }
  const profile = {
    profile_id: 'p1',
    provider_kind: 'chat_compatible',
    base_url: NOWHERE,
    credential_env: 'P1_KEY',
    allow_loopback: true,
    network_policy_ref: 'loopback-development',
    tls_policy_ref: 'system-default',
    models: [alias]
  }
  const gateway = await startGateway(t, {
    args: ['--config', writeProfileFile(t, [profile], 'v2')],
    env: { P1_KEY: 'secret-of-p1' }
  })
  const { status, json } = await getReady(gateway.url)
  t.equal(status, 200)
  t.same(json.warnings, [{ reason_id: 'alias_requires_profile_v3' }])
  t.match((await get(`${gateway.url}/v1/models/bridge/a`)).json, { id: 'bridge/a' })
  for (const family of families) {
    const refused = await askIn(gateway, family, 'hi', { model: 'bridge/a' })
    t.equal(refused.status, 400, family)
    t.match(readError(family, refused), { code: 'unsupported_semantic' })
  }
  const query = 'model=bridge/a&protocol=openai_responses'
  const { capabilities } = (await get(`${gateway.url}/bridge/capabilities?${query}`)).json
  t.match(capabilities.text_input, { state: 'unsupported', reason_id: 'route_policy_blocks_capability' })
})

t.test(
  'completions 80: models are listed once with the aliases of a mixed file, and an unknown one is not found',
  async t => {
    const emulator = await startEmulator(t)
    const profiles = [
      writeNativeProfile({
        id: 'native-main',
        emulator,
        credentialEnv: 'NATIVE_KEY',
        aliases: [{ alias: 'team/large' }],
        isDynamic: true
      }),
      writeChatProfile({ id: 'edge', baseUrl: chatBaseUrl(emulator), aliases: [{ alias: 'edge/mini' }] }),
      writeChatProfile({
        id: 'found',
        baseUrl: chatBaseUrl(emulator, 'found'),
        aliases: [],
        more: {
          model_inventory: 'dynamic',
          public_prefix: 'found/',
          default_capabilities: { features: ['chat'], limits: { context_window: 8192 } },
          models: undefined
        }
      })
    ]
    const env = { NATIVE_KEY: upstreamCredentials, UPSTREAM_AUTH_URL: emulator.authUrl, GATEWAY_WORKERS: '3' }
    const gateway = await startProfileProcesses(t, { profiles, env })
    await waitUntil(
      async () => (await get(`${gateway.url}/ready`)).json.model_catalog?.state === 'fresh',
      'the inventory is discovered',
      20_000
    )
    const calls = () => emulator.requests.filter(({ path }) => path.endsWith('/models')).length
    t.equal(calls(), 2, 'one for each profile')
    const lists = await Promise.all(
      Array.from({ length: 12 }, () => get(`${gateway.url}/v1/models`, { connection: 'close' }))
    )
    for (const { json } of lists) {
      const ids = json.data.map(({ id }: { id: string }) => id)
      t.same(ids.slice(-2), ['edge/mini', 'team/large'])
      t.ok(ids.includes('GigaChat-2'))
      t.ok(ids.includes('found/emulator-large'))
      t.match(json.data.at(-1), { owned_by: 'salutedevices', metadata: { type: 'chat' } })
    }
    t.equal(calls(), 2)
    const unknown = await get(`${gateway.url}/models/NOPE`)
    t.match([unknown.status, unknown.json.error.code], [404, 'model_not_found'])

    const printed = execFileSync(
      process.execPath,
      [join(root, 'supervisor', 'main.ts'), '--inspect-config', '--config', gateway.profileFile],
      { env: { PATH: process.env.PATH, ...env }, cwd: gateway.folder, encoding: 'utf8' }
    )
    const inspected = JSON.parse(printed)
    const documents = await Promise.all(
      ['/ready', '/bridge/models', '/bridge/capabilities'].flatMap(path =>
        Array.from({ length: 4 }, async () => (await get(gateway.url + path, { connection: 'close' })).json)
      )
    )
    for (const document of documents) {
      t.equal(document.config_revision, inspected.config_revision)
      t.equal(document.matrix_revision, inspected.matrix_revision)
    }
    const inventories = documents.flatMap(
      document => document.model_catalog?.inventory_revision ?? document.inventory_revision ?? []
    )
    t.equal(new Set(inventories).size, 1)
  }
)
