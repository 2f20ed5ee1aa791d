import t from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { Secret } from '../../../../shared/secrets/secret.ts'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { CREDENTIALS, chatCall, contextOf, createSink, emulatorEnv, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

const CHAT_RESPONSE = { choices: [{ message: { content: 'ok' }, finish_reason: 'stop' }] }

t.test('two hundred requests at once cause one token call (N5)', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const fetched: boolean[] = []
  const { executor } = startPool(t, emulatorEnv(emulator), { onTokenFetched: hasFailed => fetched.push(hasFailed) })
  await Promise.all(Array.from({ length: 200 }, () => executor.complete(chatCall('hi'), contextOf())))
  t.equal(emulator.stats.oauthCalls, 1)
  t.same(fetched, [false])
  t.match(emulator.requests[0], {
    method: 'POST',
    path: '/api/v2/oauth',
    headers: {
      authorization: `Basic ${CREDENTIALS}`,
      rquid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      'content-type': 'application/x-www-form-urlencoded'
    },
    body: { scope: 'GIGACHAT_API_PERS' }
  })
})

t.test('after a revocation all get 401, one token call follows, and all succeed', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  await executor.complete(chatCall('hi'), contextOf())
  emulator.expireTokens()
  emulator.reset()
  await Promise.all(Array.from({ length: 20 }, () => executor.complete(chatCall('hi'), contextOf())))
  t.equal(emulator.stats.oauthCalls, 1)
  t.equal(emulator.stats.unauthorized, 20)
  t.equal(emulator.requests.filter(request => request.status === 200 && request.path.includes('chat')).length, 20)
})

t.test('a 401 causes one renewal and one more attempt, and the second 401 fails the call', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const env = { UPSTREAM_MAX_RETRIES: '3', UPSTREAM_RETRY_BACKOFF_FACTOR: '0' }
  const { executor } = startPool(t, emulatorEnv(emulator, env))
  const refuse = async (isStream: boolean, attempts: number) => {
    emulator.reset()
    const call = chatCall('[[error:401]]', { isStream })
    const failed = isStream ? executor.stream(call, contextOf(), createSink()) : executor.complete(call, contextOf())
    t.match(await rejection(failed), { code: 'upstream_unauthorized', status: 401 })
    t.equal(emulator.stats.oauthCalls, 1)
    t.equal(emulator.requests.filter(request => request.path.includes('chat')).length, attempts)
  }
  // A token that was fetched just now is not fetched again.
  for (const isStream of [false, true]) await refuse(isStream, 1)
  for (const isStream of [false, true]) {
    await executor.complete(chatCall('hi'), contextOf())
    await refuse(isStream, 2)
  }
})

t.test('context headers go with password tokens and never with OAuth', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const context = contextOf({ headers: ['X-Session-ID', 's1'] })
  const oauth = startPool(t, emulatorEnv(emulator))
  await oauth.executor.complete(chatCall('hi'), context)
  t.equal(emulator.requests[0]?.path, '/api/v2/oauth')
  t.equal(emulator.requests[0]?.headers['x-session-id'], undefined)

  emulator.reset()
  const password = startPool(t, {
    UPSTREAM_BASE_URL: emulator.baseUrl,
    UPSTREAM_USER: 'ada',
    UPSTREAM_PASSWORD: 'pass:word'
  })
  await password.executor.complete(chatCall('hi'), context)
  t.match(emulator.requests[0], {
    method: 'POST',
    path: '/api/v1/token',
    headers: {
      authorization: `Basic ${Buffer.from('ada:pass:word').toString('base64')}`,
      'x-session-id': 's1',
      'user-agent': 'llm-gateway/1.2.3'
    },
    bodyBytes: 0
  })
})

t.test('a password token whose end is in seconds serves many calls', async t => {
  for (const expInSeconds of [true, false]) {
    const emulator = await createEmulator({ expInSeconds })
    t.teardown(() => emulator.close())
    const { executor } = startPool(t, {
      UPSTREAM_BASE_URL: emulator.baseUrl,
      UPSTREAM_USER: 'ada',
      UPSTREAM_PASSWORD: 'x'
    })
    for (let count = 0; count < 3; count += 1) await executor.complete(chatCall('hi'), contextOf())
    t.equal(emulator.stats.tokenCalls, 1)
  }
})

