// Native profiles of a file behind a worker: two accounts at once, each with its own key, and
// clients' tokens for neither of them (bridge.md 7.2; operations.md 4.4).

import t from 'tap'
import { createEmulator } from '../../../ops/emulator/server.ts'
import { get, post } from '../../support/client.ts'
import { askIn, families } from '../system/support.ts'
import { chatProfile, startBridge } from './executor-support.ts'

const basic = (pair: string): string => Buffer.from(pair).toString('base64')
const emulator = await createEmulator()
t.teardown(() => emulator.close())

const native = { providerKind: 'native' } as const
const profiles = [
  chatProfile(
    'first',
    emulator.baseUrl,
    { 'team/first': 'GigaChat-2', 'team/embed': 'Embeddings' },
    { ...native, modelInventory: 'dynamic' }
  ),
  chatProfile('second', emulator.baseUrl, { 'team/second': 'GigaChat-2-Pro' }, native)
]
const credentials = { first: basic('first:secret-1'), second: basic('second:secret-2') }
const env = {
  GATEWAY_PASS_TOKEN: 'true',
  UPSTREAM_AUTH_URL: emulator.authUrl,
  UPSTREAM_ACCESS_TOKEN: 'of-the-settings'
}

/** What a client sends that uses the gateway's pass-through elsewhere. */
const tokens = ['upstream-auth-abc', `upstream-cred-${basic('c:secret-3')}`, 'upstream-user-', 'canary']

t.beforeEach(() => emulator.reset())

t.test('the token of a client reaches no profile of a file, and fails no request', async t => {
  const gateway = await startBridge(t, { profiles, credentials, env })
  for (const family of families) {
    for (const token of tokens) {
      for (const model of ['team/first', 'team/second']) {
        const headers = { authorization: `Bearer ${token}` }
        t.equal((await askIn(gateway, family, 'hi', { model, headers })).status, 200, `${family} ${model}`)
      }
    }
  }
  const models = await get(`${gateway.url}/v1/models`, { authorization: `Bearer ${tokens[0]}` })
  t.equal(models.status, 200)
  const embedded = await post(
    `${gateway.url}/v1/embeddings`,
    { model: 'team/embed', input: 'hi' },
    { authorization: `Bearer ${tokens[0]}` }
  )
  t.equal(embedded.status, 200)
  const sent = JSON.stringify(emulator.requests.map(({ headers }) => headers))
  for (const token of [...tokens, 'of-the-settings', 'Bearer abc"', basic('c:secret-3')])
    t.notOk(sent.includes(token), token)
  const oauth = emulator.requests
    .filter(({ path }) => path.endsWith('/oauth'))
    .map(({ headers }) => headers.authorization)
  t.same(
    oauth.sort(),
    Object.values(credentials)
      .map(text => `Basic ${text}`)
      .sort()
  )
})

t.test('with keys on, the key comes in its own header beside the token of the client', async t => {
  const gateway = await startBridge(t, {
    profiles,
    credentials,
    env: { ...env, GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'key-of-the-gateway' }
  })
  const ask = (headers: Record<string, string>) =>
    askIn(gateway, 'completions', 'hi', { model: 'team/second', headers })
  const authorization = `Bearer ${tokens[0]}`
  t.equal((await ask({ authorization, 'x-api-key': 'key-of-the-gateway' })).status, 200)
  t.equal((await ask({ authorization: 'Bearer key-of-the-gateway' })).status, 200)
  t.equal((await ask({ authorization })).status, 401)
  t.equal((await ask({ authorization, 'x-api-key': 'wrong' })).status, 401)
})
