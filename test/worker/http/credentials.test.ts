import t from 'tap'
import type { RequestObserver } from '../../../worker/observation/observer.ts'
import { post } from '../../support/client.ts'
import { mountOperation } from '../../support/operations.ts'
import { echo, startApplication } from './support.ts'

function mountAll(app: Parameters<typeof mountOperation>[0]): void {
  const shared = { method: 'POST', isModelRequest: true, handler: echo } as const
  mountOperation(app, { ...shared, path: '/chat/completions', family: 'completions' })
  mountOperation(app, { ...shared, path: '/messages', family: 'messages' })
  mountOperation(app, { ...shared, path: '/models/{model+}', family: 'content' })
  mountOperation(app, { method: 'GET', path: '/models', family: 'by-client', isModelRequest: false, handler: echo })
}

const auth = { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' }

async function start(
  t: Parameters<typeof startApplication>[0],
  env: Record<string, string>,
  observers: RequestObserver[] = []
) {
  const { url, logged } = await startApplication(t, { env, routes: mountAll, observers })
  const ask = (path: string, headers: Record<string, string> = {}) => post(url + path, '{}', headers)
  return { url, logged, ask, chat: (headers = {}, query = '') => ask(`/v1/chat/completions${query}`, headers) }
}

t.test('operations 31: a missing and a wrong key are 401, in exactly the envelope of each family', async t => {
  const { url, ask } = await start(t, auth)
  for (const [headers, message] of [
    [{}, 'API key required'],
    [{ 'x-api-key': 'bad' }, 'Invalid API key']
  ] as const) {
    const models = await fetch(`${url}/v1/models`, { headers })
    t.equal(models.status, 401)
    t.equal(models.headers.get('www-authenticate'), 'Bearer')
    t.same(await models.json(), {
      error: { message, type: 'authentication_error', param: null, code: 'invalid_api_key' }
    })
    const messages = await ask('/v1/messages', headers)
    t.equal(messages.status, 401)
    t.same(messages.json, {
      type: 'error',
      error: { type: 'authentication_error', message },
      request_id: messages.headers.get('x-request-id')
    })
    const content = await ask('/v1/models/x:generateContent', headers)
    t.equal(content.status, 401)
    t.same(content.json, {
      error: {
        code: 401,
        message,
        status: 'UNAUTHENTICATED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'gateway' }]
      }
    })
  }
})

t.test('operations 32, 33, 34: keys are found and chosen the same way over HTTP', async t => {
  const { chat } = await start(t, auth)
  const good: Array<[headers: Record<string, string>, query?: string]> = [
    [{ authorization: 'Bearer k1' }],
    [{ authorization: 'bearer k1' }],
    [{ 'x-api-key': 'k1' }],
    [{ 'x-goog-api-key': 'k1' }],
    [{}, '?key=k1'],
    [{}, '?x-api-key=k1'],
    [{ authorization: 'Basic Zm9v', 'x-api-key': 'k1' }]
  ]
  for (const [headers, query] of good)
    t.equal((await chat(headers, query)).status, 200, JSON.stringify([headers, query]))
  t.equal((await chat({ 'x-api-key': 'k1' }, '?x-api-key=bad')).status, 401)
  t.equal((await chat({ authorization: 'Bearer bad', 'x-api-key': 'k1' })).status, 401)
})

t.test('operations 35: a key outside ASCII is 401', async t => {
  const { chat } = await start(t, auth)
  t.equal((await chat({ 'x-api-key': 'k\u00e9y' })).status, 401)
  t.equal((await chat({}, '?key=%D0%BA%D0%BB')).status, 401)
})

t.test('operations 22, 24: the query survives the repair of the path', async t => {
  const { url } = await start(t, auth)
  t.equal((await fetch(`${url}/api/v1/models?key=k1`)).status, 200)
  t.equal((await fetch(`${url}/v1/models/?key=k1`)).status, 200)
})

t.test('operations 37: in PROD a key is required without a setting', async t => {
  const { chat } = await start(t, { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'k1' })
  t.equal((await chat()).status, 401)
  t.equal((await chat({ 'x-api-key': 'k1' })).status, 200)
})

t.test('without authentication no key is required, and an ordinary bearer token is ignored', async t => {
  const { chat } = await start(t, {})
  t.same((await chat()).json.authorization, { type: 'server' })
  t.same((await chat({ authorization: 'Bearer whatever' })).json.authorization, { type: 'server' })
  t.same((await chat({ authorization: 'Bearer upstream-auth-abc' })).json.authorization, { type: 'server' })
})

t.test('named keys are accepted beside the first one', async t => {
  const { chat } = await start(t, { ...auth, GATEWAY_API_KEYS: '{"next":"k2"}' })
  t.equal((await chat({ 'x-api-key': 'k2' })).status, 200)
  t.equal((await chat({ 'x-api-key': 'next' })).status, 401)
})

t.test('decisions.md 41: a wrong key is 401 however often it is sent, and observers see each failure', async t => {
  const failures: string[] = []
  const observer = {
    name: 'failures',
    authenticationFailed: (_request: object, reason: string) => failures.push(reason)
  }
  const { chat, logged } = await start(t, auth, [observer])
  for (let attempt = 1; attempt <= 30; attempt += 1) t.equal((await chat({ 'x-api-key': 'bad' })).status, 401)
  t.equal((await chat()).status, 401)
  t.equal((await chat({ 'x-api-key': 'k1' })).status, 200)
  t.same(failures, [...Array.from({ length: 30 }, () => 'wrong'), 'missing'])
  const lines = logged.filter(line => line.event === 'authentication_failed')
  t.match(lines[0], { level: 40, reason: 'wrong', route: '/v1/chat/completions', client_ip_hash: /^hmac-sha256:/ })
  t.notMatch(JSON.stringify(logged), /"bad"|127\.0\.0\.1/)
})

t.test('operations 39, 40: upstream authorization is read from the bearer token', async t => {
  const { chat } = await start(t, { GATEWAY_PASS_TOKEN: 'true' })
  const token = { type: 'access-token', accessToken: 'abc' }
  t.same((await chat({ authorization: 'Bearer upstream-auth-abc' })).json.authorization, token)
  t.same((await chat({ authorization: 'bearer upstream-auth-abc' })).json.authorization, token)
  t.same((await chat({ authorization: 'Bearer upstream-cred-x:SCOPE' })).json.authorization, {
    type: 'credentials',
    credentials: 'x',
    scope: 'SCOPE'
  })
  t.same((await chat({ authorization: 'Bearer upstream-cred-x' })).json.authorization, {
    type: 'credentials',
    credentials: 'x',
    scope: 'GIGACHAT_API_PERS'
  })
  t.same((await chat({ authorization: 'Bearer upstream-user-me:pw' })).json.authorization, {
    type: 'user',
    user: 'me',
    password: 'pw'
  })
  t.same((await chat()).json.authorization, { type: 'server' })
  t.same((await chat({ authorization: 'Basic Zm9v' })).json.authorization, { type: 'server' })
})

t.test('operations 41: a malformed token is 400, and its text is in no response and no log line (M2)', async t => {
  const { chat, ask, logged } = await start(t, { GATEWAY_PASS_TOKEN: 'true' })
  for (const token of [
    'upstream-cred-',
    'upstream-cred-hush:',
    'upstream-user-hush',
    'upstream-auth-',
    'upstream-hush'
  ]) {
    const response = await chat({ authorization: `Bearer ${token}` })
    t.equal(response.status, 400, token)
    t.same(response.json, {
      error: {
        message: 'Invalid upstream pass-through token',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_upstream_authorization'
      }
    })
  }
  const messages = await ask('/v1/messages', { authorization: 'Bearer upstream-hush' })
  t.match(messages.json, { error: { type: 'invalid_request_error', code: 'invalid_upstream_authorization' } })
  const content = await ask('/v1/models/x:generateContent', { authorization: 'Bearer upstream-hush' })
  t.match(content.json, {
    error: { status: 'INVALID_ARGUMENT', details: [{ reason: 'invalid_upstream_authorization' }] }
  })
  t.notMatch(JSON.stringify(logged), /hush/)
  t.ok(logged.some(line => line.level === 40 && line.msg === 'Failed to pass token to upstream'))
})

t.test(
  'operations 42: with a key required, the bearer token goes upstream and the key is read from another carrier',
  async t => {
    const { chat } = await start(t, { ...auth, GATEWAY_PASS_TOKEN: 'true' })
    const pass = { authorization: 'Bearer upstream-auth-abc' }
    const token = { type: 'access-token', accessToken: 'abc' }
    t.same((await chat({ ...pass, 'x-api-key': 'k1' })).json.authorization, token)
    t.same((await chat({ ...pass, 'x-goog-api-key': 'k1' })).json.authorization, token)
    t.same((await chat(pass, '?key=k1')).json.authorization, token)
    t.equal((await chat(pass)).status, 401)
    t.equal((await chat({ ...pass, 'x-api-key': 'bad' })).status, 401)
    t.same((await chat({ authorization: 'Bearer k1' })).json.authorization, { type: 'server' })
    t.equal((await chat({ authorization: 'Bearer zzz' })).status, 401)
    const malformed = await chat({ authorization: 'Bearer upstream-auth-', 'x-api-key': 'k1' })
    t.equal(malformed.status, 400)
    t.equal((await chat({ authorization: 'Bearer upstream-auth-' })).status, 401, 'the key comes first')
  }
)

t.test('operations 43: system routes ignore the token', async t => {
  const { url } = await start(t, { GATEWAY_PASS_TOKEN: 'true' })
  t.equal((await fetch(`${url}/health`, { headers: { authorization: 'Bearer zzz' } })).status, 200)
})

t.test('operations 45, 46: the headers that a handler passes upstream are filtered', async t => {
  const { chat } = await start(t, auth)
  const { json } = await chat({ 'x-api-key': 'k1', 'x-session-id': 's1', cookie: 'a=b', 'x-foo': 'bar' })
  const headers = Object.fromEntries(json.headers)
  t.equal(headers['X-Session-ID'], 's1')
  t.equal(headers['x-foo'], 'bar')
  t.notMatch(JSON.stringify(headers), /k1|a=b/)
})
