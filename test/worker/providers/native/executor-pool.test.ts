import t from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { Secret } from '../../../../shared/secrets/secret.ts'
import type { NativeCredential } from '../../../../worker/providers/native/credential.ts'
import { createNativeExecutorPool, IDLE_EXPIRY_MS } from '../../../../worker/providers/native/executor-pool.ts'
import type { Executor, UpstreamAuthorization } from '../../../../worker/providers/types.ts'
import { chatCall, contextOf, createSink, emulatorEnv, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'

interface FakeExecutor extends Executor {
  ended: string[]
}

function createFakeExecutor(): FakeExecutor {
  const ended: string[] = []
  return {
    ended,
    chat: () => Promise.reject(new Error('not used')),
    close: async () => void ended.push('close'),
    destroy: async () => void ended.push('destroy')
  }
}

function createPool(options: { idleMax?: number; isBaseUrlNamed?: boolean } = {}) {
  const clock = { nowMs: 0 }
  const made: Array<{ credential: NativeCredential; executor: FakeExecutor }> = []
  const shared: string[] = []
  const server = createFakeExecutor()
  const pool = createNativeExecutorPool({
    server,
    createExecutor(credential) {
      const executor = createFakeExecutor()
      made.push({ credential, executor })
      return executor
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

t.test('one credential has one executor, and the server credential always has one', async t => {
  const { pool, server, made } = createPool()
  const first = pool.acquire(token('a'))
  const second = pool.acquire(token('a'))
  t.equal(first.executor, second.executor)
  t.not(pool.acquire(token('b')).executor, first.executor)
  t.equal(made.length, 2)
  t.equal(pool.acquire({ type: 'server' }).executor, server)
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

t.test('operations 44: the least recently used idle executor is closed first, and one in use never (N6)', async t => {
  const { pool, made } = createPool({ idleMax: 1 })
  const a = pool.acquire(token('a'))
  const b = pool.acquire(token('b'))
  const c = pool.acquire(token('c'))
  t.same(
    made.map(entry => entry.executor.ended),
    [[], [], []]
  )
  a.release()
  a.release()
  t.same(made[0]?.executor.ended, [])
  b.release()
  t.same(
    made.map(entry => entry.executor.ended),
    [['close'], [], []]
  )
  const again = pool.acquire(token('b'))
  t.equal(again.executor, made[1]?.executor)
  c.release()
  t.same(
    made.map(entry => entry.executor.ended),
    [['close'], [], []]
  )
  again.release()
  t.same(
    made.map(entry => entry.executor.ended),
    [['close'], [], ['close']]
  )
})

t.test('an idle executor is closed after a quarter of an hour', async t => {
  const { pool, made, clock } = createPool({ idleMax: 10 })
  pool.acquire(token('a')).release()
  clock.nowMs += IDLE_EXPIRY_MS - 1
  pool.acquire(token('b')).release()
  t.same(made[0]?.executor.ended, [])
  clock.nowMs += 1
  pool.acquire(token('b')).release()
  t.same(
    made.map(entry => entry.executor.ended),
    [['close'], []]
  )
})

t.test('closing the pool closes everything, and later calls are refused', async t => {
  const { pool, server, made, shared } = createPool()
  pool.acquire(token('a'))
  await pool.close()
  t.same([server.ended, made[0]?.executor.ended, shared], [['close'], ['close'], ['close']])
  t.throws(() => pool.acquire(token('a')), { code: 'gateway_not_ready' })
  t.throws(() => pool.acquire({ type: 'server' }), { code: 'gateway_not_ready' })
  const now = createPool()
  await now.pool.destroy()
  t.same([now.server.ended, now.shared], [['destroy'], ['destroy']])
})

t.test('a user and a password go only to a host that the operator named', async t => {
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

t.test('an executor is not closed while a stream uses it', async t => {
  const emulator = await createEmulator({ accessTokens: ['a', 'b'] })
  t.teardown(() => emulator.close())
  const { pool } = startPool(t, emulatorEnv(emulator, { GATEWAY_PASS_TOKEN_CLIENT_CACHE_SIZE: '1' }))
  const a = pool.acquire(token('a'))
  const sink = createSink()
  const streaming = a.executor
    .stream(chatCall('[[chunks:1|2|3|4]][[tick:20]]', { isStream: true }), contextOf(), sink)
    .finally(a.release)
  await sink.pushed(1)
  for (const text of ['b', 'a', 'b']) {
    const lease = pool.acquire(token(text))
    await lease.executor.complete(chatCall('hi'), contextOf())
    lease.release()
  }
  await streaming
  t.equal(sink.text(), '1234')
})

t.test('closing lets running calls end and refuses new ones', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { pool, executor } = startPool(t, emulatorEnv(emulator))
  const running = executor.complete(chatCall('[[slow:100]]'), contextOf())
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  const closing = pool.close()
  t.match(await running, { finish: { reason: 'stop' } })
  await closing
  await emulator.waitFor(({ stats }) => stats.openConnections === 0)
  t.match(await rejection(executor.complete(chatCall('hi'), contextOf())), { code: 'provider_failure' })
})

t.test('destroying ends running calls at once', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const env = { UPSTREAM_MAX_RETRIES: '5', UPSTREAM_RETRY_BACKOFF_FACTOR: '50' }
  const { pool, executor } = startPool(t, emulatorEnv(emulator, env))
  const running = rejection(executor.complete(chatCall('[[hang]]'), contextOf()))
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  await pool.destroy()
  t.match(await running, { code: 'provider_failure' })
  await emulator.waitFor(({ stats }) => stats.openConnections === 0)
})