t.test('the alternative form of an OAuth response is read', async t => {
  const emulator = await createEmulator({ oauthForm: 'alternative' })
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  await executor.complete(chatCall('hi'), contextOf())
  await executor.complete(chatCall('hi'), contextOf())
  t.equal(emulator.stats.oauthCalls, 1)
})

t.test('a given token is used first, and OAuth after its refusal', async t => {
  const emulator = await createEmulator({ accessTokens: ['given'] })
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator, { UPSTREAM_ACCESS_TOKEN: 'given' }))
  await executor.complete(chatCall('hi'), contextOf())
  t.equal(emulator.stats.oauthCalls, 0)
  t.equal(emulator.requests[0]?.headers.authorization, 'Bearer given')
  emulator.expireTokens()
  await executor.complete(chatCall('hi'), contextOf())
  await executor.complete(chatCall('hi'), contextOf())
  t.equal(emulator.stats.oauthCalls, 1)
})

t.test('a token without credentials is used as it is, and a 401 fails the call at once', async t => {
  const emulator = await createEmulator({ accessTokens: ['given'] })
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: emulator.baseUrl, UPSTREAM_ACCESS_TOKEN: 'given' })
  await executor.complete(chatCall('hi'), contextOf())
  emulator.expireTokens()
  emulator.reset()
  t.match(await rejection(executor.complete(chatCall('hi'), contextOf())), { status: 401 })
  t.equal(emulator.requests.length, 1)
})

t.test('a refused credential fails all calls with one token call', async t => {
  const emulator = await createEmulator({ credentials: ['b3RoZXI6c2VjcmV0'] })
  t.teardown(() => emulator.close())
  const { executor, memory } = startPool(t, emulatorEnv(emulator))
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, () => executor.complete(chatCall('hi'), contextOf()))
  )
  for (const result of results) {
    if (result.status === 'fulfilled') t.fail('a refused credential must not work')
    else t.match(result.reason, { code: 'upstream_unauthorized', status: 401 })
  }
  await rejection(executor.complete(chatCall('hi'), contextOf()))
  t.equal(emulator.stats.oauthCalls, 1)
  t.equal(emulator.requests.length, 1)
  t.match(
    memory.lines.find(line => line.event === 'upstream_token_failed'),
    { code: 'upstream_unauthorized', status: 401 }
  )
  t.notMatch(memory.text(), CREDENTIALS)
})

t.test('a failed token call is attempted again with the call that needs it', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  emulator.failNext({ path: '/oauth', status: 503, times: 1 })
  const { executor } = startPool(t, emulatorEnv(emulator, { UPSTREAM_MAX_RETRIES: '1' }), { random: () => 0 })
  await executor.complete(chatCall('hi'), contextOf())
  t.same(
    emulator.requests.map(request => [request.path, request.status]),
    [
      ['/api/v2/oauth', 503],
      ['/api/v2/oauth', 200],
      ['/api/v1/chat/completions', 200]
    ]
  )
})

t.test('a token response without a token is a protocol error', async t => {
  const auth = await startStub((_request, response) => sendJson(response, 200, { hello: 'world' }))
  t.teardown(() => auth.close())
  const { executor } = startPool(t, {
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9/api/v1',
    UPSTREAM_AUTH_URL: `${auth.origin}/token`,
    UPSTREAM_CREDENTIALS: CREDENTIALS
  })
  t.match(await rejection(executor.complete(chatCall('hi'), contextOf())), { code: 'provider_protocol_error' })
})

