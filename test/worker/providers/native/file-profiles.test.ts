// Native profiles of a file: each has its own destination and authorization key, and the settings
// give the rest (bridge.md 7.2).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEmulator, type Emulator } from '../../../../ops/emulator/server.ts'
import type { ProviderProfile } from '../../../../shared/profile/profile.ts'
import { Secret } from '../../../../shared/secrets/secret.ts'
import { parseSettings } from '../../../../shared/settings.ts'
import { findProviderFace, providerFaces } from '../../../../worker/protocols/registry.ts'
import type { ResolveHost } from '../../../../worker/providers/egress/checked-lookup.ts'
import { createNativeKind, readNativeOptions } from '../../../../worker/providers/native/index.ts'
import { createExecutors } from '../../../../worker/providers/registry.ts'
import { createAuthority } from '../../../support/certificates.ts'
import { type ForwardProxy, startForwardProxy } from '../../../support/forward-proxy.ts'
import { edgeProfile, fileOf } from '../../../support/profile-sets.ts'
import { readsInline } from '../support/large-responses.ts'
import { createMemoryLog } from '../support/log.ts'
import { chatCall, contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { startStub } from '../support/stub-upstream.ts'

const basic = (pair: string): string => Buffer.from(pair).toString('base64')

function profileOf(profileId: string, baseUrl: string, allowLoopback = true): ProviderProfile {
  return edgeProfile([], { profileId, providerKind: 'native', baseUrl, allowLoopback })
}

function start(
  t: Test,
  profiles: readonly ProviderProfile[],
  options: { env?: Record<string, string>; credentials?: Record<string, string>; resolve?: ResolveHost } = {}
) {
  const { env = {}, credentials = {}, resolve } = options
  const memory = createMemoryLog()
  const settings = parseSettings(env)
  const executors = createExecutors({
    profiles: fileOf(profiles),
    credentials: Object.fromEntries(Object.entries(credentials).map(([id, text]) => [id, new Secret(text)])),
    kinds: { native: createNativeKind(resolve === undefined ? {} : { resolve }) },
    faces: providerFaces,
    largeResponses: readsInline,
    settings,
    log: memory.log,
    version: '1.2.3'
  })
  t.teardown(() => executors.destroy())
  async function chat(profileId: string, isStream = false): Promise<void> {
    const profile = profiles.find(one => one.profileId === profileId)
    const call = chatCall('hi', { isStream })
    const face = findProviderFace(providerFaces, call.plan)
    const target = { upstreamModel: call.plan.upstreamModel }
    const { path, headers } = face.writeChat(call.request, target, readNativeOptions(settings, profile?.baseUrl))
    const { executor, release } = executors.acquire(profileId, { type: 'server' })
    await executor.chat({ ...call, path, headers }, contextOf(), createSink()).finally(release)
  }
  return { executors, chat, memory }
}

async function startEmulator(t: Test): Promise<Emulator> {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  return emulator
}

const chatsOf = (emulator: Emulator) => emulator.requests.filter(({ path }) => path.endsWith('/chat/completions'))
const tokensOf = (emulator: Emulator) =>
  emulator.requests.filter(({ path }) => path.endsWith('/oauth')).map(({ headers }) => headers.authorization)

t.test('two profiles have their own hosts, keys and tokens, and the settings are no credentials of theirs', async t => {
  const [first, second, other] = [await startEmulator(t), await startEmulator(t), await startEmulator(t)]
  // The token server is a setting, so both profiles share the first one; the second host takes the tokens of the first.
  const { chat, memory } = start(
    t,
    [profileOf('a', first.baseUrl), profileOf('b', first.baseUrl), profileOf('c', second.baseUrl)],
    {
      credentials: { a: basic('a:secret-of-a'), b: basic('b:secret-of-b') },
      env: {
        UPSTREAM_BASE_URL: other.baseUrl,
        UPSTREAM_AUTH_URL: first.authUrl,
        UPSTREAM_CREDENTIALS: basic('settings:secret'),
        UPSTREAM_ACCESS_TOKEN: 'token-of-the-settings',
        UPSTREAM_SCOPE: 'GIGACHAT_API_CORP'
      }
    }
  )
  await Promise.all(['a', 'b', 'a', 'b'].map(id => chat(id)))
  t.same(tokensOf(first).sort(), [`Basic ${basic('a:secret-of-a')}`, `Basic ${basic('b:secret-of-b')}`].sort())
  const oauth = first.requests.filter(({ path }) => path.endsWith('/oauth'))
  t.same(
    oauth.map(({ body }) => body),
    Array(2).fill({ scope: 'GIGACHAT_API_CORP' })
  )
  t.equal(new Set(chatsOf(first).map(({ headers }) => headers.authorization)).size, 2, 'a token for each profile')
  await rejection(chat('c'))
  t.equal(chatsOf(second)[0]?.headers.authorization, undefined, 'a profile without a key sends none')
  t.equal(other.requests.length, 0)
  for (const secret of ['secret-of-a', 'secret-of-b', 'token-of-the-settings']) t.notOk(memory.text().includes(secret))
})

t.test('a refused token is renewed for its profile alone', async t => {
  const emulator = await startEmulator(t)
  const { chat } = start(t, [profileOf('a', emulator.baseUrl), profileOf('b', emulator.baseUrl)], {
    credentials: { a: basic('a:secret'), b: basic('b:secret') },
    env: { UPSTREAM_AUTH_URL: emulator.authUrl }
  })
  await chat('a')
  await chat('b')
  emulator.expireTokens()
  emulator.reset()
  await chat('a')
  t.same(tokensOf(emulator), [`Basic ${basic('a:secret')}`])
})

t.test('retries come from the settings', async t => {
  const stub = await startStub((_request, response) => void response.writeHead(503).end())
  t.teardown(() => stub.close())
  const env = { UPSTREAM_MAX_RETRIES: '2', UPSTREAM_RETRY_BACKOFF_FACTOR: '0' }
  const { chat } = start(t, [profileOf('a', `${stub.origin}/v1`)], { env })
  t.match(await rejection(chat('a')), { code: 'provider_failure', status: 503 })
  t.equal(stub.requests.length, 3)
})

t.test('addresses are checked as the profile says, and redirects are not followed', async t => {
  const stub = await startStub((_request, response) => void response.writeHead(307, { location: '/v1' }).end())
  t.teardown(() => stub.close())
  const mismatch = { code: 'destination_mismatch', status: 502 }
  const resolve: ResolveHost = async host => (host === 'private.example' ? ['10.0.0.1'] : ['127.0.0.1'])
  const named = `http://up.example:${stub.port}/v1`
  const profiles = [
    profileOf('public', named, false),
    profileOf('private', `http://private.example:${stub.port}/v1`),
    profileOf('redirected', named),
    profileOf('literal', 'https://10.0.0.1/v1', false)
  ]
  const { chat, memory } = start(t, profiles, { resolve })
  for (const { profileId } of profiles) {
    for (const isStream of [false, true]) t.match(await rejection(chat(profileId, isStream)), mismatch, profileId)
  }
  t.equal(stub.requests.length, 2, 'only the redirected calls arrive')
  t.match(
    memory.lines.filter(line => line.event === 'upstream_call_failed'),
    Array(8).fill({ reason_id: 'destination_mismatch' })
  )
})

t.test('a profile of a private network checks its addresses (decisions.md 87)', async t => {
  const stub = await startStub((_request, response) => void response.writeHead(500).end())
  t.teardown(() => stub.close())
  const answers: Record<string, string[]> = {
    'trap.internal': ['169.254.169.254'],
    'mixed.svc': ['10.0.0.1', 'fd00:ec2::254'],
    'own.local': ['127.0.0.1'],
    'public.corp': ['8.8.8.8']
  }
  const hosts = [...Object.keys(answers), '127.0.0.1', '[::ffff:a9fe:a9fe]', 'metadata.google.internal']
  const profiles = hosts.map((host, index) => ({
    ...profileOf(`p${index}`, `http://${host}:${stub.port}/v1`, false),
    allowPrivate: true
  }))
  const { chat, memory } = start(t, profiles, { resolve: async host => answers[host] ?? [] })
  for (const { profileId } of profiles) {
    t.match(await rejection(chat(profileId)), { code: 'destination_mismatch', status: 502 }, profileId)
  }
  t.same(
    memory.lines.filter(line => line.event === 'upstream_call_failed').map(line => line.destination_class),
    ['forbidden', 'forbidden', 'loopback', 'public', 'loopback', 'forbidden', 'forbidden']
  )
  t.equal(stub.requests.length, 0)
})

t.test('the authorization of a client never reaches a profile of a file', async t => {
  const { executors } = start(t, [profileOf('a', 'http://127.0.0.1:9/v1')], { credentials: { a: basic('a:secret') } })
  t.throws(() => executors.acquire('a', { type: 'access-token', accessToken: new Secret('t') }), {
    code: 'invalid_upstream_authorization'
  })
})

t.test('the proxy, authorities and client certificate of a profile win over those of the settings', async t => {
  const fixtures = join(import.meta.dirname, '..', '..', '..', 'ops', 'emulator', 'fixtures')
  const read = (name: string): string => readFileSync(join(fixtures, name), 'utf8')
  const authority = createAuthority(t)
  const client = authority.issue({ name: 'client of the profile' })
  const emulator = await createEmulator({
    tls: { ...authority.issue({ name: 'upstream' }), ca: `${authority.cert}\n${read('ca.pem')}` }
  })
  t.teardown(() => emulator.close())
  const [own, environment] = [await startForwardProxy(t), await startForwardProxy(t)]
  const env = {
    UPSTREAM_AUTH_URL: emulator.authUrl,
    UPSTREAM_CA_BUNDLE_FILE: join(fixtures, 'ca.pem'),
    UPSTREAM_CERT_FILE: join(fixtures, 'client.pem'),
    UPSTREAM_KEY_FILE: join(fixtures, 'client.key'),
    HTTPS_PROXY: environment.url
  }
  const caFile = authority.certFile
  const shown = { clientCertFile: client.certFile, clientKeyFile: client.keyFile }
  const rows: Array<[more: Partial<ProviderProfile>, proxy: ForwardProxy | undefined, name: string]> = [
    [{ caFile, ...shown, proxy: own.url }, own, 'client of the profile'],
    [{ caFile, proxy: 'none' }, undefined, 'gateway test client'],
    [{ caFile }, environment, 'gateway test client']
  ]
  for (const [more, proxy, name] of rows) {
    emulator.reset()
    for (const { seen } of [own, environment]) seen.length = 0
    const { chat } = start(t, [{ ...profileOf('a', emulator.baseUrl), ...more }], {
      env,
      credentials: { a: basic('a:secret-of-a') }
    })
    await chat('a')
    t.strictSame(
      emulator.requests.map(request => request.clientCertificate),
      [null, name]
    )
    t.equal(own.seen.length > 0, proxy === own)
    t.equal(environment.seen.length > 0, proxy === environment)
  }
  const { chat } = start(t, [profileOf('a', emulator.baseUrl)], { env, credentials: { a: basic('a:secret-of-a') } })
  t.match(await rejection(chat('a')), { code: 'provider_failure' }, 'the settings know no authority of this upstream')
})
