// The life of a token that is fetched with the key of a Google service account (providers.md 1 and 2).

import { execFileSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ProfileAuth } from '../../../../shared/profile/profile.ts'
import { waitUntil } from '../../../support/processes.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'
import { startTokenServer } from '../../../support/token-server.ts'
import { compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

const KINDS = ['chat_compatible', 'messages_compatible', 'content_compatible'] as const
const HOUR_MS = 3_600_000
const EMAIL = 'gateway@project.iam.gserviceaccount.com'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
/** A line of the key: no output may hold any of it. */
const KEY_LINE = PEM.split('\n')[3] ?? ''

function writeKey(tokenUrl: string, changes: object = {}): string {
  return JSON.stringify({
    type: 'service_account',
    project_id: 'project',
    private_key_id: 'key-1',
    private_key: PEM,
    client_email: EMAIL,
    client_id: '1',
    token_uri: tokenUrl,
    ...changes
  })
}

interface AccountOptions {
  kind?: (typeof KINDS)[number]
  scopes?: string[]
  serverScope?: string
  /** The text of the key in place of the right one. */
  text?: (tokenUrl: string) => string
  by?: 'file' | 'env'
  tokenDeadlineMs?: number
}

async function startAccount(t: Test, options: AccountOptions = {}) {
  const { kind = 'content_compatible', scopes, serverScope = SCOPE, text = writeKey, by = 'file' } = options
  const clock = { wallMs: 1_800_000_000_000, monotonicMs: 1_000, serverMs: 1_800_000_000_000 }
  const server = await startTokenServer(t, {
    email: EMAIL,
    keyId: 'key-1',
    publicKey,
    scope: serverScope,
    nowMs: () => clock.serverMs
  })
  const provider = await startStub(({ headers }, response) => {
    if (!server.accepts(headers.authorization)) return sendJson(response, 401, { oops: 'no' })
    if (headers['accept-encoding'] !== undefined) return sendJson(response, 200, { words: ['hi'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: BEGIN\n\ndata: hi\n\n')
  })
  t.teardown(() => provider.close())
  const file = join(createTemporaryFolder(t), 'key.json')
  if (by === 'file') writeFileSync(file, text(server.tokenUrl))
  const auth: ProfileAuth = {
    type: 'google_service_account',
    ...(by === 'file' ? { file } : { env: 'GOOGLE_KEY' }),
    ...(scopes === undefined ? {} : { scopes })
  }
  const { executorOf, memory, close } = startCompatible(
    t,
    {
      p1: {
        kind,
        baseUrl: provider.origin,
        more: { auth },
        variables: by === 'env' ? { GOOGLE_KEY: text(server.tokenUrl) } : {}
      }
    },
    {
      ...(options.tokenDeadlineMs === undefined ? {} : { tokenDeadlineMs: options.tokenDeadlineMs }),
      clocks: { now: () => clock.wallMs, monotonicMs: () => clock.monotonicMs, random: () => 0 }
    }
  )
  return {
    server,
    provider,
    memory,
    close,
    file,
    clock,
    async call(isStream = false): Promise<string> {
      const sink = createSink()
      await executorOf('p1').chat(compatibleCall({ isStream, kind }), contextOf(), sink)
      return sink.text()
    },
    pass(ms: number) {
      clock.wallMs += ms
      clock.serverMs += ms
      clock.monotonicMs += ms
    },
    failures: () => memory.lines.filter(line => line.event === 'upstream_token_failed')
  }
}

for (const kind of KINDS) {
  t.test(`providers 6, ${kind}: the account's token authorizes whole and streamed calls`, async t => {
    for (const by of ['file', 'env'] as const) {
      const { server, provider, memory, call } = await startAccount(t, { kind, by })
      const first = await Promise.all([call(), call(true)])
      t.same([...first, await call(), await call(true)], ['hi', 'hi', 'hi', 'hi'])
      t.same(server.deviations, [])
      t.equal(server.issued.length, 1)
      for (const { headers } of provider.requests) t.notHas(headers, { 'x-goog-api-key': /./ })
      t.notMatch(memory.text(), /tok3n-canary|eyJ/)
      t.notOk(memory.text().includes(KEY_LINE))
    }
  })
}

t.test('scopes of the profile replace the usual one, and a key may lack its id', async t => {
  const scopes = ['https://www.googleapis.com/auth/a', 'https://www.googleapis.com/auth/b']
  const { server, call } = await startAccount(t, { scopes, serverScope: scopes.join(' ') })
  t.equal(await call(), 'hi')
  t.same(server.deviations, [])

  const nameless = await startAccount(t, { text: url => writeKey(url, { private_key_id: undefined }) })
  await rejection(nameless.call())
  t.same(nameless.server.deviations, ['the header'], 'the server of this test knows its keys by their ids')
})

t.test('providers 12: a token is fetched again when the old one ends, and after a 401 of the provider', async t => {
  const { server, call, pass } = await startAccount(t)
  await call()
  pass(HOUR_MS)
  t.equal(await call(), 'hi')
  t.equal(server.issued.length, 2)
  server.revokeAll()
  t.equal(await call(true), 'hi')
  t.equal(server.issued.length, 3)
})

t.test('providers 12: a wrong system time is the gateway’s own failure, with the server’s word in the log', async t => {
  for (const skewMs of [-2 * HOUR_MS, 2 * HOUR_MS]) {
    const { server, clock, call, pass, failures } = await startAccount(t)
    clock.wallMs += skewMs
    t.match(await rejection(call()), { code: 'provider_failure', status: 502, reason: 'credential_refresh_failed' })
    t.match(failures(), [{ status: 400, oauth_error: 'invalid_grant', profile_id: 'p1' }])

    // Once it is right again, jumps of it cost no token.
    clock.wallMs -= skewMs
    pass(5_000)
    await call()
    clock.wallMs += skewMs
    t.equal(await call(), 'hi')
    t.equal(server.issued.length, 1)
  }
})

t.test('providers 12: a file that is replaced is used with the next token', async t => {
  const { file, server, call, pass, failures } = await startAccount(t, { text: () => '{"type":"service_account"}' })
  t.match(await rejection(call()), { status: 502, reason: 'credential_refresh_failed' })
  writeFileSync(file, writeKey(server.tokenUrl))
  pass(1_000)
  t.equal(await call(), 'hi')

  rmSync(file)
  pass(2 * HOUR_MS)
  t.match(await rejection(call()), { status: 502, reason: 'credential_refresh_failed' })
  t.match(failures(), [
    { error_type: 'credential_error', cause: /no JSON of a service account/ },
    { error_type: 'credential_error', cause: /cannot be read \(ENOENT\)/ }
  ])
  t.notOk(JSON.stringify(failures()).includes(file), 'no line names the path')
})

t.test('a file that cannot be read to its end fails the calls after a deadline', async t => {
  const { file, call, failures } = await startAccount(t, { tokenDeadlineMs: 200 })
  rmSync(file)
  execFileSync('mkfifo', [file])
  t.match(await rejection(call()), { status: 502, reason: 'credential_refresh_failed' })
  t.match(failures(), [{ error_type: 'timeout', cause: /^reading the account took longer than 200 ms/ }])
  // Ends the read, which no deadline ends.
  writeFileSync(file, '')
})

t.test('a key for another token server asks that one, and leaves the old one alone', async t => {
  const { file, server, call, pass } = await startAccount(t)
  await call()
  const other = await startAccount(t)
  writeFileSync(file, writeKey(other.server.tokenUrl))
  pass(2 * HOUR_MS)
  other.clock.serverMs += 2 * HOUR_MS
  await call()
  t.equal(other.server.issued.length, 1)
  t.equal(server.issued.length, 1)
  await waitUntil(() => server.stub.openSockets() === 0, 'the connection to the old one is closed')
})

t.test('a key that cannot be used says why in the log, without a word of it', async t => {
  const ecKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const ecPem = ecKey.export({ type: 'pkcs8', format: 'pem' })
  const pkcs1 = createPrivateKey(PEM).export({ type: 'pkcs1', format: 'pem' })
  const rows: Array<[name: string, text: (url: string) => string, cause: RegExp]> = [
    ['no JSON', () => `not JSON ${KEY_LINE}`, /no JSON/],
    ['a list', () => '[]', /no JSON/],
    ['a user', url => writeKey(url, { type: 'authorized_user' }), /no JSON/],
    ['no e-mail', url => writeKey(url, { client_email: '' }), /no JSON/],
    ['a broken key', url => writeKey(url, { private_key: `-----BEGIN\n${KEY_LINE}` }), /signs nothing/],
    ['a key of another kind', url => writeKey(url, { private_key: ecPem }), /signs nothing/],
    ['an old form', url => writeKey(url, { private_key: pkcs1 }), /signs nothing/],
    ['a public server', () => writeKey('https://tokens.example/token'), /refuses its token_uri/],
    ['metadata', () => writeKey('http://169.254.169.254/token'), /refuses its token_uri/],
    ['no URL', () => writeKey('token'), /refuses its token_uri/]
  ]
  for (const by of ['file', 'env'] as const) {
    for (const [name, text, cause] of rows) {
      const { server, provider, memory, call, failures } = await startAccount(t, { text, by })
      const error = await rejection(call())
      t.match(error, { code: 'provider_failure', status: 502, reason: 'credential_refresh_failed' }, name)
      t.match(failures(), [{ cause, reason_id: 'credential_refresh_failed' }], name)
      t.notOk((String(error) + memory.text()).includes(KEY_LINE), name)
      t.equal(server.stub.requests.length + provider.requests.length, 0, name)
    }
  }
})
