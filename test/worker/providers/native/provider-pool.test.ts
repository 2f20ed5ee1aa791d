import t from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { Secret } from '../../../../shared/secret.ts'
import type { NativeCredential } from '../../../../worker/providers/native/provider.ts'
import { createProviderPool, IDLE_EXPIRY_MS } from '../../../../worker/providers/native/provider-pool.ts'
import type { NativeProvider, UpstreamAuthorization } from '../../../../worker/providers/types.ts'
import { chatCall, contextOf, createSink, emulatorEnv, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'

interface FakeProvider extends NativeProvider {
  ended: string[]
}

function createFakeProvider(): FakeProvider {
  const ended: string[] = []
  const unused = () => Promise.reject(new Error('not used'))
  return {
    ended,
    complete: unused,
    stream: unused,
    embed: unused,
    listModels: unused,
    countTokens: unused,
    downloadFile: unused,
    close: async () => void ended.push('close'),
    destroy: async () => void ended.push('destroy')
  }
}

function createPool(options: { idleMax?: number; isBaseUrlNamed?: boolean } = {}) {
  const clock = { nowMs: 0 }
  const made: Array<{ credential: NativeCredential; provider: FakeProvider }> = []
  const shared: string[] = []
  const server = createFakeProvider()
  const pool = createProviderPool({
    server,
    createProvider(credential) {
      const provider = createFakeProvider()
      made.push({ credential, provider })
      return provider
    },
    idleMax: options.idleMax ?? 2,
    isBaseUrlNamed: options.isBaseUrlNamed ?? true,
    now: () => clock.nowMs,
    closeShared: async () => void shared.push('close'),
    destroyShared: async () => void shared.push('destroy'),
    onCloseFailed: thrown => t.fail(String(thrown))
  })
  return { pool, server, made, clock, shared }
}

const token = (text: string): UpstreamAuthorization => ({ type: 'access-token', accessToken: new Secret(text) })

t.test('one credential has one provider, and the server credential is always there', async t => {
  const { pool, server, made } = createPool()
  const first = pool.acquire(token('a'))
  const second = pool.acquire(token('a'))
  t.equal(first.provider, second.provider)
  t.not(pool.acquire(token('b')).provider, first.provider)
  t.equal(made.length, 2)
  t.equal(pool.acquire({ type: 'server' }).provider, server)
})

t.test('credentials that only look alike are different ones', async t => {
  const { pool, made } = createPool({ idleMax: 100 })
  const pairs: UpstreamAuthorization[] = [
    { type: 'user', user: 'a', password: new Secret('bc') },
    { type: 'user', user: 'ab', password: new Secret('c') },
    { type: 'credentials', credentials: new Secret('a'), scope: 'bc' },
    { type: 'credentials', credentials: new Secret('a'), scope: 'b' }
  ]
  for (const authorization of pairs) pool.acquire(authorization)
  t.equal(made.length, 4)
})

t.test('operations 44: the longest unused idle provider leaves first, and one in use never (N6)', async t => {
  const { pool, made } = createPool({ idleMax: 1 })
  const a = pool.acquire(token('a'))
  const b = pool.acquire(token('b'))
  const c = pool.acquire(token('c'))
  t.same(
    made.map(entry => entry.provider.ended),
    [[], [], []]
  )
  a.release()
  a.release()
  t.same(made[0]?.provider.ended, [])
  b.release()
  t.same(
    made.map(entry => entry.provider.ended),
    [['close'], [], []]
  )
  const again = pool.acquire(token('b'))
  t.equal(again.provider, made[1]?.provider)
  c.release()
  t.same(
    made.map(entry => entry.provider.ended),
    [['close'], [], []]
  )
  again.release()
  t.same(
    made.map(entry => entry.provider.ended),
    [['close'], [], ['close']]
  )
})

t.test('an idle provider is closed after a quarter of an hour', async t => {
  const { pool, made, clock } = createPool({ idleMax: 10 })
  pool.acquire(token('a')).release()
  clock.nowMs += IDLE_EXPIRY_MS - 1
  pool.acquire(token('b')).release()
  t.same(made[0]?.provider.ended, [])
  clock.nowMs += 1
  pool.acquire(token('b')).release()
  t.same(
    made.map(entry => entry.provider.ended),
    [['close'], []]
  )
})

t.test('the end of the pool ends everything, and lends nothing more', async t => {
  const { pool, server, made, shared } = createPool()
  pool.acquire(token('a'))
  await pool.close()
  t.same([server.ended, made[0]?.provider.ended, shared], [['close'], ['close'], ['close']])
  t.throws(() => pool.acquire(token('a')), { code: 'gateway_not_ready' })
  t.throws(() => pool.acquire({ type: 'server' }), { code: 'gateway_not_ready' })
  const now = createPool()
  await now.pool.destroy()
  t.same([now.server.ended, now.shared], [['destroy'], ['destroy']])
})

t.test('a user and a password are not sent to a host that nobody named', async t => {
  const { pool, made } = createPool({ isBaseUrlNamed: false })
  const user: UpstreamAuthorization = { type: 'user', user: 'ada', password: new Secret('p') }
  t.throws(() => pool.acquire(user), {
    code: 'invalid_upstream_authorization',
    status: 400,
    message: 'Invalid upstream pass-through authentication'
  })
  t.equal(made.length, 0)
  t.ok(pool.acquire(token('a')))

  const fromSettings = startPool(t, { UPSTREAM_ACCESS_TOKEN: 'x' }).pool
  t.throws(() => fromSettings.acquire(user), { code: 'invalid_upstream_authorization' })
})

t.test('a client keeps its stream while its provider would have to go', async t => {
  const emulator = await createEmulator({ accessTokens: ['a', 'b'] })
  t.teardown(() => emulator.close())
  const { pool } = startPool(t, emulatorEnv(emulator, { GATEWAY_PASS_TOKEN_CLIENT_CACHE_SIZE: '1' }))
  const a = pool.acquire(token('a'))
  const sink = createSink()
  const streaming = a.provider
    .stream(chatCall('[[chunks:1|2|3|4]][[tick:20]]', { isStream: true }), contextOf(), sink)
    .finally(a.release)
  await sink.pushed(1)
  for (const text of ['b', 'a', 'b']) {
    const lease = pool.acquire(token(text))
    await lease.provider.complete(chatCall('hi'), contextOf())
    lease.release()
  }
  await streaming
  t.equal(sink.text(), '1234')
})

t.test('closing lets running calls end and takes no new ones', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { pool, provider } = startPool(t, emulatorEnv(emulator))
  const running = provider.complete(chatCall('[[slow:100]]'), contextOf())
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  const closing = pool.close()
  t.match(await running, { finish: { reason: 'stop' } })
  await closing
  await emulator.waitFor(({ stats }) => stats.openConnections === 0)
  t.match(await rejection(provider.complete(chatCall('hi'), contextOf())), { code: 'provider_failure' })
})

t.test('destroying ends running calls at once', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const env = { UPSTREAM_MAX_RETRIES: '5', UPSTREAM_RETRY_BACKOFF_FACTOR: '50' }
  const { pool, provider } = startPool(t, emulatorEnv(emulator, env))
  const running = rejection(provider.complete(chatCall('[[hang]]'), contextOf()))
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  await pool.destroy()
  t.match(await running, { code: 'provider_failure' })
  await emulator.waitFor(({ stats }) => stats.openConnections === 0)
})
