// Tokens: how they are issued, refused, used, expired and revoked.
import t from 'tap'
import { createEmulator } from '../../../ops/emulator/server.ts'
import { basicCredentials, fetchToken, send, startClient } from './support.ts'

const requestId = '126ad688-5963-4e19-a0dc-ab2da05d3070'
const headers = { authorization: `Basic ${basicCredentials}`, rquid: requestId }

t.test('client credentials get an opaque token that expires at a time in milliseconds', async t => {
  const emulator = await createEmulator({ now: () => 1_767_225_600_000 })
  t.teardown(() => emulator.close())
  const response = await send(emulator.authUrl, { body: 'scope=GIGACHAT_API_CORP', headers })
  t.equal(response.status, 200)
  t.equal(response.headers['content-type'], 'application/json')
  const body = JSON.parse(response.text)
  t.same(Object.keys(body), ['access_token', 'expires_at'])
  t.equal(body.expires_at, 1_767_225_600_000 + 30 * 60 * 1000)
  t.equal(body.access_token.length, 1200)
  t.equal(emulator.stats.oauthCalls, 1)
  t.same(emulator.requests[0]?.body, { scope: 'GIGACHAT_API_CORP' })
})

t.test('the alternative OAuth form has the members tok and exp', async t => {
  const emulator = await createEmulator({
    oauthForm: 'alternative',
    now: () => 1_767_225_600_000,
    tokenLifetimeMs: 1000
  })
  t.teardown(() => emulator.close())
  const response = await send(emulator.authUrl, { body: 'scope=GIGACHAT_API_PERS', headers })
  t.equal(JSON.parse(response.text).exp, 1_767_225_601)
})

t.test('each kind of wrong OAuth call gets its own status and code', async t => {
  const emulator = await createEmulator({ credentials: basicCredentials, scopes: ['GIGACHAT_API_PERS'] })
  t.teardown(() => emulator.close())
  const wrong = Buffer.from('client:other').toString('base64')
  const cases: Array<[string, Record<string, string>, string, number, number]> = [
    ['no RqUID', { authorization: headers.authorization }, 'scope=GIGACHAT_API_PERS', 400, 2],
    ['RqUID of version 1', { ...headers, rquid: requestId.replace('4e19', '1e19') }, 'scope=GIGACHAT_API_PERS', 400, 2],
    ['no scope', headers, '', 400, 5],
    ['unknown scope', headers, 'scope=everything', 400, 1],
    ['scope not granted', headers, 'scope=GIGACHAT_API_B2B', 400, 7],
    ['no credentials', { rquid: requestId }, 'scope=GIGACHAT_API_PERS', 401, 4],
    ['not base64', { ...headers, authorization: 'Basic %%%' }, 'scope=GIGACHAT_API_PERS', 401, 4],
    ['wrong secret', { ...headers, authorization: `Basic ${wrong}` }, 'scope=GIGACHAT_API_PERS', 401, 6]
  ]
  for (const [name, given, body, status, code] of cases) {
    const response = await send(emulator.authUrl, { body, headers: given, method: 'POST' })
    t.equal(response.status, status, name)
    t.match(JSON.parse(response.text), { code, message: String }, name)
  }
  t.equal((await send(emulator.authUrl)).status, 405)
})

t.test('user and password get a token that expires at a time in seconds, or by a setting in milliseconds', async t => {
  const emulator = await createEmulator({
    users: { ann: 'pass:word' },
    now: () => 1_767_225_600_000,
    tokenLifetimeMs: 60_000
  })
  t.teardown(() => emulator.close())
  const authorization = `Basic ${Buffer.from('ann:pass:word').toString('base64')}`
  const call = () => send(`${emulator.baseUrl}/token`, { method: 'POST', headers: { authorization } })
  const first = JSON.parse((await call()).text)
  t.same(Object.keys(first), ['tok', 'exp'])
  t.equal(first.exp, 1_767_225_660)
  emulator.configure({ expInSeconds: false })
  t.equal(JSON.parse((await call()).text).exp, 1_767_225_660_000)
  const refused = await send(`${emulator.baseUrl}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from('ann:x').toString('base64')}` }
  })
  t.equal(refused.status, 401)
  t.equal(emulator.stats.tokenCalls, 3)
  const models = await send(`${emulator.baseUrl}/models`, { headers: { authorization: `Bearer ${first.tok}` } })
  t.equal(models.status, 200)
})

t.test('a call without a valid token is 401', async t => {
  const { emulator, call } = await startClient(t)
  for (const authorization of ['', 'Bearer wrong', 'Basic abc']) {
    const response = await call('/api/v1/models', { headers: { authorization } })
    t.equal(response.status, 401)
    t.same(JSON.parse(response.text), { status: 401, message: 'Unauthorized' })
  }
  t.equal(emulator.stats.unauthorized, 3)
})

t.test('a token is refused after its lifetime and after its revocation', async t => {
  let time = 1_000_000
  const { emulator, call } = await startClient(t, { now: () => time, tokenLifetimeMs: 5000 })
  t.equal((await call('/api/v1/models')).status, 200)
  time += 5000
  const expired = await call('/api/v1/models')
  t.same([expired.status, JSON.parse(expired.text).message], [401, 'Token has expired'])
  const token = await fetchToken(emulator)
  const other = await fetchToken(emulator)
  t.equal(emulator.expireTokens(token), 1)
  const use = (value: string) => call('/api/v1/models', { headers: { authorization: `Bearer ${value}` } })
  t.equal((await use(token)).status, 401)
  t.equal((await use(other)).status, 200)
  t.equal(emulator.expireTokens() >= 1, true)
  t.equal((await use(other)).status, 401)
})

t.test('a registered access token is accepted, and authorization can be switched off', async t => {
  const emulator = await createEmulator({ accessTokens: ['ready'] })
  t.teardown(() => emulator.close())
  const use = async (headers: Record<string, string>) => (await send(`${emulator.baseUrl}/models`, { headers })).status
  t.equal(await use({ authorization: 'Bearer ready' }), 200)
  emulator.registerToken('later')
  t.equal(await use({ authorization: 'bearer later' }), 200)
  t.equal(await use({}), 401)
  emulator.configure({ requireAuthorization: false })
  t.equal(await use({}), 200)
})
