// How calls are authorized (upstream.md 2): both token calls, their life cycle in several workers,
// and refusals.

import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { ask, lastReceived, received, stream, versions } from './support.ts'

/** For the cases that need no settings of their own. */
const shared = await startPair()

async function startPair() {
  const emulator = await startEmulator(t, { scopes: ['GIGACHAT_API_PERS'] })
  return { emulator, gateway: await startGateway(t, { env: emulatorVariables(emulator) }) }
}

t.test(
  'every worker fetches one token for concurrent requests, and renews it once after a revocation (N5)',
  async t => {
    const emulator = await startEmulator(t)
    const workers = 3
    const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: String(workers) } })
    // A connection of its own for each request spreads them over the workers.
    const askAll = () =>
      Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          ask(gateway, index % 2 === 0 ? 'v1' : 'v2', '[[slow:20]]', { headers: { connection: 'close' } })
        )
      )
    t.ok((await askAll()).every(({ status }) => status === 200))
    t.ok(emulator.stats.oauthCalls <= workers, `${emulator.stats.oauthCalls} token calls`)
    const before = emulator.stats.oauthCalls
    for (let round = 1; round <= 3; round++) {
      emulator.expireTokens()
      t.ok((await askAll()).every(({ status }) => status === 200))
      t.ok(emulator.stats.oauthCalls - before <= workers * round, `${emulator.stats.oauthCalls - before} renewals`)
    }
    const ids = received(emulator, '/oauth').map(({ headers }) => headers.rquid)
    t.equal(new Set(ids).size, ids.length, 'every call has an id of its own')
    for (const { method, headers, body } of received(emulator, '/oauth')) {
      t.equal(method, 'POST')
      t.match(headers, {
        authorization: `Basic ${Buffer.from('client:secret').toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
        rquid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
      })
      t.strictSame(body, { scope: 'GIGACHAT_API_PERS' })
    }
  }
)

t.test('decisions.md 47: a token that was refused twice in one call is discarded', async t => {
  const { emulator, gateway } = shared
  for (const version of versions) {
    t.equal((await ask(gateway, version, 'hi')).status, 200)
    const before = emulator.stats.oauthCalls
    emulator.failNext({ path: '/chat/completions', times: 2, status: 401 })
    const refused = await ask(gateway, version, 'hi')
    t.equal(refused.status, 401)
    t.equal(emulator.stats.oauthCalls, before + 1, 'one renewal within the call')
    const [first, second] = received(emulator, '/chat/completions').slice(-2)
    t.not(first?.headers.authorization, second?.headers.authorization)
    t.equal((await ask(gateway, version, 'hi')).status, 200)
    t.equal(emulator.stats.oauthCalls, before + 2, 'the next call fetches another token')
    const next = lastReceived(emulator, '/chat/completions').headers.authorization
    t.not(next, second?.headers.authorization)
    t.equal((await ask(gateway, version, 'hi')).status, 200)
    t.equal(emulator.stats.oauthCalls, before + 2, 'which is kept')
  }
})

t.test('a token is replaced while it still works, so that no call ever meets its end', async t => {
  const emulator = await startEmulator(t, { tokenLifetimeMs: 4000 })
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), UPSTREAM_TOKEN_EXPIRY_BUFFER_MS: '3000' }
  })
  const statuses = new Set<number>()
  while (emulator.stats.oauthCalls < 3) statuses.add((await ask(gateway, 'v1', '[[slow:30]]')).status)
  t.strictSame([...statuses], [200])
  t.equal(emulator.stats.unauthorized, 0)
})

t.test('without a buffer a token is used to its end', async t => {
  const emulator = await startEmulator(t, { tokenLifetimeMs: 1500 })
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), UPSTREAM_TOKEN_EXPIRY_BUFFER_MS: '0' }
  })
  while (emulator.stats.oauthCalls < 2) t.equal((await ask(gateway, 'v1', '[[slow:30]]')).status, 200)
  const [first, second] = received(emulator, '/oauth').map(({ receivedAtMs }) => receivedAtMs)
  t.ok((second ?? 0) - (first ?? 0) >= 1450)
})

t.test('a user and a password get their token from the API, in either unit of time and with the context', async t => {
  const emulator = await startEmulator(t, { users: { ann: 'pass:word' } })
  const gateway = await startGateway(t, {
    env: { UPSTREAM_BASE_URL: emulator.baseUrl, UPSTREAM_USER: 'ann', UPSTREAM_PASSWORD: 'pass:word' }
  })
  await get(`${gateway.url}/v1/models`)
  for (const expInSeconds of [true, false]) {
    emulator.configure({ expInSeconds })
    emulator.expireTokens()
    emulator.reset()
    const headers = { 'x-session-id': 'session-1', 'x-request-id': 'request-1' }
    for (let round = 0; round < 5; round++) t.equal((await ask(gateway, 'v2', 'hi', { headers })).status, 200)
    t.equal(emulator.stats.tokenCalls, 1, 'one token serves all calls')
    emulator.expireTokens()
    t.equal((await ask(gateway, 'v1', 'hi', { headers })).status, 200)
    t.equal(emulator.stats.tokenCalls, 2)
    t.equal(emulator.stats.oauthCalls, 0)
    const call = lastReceived(emulator, '/token')
    t.equal(call.bodyBytes, 0)
    t.match(call.headers, {
      authorization: `Basic ${Buffer.from('ann:pass:word').toString('base64')}`,
      'user-agent': /^llm-gateway\//,
      ...headers
    })
  }
})

t.test('credentials win over user and password, and a given token goes before both until it is refused', async t => {
  const emulator = await startEmulator(t, { accessTokens: ['given-token'] })
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      UPSTREAM_USER: 'ann',
      UPSTREAM_PASSWORD: 'pass',
      UPSTREAM_ACCESS_TOKEN: 'given-token'
    }
  })
  for (const version of versions) {
    t.equal((await ask(gateway, version, 'hi')).status, 200)
    t.equal(lastReceived(emulator, '/chat/completions').headers.authorization, 'Bearer given-token')
  }
  t.equal(emulator.stats.oauthCalls, 0)
  emulator.expireTokens('given-token')
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  t.strictSame([emulator.stats.oauthCalls, emulator.stats.tokenCalls, emulator.stats.unauthorized], [1, 0, 1])
})

t.test('a token that cannot be renewed is used as it is, and its refusal is the response', async t => {
  const emulator = await startEmulator(t, { accessTokens: ['only-token'] })
  const gateway = await startGateway(t, {
    env: { UPSTREAM_BASE_URL: emulator.baseUrl, UPSTREAM_ACCESS_TOKEN: 'only-token' }
  })
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  emulator.expireTokens()
  for (const version of versions) {
    emulator.reset()
    const response = await ask(gateway, version, 'hi')
    t.equal(response.status, 401)
    t.match(response.json.error, { type: 'authentication_error', code: 'invalid_api_key' })
    t.equal(received(emulator, '/chat/completions').length, 1)
  }
})

t.test('without any credential calls go out without authorization', async t => {
  const emulator = await startEmulator(t, { requireAuthorization: false })
  const gateway = await startGateway(t, { env: { UPSTREAM_BASE_URL: emulator.baseUrl } })
  t.equal((await ask(gateway, 'v1', 'hi', { headers: { authorization: 'Bearer of-the-client' } })).status, 200)
  t.equal((await post(`${gateway.url}/v1/embeddings`, { input: 'x' })).status, 200)
  for (const { headers } of emulator.requests) t.notOk('authorization' in headers)
})

t.test('refusals and failures of the token server are answered like those of the API, without a storm', async t => {
  const closed = await startEmulator(t, { credentials: 'other', scopes: ['GIGACHAT_API_PERS'] })
  const refused = await startGateway(t, { env: emulatorVariables(closed) })
  closed.reset()
  const responses = await Promise.all(Array.from({ length: 20 }, () => ask(refused, 'v1', 'hi')))
  for (const response of responses) {
    t.equal(response.status, 401)
    t.match(response.json.error, { type: 'authentication_error', code: 'invalid_api_key' })
  }
  t.equal((await stream(refused, 'v2', 'hi')).response.status, 401)
  t.ok(closed.stats.oauthCalls <= 2, `${closed.stats.oauthCalls} token calls`)
  t.equal(received(closed, '/chat/completions').length, 0)

  const { emulator, gateway } = shared
  const outOfScope = await startGateway(t, {
    env: { ...emulatorVariables(emulator), UPSTREAM_SCOPE: 'GIGACHAT_API_CORP' }
  })
  const response = await ask(outOfScope, 'v1', 'hi')
  t.equal(response.status, 400)
  t.match(response.json.error, { type: 'invalid_request_error', code: null, message: /scope/ })

  await get(`${gateway.url}/v1/models`)
  for (const [rule, status, code] of [
    [{ status: 500 }, 500, null],
    [{ status: 503, retryAfter: '9' }, 503, 'provider_failure'],
    [{ status: 502, html: true }, 502, 'provider_failure'],
    [{ status: 429 }, 429, null],
    [{ status: 0 }, 502, 'provider_failure']
  ] as const) {
    emulator.expireTokens()
    emulator.failNext({ path: '/oauth', times: 1, ...rule })
    const failed = await ask(gateway, 'v1', 'hi')
    t.equal(failed.status, status)
    t.equal(failed.json.error.code, code)
    t.notMatch(failed.text, /html|127\.0\.0\.1|oauth/i)
    if (status === 503) t.equal(failed.headers.get('retry-after'), '9')
    // The failure answers for a moment; then the token server is asked again.
    const deadline = performance.now() + 20_000
    let recovered = failed
    while (recovered.status !== 200 && performance.now() < deadline) recovered = await ask(gateway, 'v1', 'hi')
    t.equal(recovered.status, 200)
  }
})

t.test('both forms of a token response are read', async t => {
  const { emulator, gateway } = shared
  t.teardown(() => emulator.configure({ oauthForm: 'standard', expInSeconds: true }))
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  for (const expInSeconds of [true, false]) {
    emulator.configure({ oauthForm: 'alternative', expInSeconds })
    emulator.expireTokens()
    const before = emulator.stats.oauthCalls
    for (let round = 0; round < 3; round++) t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
    t.equal(emulator.stats.oauthCalls - before, 1)
  }
})