t.test('a client disconnect while the token is fetched ends only the wait of that client', async t => {
  const api = await startStub((_request, response) => sendJson(response, 200, CHAT_RESPONSE))
  let sendToken: () => void = () => undefined
  const auth = await startStub((_request, response) => {
    sendToken = () => sendJson(response, 200, { access_token: 'a', expires_at: Date.now() + 1_800_000 })
  })
  t.teardown(() => Promise.all([api.close(), auth.close()]))
  const { executor } = startPool(t, {
    UPSTREAM_BASE_URL: api.origin,
    UPSTREAM_AUTH_URL: `${auth.origin}/token`,
    UPSTREAM_CREDENTIALS: CREDENTIALS
  })
  const abort = new AbortController()
  const leaving = executor.complete(chatCall('hi'), contextOf({ signal: abort.signal }))
  const staying = executor.complete(chatCall('hi'), contextOf())
  await auth.arrived(1)
  abort.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(leaving), { code: 'client_disconnected' })
  sendToken()
  await staying
  t.equal(auth.requests.length, 1)
  t.equal(api.requests.length, 1)
})

t.test('a pending token fetch that no call waits for does not delay closing', async t => {
  const auth = await startStub(() => undefined)
  t.teardown(() => auth.close())
  const { pool, executor } = startPool(t, {
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9/api/v1',
    UPSTREAM_AUTH_URL: `${auth.origin}/token`,
    UPSTREAM_CREDENTIALS: CREDENTIALS
  })
  const abort = new AbortController()
  const leaving = executor.complete(chatCall('hi'), contextOf({ signal: abort.signal }))
  await auth.arrived(1)
  abort.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(leaving), { code: 'client_disconnected' })
  await pool.close()
})

t.test('a token near its end is replaced while calls go on', async t => {
  const clock = { nowMs: 1_800_000_000_000 }
  const emulator = await createEmulator({ now: () => clock.nowMs })
  t.teardown(() => emulator.close())
  const nowMs = () => clock.nowMs
  const { executor } = startPool(t, emulatorEnv(emulator), { now: nowMs, monotonicMs: nowMs, random: () => 0 })
  await executor.complete(chatCall('hi'), contextOf())
  clock.nowMs += 30 * 60_000 - 59_000
  await executor.complete(chatCall('hi'), contextOf())
  await emulator.waitFor(({ stats }) => stats.oauthCalls === 2)
  t.equal(emulator.stats.unauthorized, 0)
})

t.test('a wrong system time, or one that jumps, causes no token for each call', async t => {
  const HOURS_MS = 5 * 3_600_000
  for (const skewMs of [-HOURS_MS, 0, HOURS_MS]) {
    const emulator = await createEmulator()
    t.teardown(() => emulator.close())
    let jumpMs = 0
    const now = () => Date.now() + skewMs + jumpMs
    const { executor } = startPool(t, emulatorEnv(emulator), { now, random: () => 0 })
    for (jumpMs of [0, HOURS_MS, -HOURS_MS, 0]) await executor.complete(chatCall('hi'), contextOf())
    t.equal(emulator.stats.oauthCalls, 1, `${skewMs}`)
  }
})

t.test('operations 39, 40: credentials of clients are used as they came', async t => {
  const emulator = await createEmulator({ accessTokens: ['abc'] })
  t.teardown(() => emulator.close())
  const { pool } = startPool(t, emulatorEnv(emulator, { UPSTREAM_SCOPE: 'GIGACHAT_API_CORP' }))
  const token = pool.acquire({ type: 'access-token', accessToken: new Secret('abc') })
  await token.executor.complete(chatCall('hi'), contextOf())
  token.release()
  t.equal(emulator.requests.at(-1)?.headers.authorization, 'Bearer abc')
  t.equal(emulator.stats.oauthCalls, 0)

  const account = pool.acquire({
    type: 'credentials',
    credentials: new Secret(Buffer.from('x:y').toString('base64')),
    scope: 'GIGACHAT_API_B2B'
  })
  await account.executor.complete(chatCall('hi'), contextOf())
  account.release()
  const oauth = emulator.requests.find(request => request.path === '/api/v2/oauth')
  t.same(oauth?.body, { scope: 'GIGACHAT_API_B2B' })
  t.equal(oauth?.headers.authorization, `Basic ${Buffer.from('x:y').toString('base64')}`)

  const user = pool.acquire({ type: 'user', user: 'ada', password: new Secret('p') })
  await user.executor.complete(chatCall('hi'), contextOf())
  user.release()
  t.equal(emulator.stats.tokenCalls, 1)
})
