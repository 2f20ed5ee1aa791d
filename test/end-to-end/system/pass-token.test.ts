// Upstream authorization that clients send (operations.md 4.4), in every family.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { askIn, families, openStream, readEnd, readError, streamedTextIn } from './support.ts'

const emulator = await startEmulator(t, { accessTokens: ['abc'] })
const base = { ...emulatorVariables(emulator), GATEWAY_PASS_TOKEN: 'true' }
const gateway = await startGateway(t, { env: { ...base, GATEWAY_PASS_TOKEN_CLIENT_CACHE_SIZE: '1' } })
const basic = (pair: string): string => Buffer.from(pair).toString('base64')
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const last = (end: string) => emulator.requests.findLast(({ path }) => path.endsWith(end))

t.test('operations 39: an access token is forwarded unchanged, with its scheme in upper or lower case', async t => {
  for (const family of families) {
    for (const authorization of ['Bearer upstream-auth-abc', 'bearer upstream-auth-abc']) {
      const response = await askIn(gateway, family, 'hi', { headers: { authorization } })
      t.equal(response.status, 200, family)
      t.equal(last('/chat/completions')?.headers.authorization, 'Bearer abc', family)
    }
  }
  t.equal((await post(`${gateway.url}/v1/embeddings`, { input: 'x' }, bearer('upstream-auth-abc'))).status, 200)
  t.equal(last('/embeddings')?.headers.authorization, 'Bearer abc')
  const refused = await askIn(gateway, 'completions', 'hi', { headers: bearer('upstream-auth-unknown') })
  t.equal(refused.status, 401, 'it cannot be renewed')
})

t.test(
  'operations 40: credentials are exchanged with their scope, a user and a password at the token path of the base URL',
  async t => {
    const plain = basic('client-a:secret')
    t.equal((await askIn(gateway, 'messages', 'hi', { headers: bearer(`upstream-cred-${plain}`) })).status, 200)
    t.equal(last('/oauth')?.headers.authorization, `Basic ${plain}`)
    t.strictSame(last('/oauth')?.body, { scope: 'GIGACHAT_API_PERS' })
    const scoped = bearer(`upstream-cred-${basic('client-b:secret')}:GIGACHAT_API_CORP`)
    t.equal((await askIn(gateway, 'content', 'hi', { headers: scoped })).status, 200)
    t.strictSame(last('/oauth')?.body, { scope: 'GIGACHAT_API_CORP' })
    const user = bearer('upstream-user-ann:pass:word')
    t.equal((await askIn(gateway, 'responses', 'hi', { headers: user })).status, 200)
    t.equal(last('/token')?.headers.authorization, `Basic ${basic('ann:pass:word')}`)
  }
)

t.test(
  'operations 41: a malformed token is refused before the upstream is called, and is in no output (M2)',
  async t => {
    emulator.reset()
    const tokens = [
      'upstream-cred-',
      'upstream-cred-canary:',
      'upstream-user-canary',
      'upstream-user-canary:',
      'upstream-auth-',
      'upstream-canary'
    ]
    for (const family of families) {
      for (const token of tokens) {
        const response = await askIn(gateway, family, 'hi', { headers: bearer(token) })
        t.equal(response.status, 400, `${family} ${token}`)
        const error = readError(family, response)
        t.equal(error.message, 'Invalid upstream pass-through token')
        t.equal(error.code, 'invalid_upstream_authorization', family)
        t.notMatch(response.text, /canary/)
      }
    }
    t.equal(emulator.requests.length, 0)
  }
)

t.test('a bearer without the prefix is no credential of the upstream: the server has its own', async t => {
  for (const family of families) {
    for (const token of ['canary', 'sk-proj-1', 'upstream', 'Upstream-auth-abc']) {
      const response = await askIn(gateway, family, 'hi', { headers: bearer(token) })
      t.equal(response.status, 200, `${family} ${token}`)
      t.not(last('/chat/completions')?.headers.authorization, `Bearer ${token}`)
      t.not(last('/chat/completions')?.headers.authorization, 'Bearer abc')
    }
  }
})

t.test('operations 43: system routes and liveness ignore the token', async t => {
  for (const path of ['/health', '/ping', '/ready', '/']) {
    t.not((await get(gateway.url + path, bearer('zzz'))).status, 400, path)
  }
  t.equal((await get(`${gateway.url}/health`, bearer('zzz'))).status, 200)
})

t.test(
  'operations 44: with a limit of one, an unused client is removed for a new one, and a client in use keeps its stream',
  async t => {
    const [first, second] = ['one:1', 'two:2'].map(pair => bearer(`upstream-cred-${basic(pair)}`))
    const tokensOf = (pair: string) =>
      emulator.requests.filter(
        ({ path, headers }) => path.endsWith('/oauth') && headers.authorization === `Basic ${basic(pair)}`
      ).length
    for (const headers of [first, second, first]) {
      t.equal((await askIn(gateway, 'completions', 'hi', { headers: headers ?? {} })).status, 200)
    }
    t.strictSame([tokensOf('one:1'), tokensOf('two:2')], [2, 1], 'the first was removed and fetched a second token')
    const prompt = '[[tick:40]][[chunks:a|b|c|d|e|f|g|h]]'
    const streaming = await openStream(gateway, 'completions', prompt, { headers: first ?? {} })
    for (let round = 0; round < 3; round++) {
      t.equal((await askIn(gateway, 'completions', 'hi', { headers: second ?? {} })).status, 200)
    }
    const text = await streaming.text()
    t.equal(streamedTextIn('completions', text), 'abcdefgh')
    t.equal(readEnd('completions', text), 'success')
  }
)

t.test(
  'operations 42: with authentication on, the bearer token is for the upstream and the gateway key is read elsewhere',
  async t => {
    const keyed = await startGateway(t, {
      env: { ...base, GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' }
    })
    for (const family of families) {
      const withToken = bearer('upstream-auth-abc')
      for (const [headers, query, status] of [
        [{ ...withToken, 'x-api-key': 'k1' }, '', 200],
        [{ ...withToken, 'x-goog-api-key': 'k1' }, '', 200],
        [withToken, '?key=k1', 200],
        [withToken, '?x-api-key=k1', 200],
        [withToken, '', 401],
        [{ ...withToken, 'x-api-key': 'bad' }, '', 401]
      ] as const) {
        const response = await askIn(keyed, family, 'hi', { headers, query })
        t.equal(response.status, status, `${family} ${JSON.stringify(headers)} ${query}`)
        if (status === 200) t.equal(last('/chat/completions')?.headers.authorization, 'Bearer abc')
      }
      t.equal((await askIn(keyed, family, 'hi', { headers: bearer('k1') })).status, 200)
      t.not(last('/chat/completions')?.headers.authorization, 'Bearer abc', 'the gateway’s credentials are used')
      const malformed = await askIn(keyed, family, 'hi', {
        headers: { ...bearer('upstream-user-x'), 'x-api-key': 'k1' }
      })
      t.equal(malformed.status, 400)
    }
  }
)

t.test('the log contains no token of a client', async t => {
  t.equal(await gateway.stop(), 0)
  const log = readFileSync(join(gateway.folder, 'gateway.log'), 'utf8')
  t.match(log, /Failed to pass token to upstream/)
  t.notMatch(log, /canary|upstream-auth-abc|pass:word/)
  t.notMatch(log, new RegExp(`${basic('client-a:secret')}|${basic('ann:pass:word')}`))
})
