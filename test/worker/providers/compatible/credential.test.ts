// Where the credential of a profile goes, and the life of a token that is fetched with it (providers.md 1 and 2).

import t, { type Test } from 'tap'
import type { ProfileAuth } from '../../../../shared/profile/profile.ts'
import { createAuthority } from '../../../support/certificates.ts'
import { startForwardProxy } from '../../../support/forward-proxy.ts'
import { waitUntil } from '../../../support/processes.ts'
import {
  startTokenServer,
  TOKEN_CANARY,
  type TokenServer,
  type TokenServerOptions,
  WORDS_CANARY
} from '../../../support/token-server.ts'
import { type CompatibleProfile, compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { type StubRequest, type StubServer, sendJson, startStub } from '../support/stub-upstream.ts'

const KINDS = ['chat_compatible', 'messages_compatible', 'content_compatible'] as const
type Kind = (typeof KINDS)[number]
const OWN_HEADERS: Record<Kind, string> = {
  chat_compatible: 'authorization',
  messages_compatible: 'x-api-key',
  content_compatible: 'x-goog-api-key'
}

/** A key and a secret whose characters have another form in a URL. */
const KEY = 'sk-c4nary/+==&?#'
const ACCOUNT = { id: 'app c4nary:1', secret: 's3cret-c4nary~/+:&%' }
const SECRETS = { APP_ID: ACCOUNT.id, APP_SECRET: ACCOUNT.secret }
/** Every text that no output may have, in any form. */
const CANARIES = /c4nary|tok3n-canary|w0rds-of/

type Call = (options?: { isStream?: boolean; signal?: AbortSignal }) => Promise<string>

/** A provider whose answer is `hi`, or 401 for a request that `accepts` does not take. */
async function startProvider(t: Test, accepts: (request: StubRequest) => boolean = () => true): Promise<StubServer> {
  const stub = await startStub((request, response) => {
    if (!accepts(request)) return sendJson(response, 401, { oops: `wrong key ${request.headers.authorization}` })
    if (request.headers['accept-encoding'] !== undefined) return sendJson(response, 200, { words: ['hi'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: BEGIN\n\ndata: hi\n\n')
  })
  t.teardown(() => stub.close())
  return stub
}

function oauth2(server: TokenServer, changes: Partial<Extract<ProfileAuth, { type: 'oauth2' }>> = {}): ProfileAuth {
  return {
    type: 'oauth2',
    tokenUrl: server.tokenUrl,
    clientIdEnv: 'APP_ID',
    clientSecretEnv: 'APP_SECRET',
    clientAuth: 'basic',
    ...changes
  }
}

/** A worker with one profile; its clocks advance only by `pass` and `jump`. */
function startWorker(
  t: Test,
  profile: CompatibleProfile,
  options: { tokenDeadlineMs?: number; resolve?: (host: string) => Promise<string[]> } = {}
) {
  const clock = { wallMs: 1_800_000_000_000, monotonicMs: 500_000 }
  const fetches: string[] = []
  const { executorOf, memory, close } = startCompatible(
    t,
    { p1: profile },
    {
      ...options,
      clocks: { now: () => clock.wallMs, monotonicMs: () => clock.monotonicMs, random: () => 0 },
      onTokenFetched: hasFailed => fetches.push(hasFailed ? 'failed' : 'fetched')
    }
  )
  const call: Call = async ({ isStream = false, signal } = {}) => {
    const sink = createSink()
    const kind = profile.kind ?? 'chat_compatible'
    const context = contextOf(signal === undefined ? {} : { signal })
    await executorOf('p1').chat(compatibleCall({ isStream, kind }), context, sink)
    return sink.text()
  }
  return {
    call,
    memory,
    close,
    fetches,
    pass(ms: number) {
      clock.wallMs += ms
      clock.monotonicMs += ms
    },
    jump(ms: number) {
      clock.wallMs += ms
    },
    linesOf: (event: string) => memory.lines.filter(line => line.event === event)
  }
}

/** A provider that takes the tokens of a token server, and a worker with its account. */
async function startAccount(
  t: Test,
  options: Partial<TokenServerOptions> & { tokenDeadlineMs?: number; networkPolicyRef?: string } = {}
) {
  const { tokenDeadlineMs, networkPolicyRef, ...more } = options
  const server = await startTokenServer(t, { account: ACCOUNT, clientAuth: 'basic', ...more })
  const provider = await startProvider(t, ({ headers }) => server.accepts(headers.authorization))
  const auth = oauth2(server, networkPolicyRef === undefined ? {} : { networkPolicyRef })
  const profile = { baseUrl: provider.origin, more: { auth }, variables: SECRETS }
  const start = () => startWorker(t, profile, tokenDeadlineMs === undefined ? {} : { tokenDeadlineMs })
  return { server, provider, start, ...start() }
}

const HOUR_MS = 3_600_000

for (const kind of KINDS) {
  t.test(`providers 6, ${kind}: the credential goes where the profile says, and nowhere else`, async t => {
    const forms: Array<[auth: ProfileAuth, readsKey: (request: StubRequest) => boolean]> = [
      [{ type: 'header', name: 'api-key' }, ({ headers, url }) => headers['api-key'] === KEY && url === '/say'],
      [
        { type: 'header', name: 'X-Auth', prefix: 'Token ' },
        ({ headers, url }) => headers['x-auth'] === `Token ${KEY}` && url === '/say'
      ],
      [
        { type: 'query', name: 'sub key' },
        ({ url }) => url === '/say?sub%20key=sk-c4nary%2F%2B%3D%3D%26%3F%23' && !url.includes(KEY)
      ]
    ]
    for (const [auth, readsKey] of forms) {
      const provider = await startProvider(t, readsKey)
      const { call, memory } = startWorker(t, { kind, baseUrl: provider.origin, credential: KEY, more: { auth } })
      for (const isStream of [false, true]) t.equal(await call({ isStream }), 'hi', `${auth.type} ${isStream}`)
      for (const { headers } of provider.requests) t.notHas(headers, { [OWN_HEADERS[kind]]: /./ })
      t.notMatch(memory.text(), CANARIES)
    }
  })

  t.test(
    `providers 6, ${kind}: a token of the profile's account authorizes the calls, once for all of them`,
    async t => {
      for (const [clientAuth, form] of [
        ['basic', { scope: 'api://gateway/.default' }],
        ['post', { scope: 'a b', audience: 'https://models.example' }],
        ['post', undefined]
      ] as const) {
        const server = await startTokenServer(t, {
          account: ACCOUNT,
          clientAuth,
          ...(form === undefined ? {} : { form })
        })
        const provider = await startProvider(t, ({ headers }) => server.accepts(headers.authorization))
        const { call, memory, fetches } = startWorker(t, {
          kind,
          baseUrl: provider.origin,
          more: { auth: oauth2(server, { clientAuth, ...form }) },
          variables: SECRETS
        })
        const first = await Promise.all([call(), call({ isStream: true }), call(), call({ isStream: true })])
        t.same(first, ['hi', 'hi', 'hi', 'hi'])
        for (const isStream of [false, true]) t.equal(await call({ isStream }), 'hi')
        t.same(server.deviations, [])
        t.equal(server.issued.length, 1)
        t.same(fetches, ['fetched'])
        for (const { headers } of provider.requests) {
          t.notHas(headers, { 'x-api-key': /./ })
          t.notHas(headers, { 'x-goog-api-key': /./ })
        }
        t.notMatch(memory.text(), CANARIES)
      }
    }
  )
}

t.test('a key in the query stands behind the parameters of the profile', async t => {
  const provider = await startProvider(t)
  const auth: ProfileAuth = { type: 'query', name: 'key' }
  const more = { auth, query: { 'api-version': '2026-10-01' } }
  const { call, memory } = startWorker(t, { baseUrl: provider.origin, credential: KEY, more })
  for (const isStream of [false, true]) t.equal(await call({ isStream }), 'hi')
  for (const { url } of provider.requests) {
    t.same(
      [...new URL(url, provider.origin).searchParams],
      [
        ['api-version', '2026-10-01'],
        ['key', KEY]
      ]
    )
  }
  t.notMatch(memory.text(), CANARIES)
})

t.test('what a provider repeats of a key in the query, or of a token, is masked in every form', async t => {
  const provider = await startStub((request, response) => {
    response.writeHead(400).end(`${request.url} ${decodeURIComponent(request.url)} ${request.headers.authorization}`)
  })
  t.teardown(() => provider.close())
  const server = await startTokenServer(t, { account: ACCOUNT, clientAuth: 'basic' })
  for (const profile of [
    { credential: KEY, more: { auth: { type: 'query', name: 'key' } as const } },
    { more: { auth: oauth2(server) }, variables: SECRETS }
  ]) {
    const { call, memory } = startWorker(t, { baseUrl: provider.origin, ...profile })
    for (const isStream of [false, true]) {
      const error = await rejection(call({ isStream }))
      t.match(error, { status: 400, message: '***' })
      t.notMatch(String(error) + memory.text(), CANARIES)
    }
  }
})

t.test('providers 12: a token is replaced in the last fifth of its lifetime, while the old one serves on', async t => {
  const { server, call, pass, fetches } = await startAccount(t)
  let release: () => void = () => undefined
  await call()
  pass(0.8 * HOUR_MS - 1)
  await call()
  t.equal(server.stub.requests.length, 1)

  server.behave((_response, issue) => {
    release = issue
  })
  pass(1)
  const before = [await call(), await call({ isStream: true }), await call()]
  t.same(before, ['hi', 'hi', 'hi'], 'no call waits for the new token')
  await server.stub.arrived(2)
  t.equal(server.stub.requests.length, 2)
  release()
  server.behave()
  await waitUntil(() => fetches.length >= 2, 'the replacement has ended')
  server.revokeAll()
  t.same(server.issued.length, 2)
  pass(HOUR_MS / 2)
  t.equal(server.stub.requests.length, 2, 'the new one has a lifetime of its own')
})

t.test(
  'providers 12: a replacement that fails harms no call while the old token lasts, and is attempted again',
  async t => {
    const { server, call, pass, fetches, linesOf } = await startAccount(t)
    await call()
    server.behave(response =>
      sendJson(response, 503, { error: 'temporarily_unavailable', error_description: WORDS_CANARY })
    )
    pass(0.9 * HOUR_MS)
    t.equal(await call(), 'hi')
    await waitUntil(() => fetches.length >= 2, 'the replacement has ended')
    for (const isStream of [false, true]) t.equal(await call({ isStream }), 'hi')
    t.equal(server.stub.requests.length, 2, 'not with every call')
    t.match(linesOf('upstream_token_failed'), [
      { level: 40, profile_id: 'p1', status: 503, oauth_error: 'temporarily_unavailable', error_type: 'http_503' }
    ])
    t.same(linesOf('upstream_call_failed'), [])

    pass(5_000)
    server.behave()
    t.equal(await call(), 'hi')
    await waitUntil(() => fetches.length >= 3, 'the second replacement has ended')
    t.same(fetches, ['fetched', 'failed', 'fetched'])

    pass(2 * HOUR_MS)
    server.behave(response => response.writeHead(500).end(WORDS_CANARY))
    t.match(await rejection(call()), { code: 'provider_failure', status: 502 }, 'an expired token is not sent')
  }
)

t.test(
  'providers 12: a system time that jumps by hours, in either direction, causes no token for each call',
  async t => {
    const { server, call, jump } = await startAccount(t)
    for (const ms of [0, 30 * HOUR_MS, -60 * HOUR_MS, 7 * HOUR_MS]) {
      jump(ms)
      for (const isStream of [false, true]) t.equal(await call({ isStream }), 'hi')
    }
    t.equal(server.issued.length, 1)
  }
)

t.test('providers 12: after a 401 of the provider one token is fetched, and the call is repeated once', async t => {
  const { server, provider, call, linesOf, memory } = await startAccount(t)
  for (const isStream of [false, true]) {
    await call({ isStream })
    const [issued, sent] = [server.issued.length, provider.requests.length]
    server.revokeAll()
    t.equal(await call({ isStream }), 'hi')
    t.equal(server.issued.length, issued + 1)
    t.equal(provider.requests.length, sent + 2)
  }
  t.same(linesOf('upstream_call_failed'), [])

  const revoked = await Promise.all([
    call(),
    ...Array.from({ length: 9 }, (_, index) => {
      if (index === 0) server.revokeAll()
      return call({ isStream: index % 2 === 0 })
    })
  ])
  t.ok(revoked.every(text => text === 'hi'))
  t.equal(server.issued.length, 4, 'one for all that were refused together')
  t.notMatch(memory.text(), CANARIES)
})

t.test('providers 12: a 401 of the provider while the token server is down is the gateway’s own failure', async t => {
  const { server, provider, call, linesOf } = await startAccount(t)
  await call()
  server.revokeAll()
  server.behave(response => response.writeHead(503).end(WORDS_CANARY))
  for (const isStream of [false, true]) {
    t.match(await rejection(call({ isStream })), { status: 502, reason: 'credential_refresh_failed' })
  }
  t.equal(provider.requests.length, 2, 'a token that was refused is not sent again')
  t.equal(server.stub.requests.length, 2)
  t.match(linesOf('upstream_token_failed'), [{ status: 503 }])
})

t.test('providers 12: a provider that refuses the new token too fails the call, with one repetition', async t => {
  const server = await startTokenServer(t, { account: ACCOUNT, clientAuth: 'basic' })
  let isOpen = true
  const provider = await startProvider(t, () => isOpen)
  const { call, linesOf } = startWorker(t, {
    baseUrl: provider.origin,
    more: { auth: oauth2(server) },
    variables: SECRETS
  })
  for (const isStream of [false, true]) {
    isOpen = true
    await call({ isStream })
    isOpen = false
    const [issued, sent] = [server.issued.length, provider.requests.length]
    t.match(await rejection(call({ isStream })), { status: 401 }, 'as the face of the wire reads it')
    t.equal(server.issued.length, issued + 1)
    t.equal(provider.requests.length, sent + 2)
  }
  t.match(linesOf('upstream_call_failed'), [{ status: 401 }, { status: 401 }])
})

t.test(
  'providers 12: a refused account is the gateway’s own failure, in words of its own, and is not asked for each call',
  async t => {
    for (const clientAuth of ['basic', 'post'] as const) {
      const server = await startTokenServer(t, { account: { ...ACCOUNT, secret: 'another' }, clientAuth })
      const provider = await startProvider(t)
      const { call, pass, fetches, memory, linesOf } = startWorker(t, {
        baseUrl: provider.origin,
        more: { auth: oauth2(server, { clientAuth }) },
        variables: SECRETS
      })
      for (const isStream of [false, true]) {
        const error = await rejection(call({ isStream }))
        t.match(error, {
          code: 'provider_failure',
          status: 502,
          reason: 'credential_refresh_failed',
          message: 'The gateway could not get a credential for the upstream.'
        })
      }
      t.equal(server.stub.requests.length, 1, 'the refusal is kept for a moment')
      t.same(fetches, ['failed'])
      pass(5_000)
      await rejection(call())
      t.equal(server.stub.requests.length, 2)
      t.equal(provider.requests.length, 0)

      t.match(linesOf('upstream_token_failed'), [
        {
          level: 40,
          profile_id: 'p1',
          reason_id: 'credential_refresh_failed',
          status: 401,
          error_type: 'http_401',
          oauth_error: 'invalid_client',
          cause: undefined
        },
        {}
      ])
      const failed = {
        level: 40,
        reason_id: 'credential_refresh_failed',
        error_type: 'credential_error',
        status: undefined
      }
      t.match(linesOf('upstream_call_failed'), [failed, failed, failed])
      t.match(linesOf('upstream_call_failed')[0], { cause: 'token server http_401 invalid_client' })
      t.notMatch(memory.text(), CANARIES)
    }
  }
)

t.test(
  'providers 12: every answer that is no token is the gateway’s own failure, and none of its words is shown',
  async t => {
    const { server, call, pass, memory, linesOf } = await startAccount(t)
    const rows: Array<[name: string, status: number, body: string, line: object]> = [
      ['a page', 200, `<html>${WORDS_CANARY}</html>`, { error_type: 'protocol_error', cause: 'invalid_json_response' }],
      ['no token', 200, `{"hello":"${WORDS_CANARY}"}`, { cause: 'token_response_without_token' }],
      ['a list', 200, '[1]', { cause: 'token_response_without_token' }],
      ['a token of another type', 200, '{"access_token":5}', { cause: 'token_response_without_token' }],
      ['a token that no header holds', 200, `{"access_token":"${TOKEN_CANARY}\\nx: y"}`, { cause: /without_token/ }],
      ['too much', 200, `{"a":"${'x'.repeat(70_000)}"}`, { cause: 'response_too_large' }],
      ['too much of an error', 500, 'x'.repeat(200_000), { status: 500, error_type: 'http_500' }],
      ['words as an error id', 400, `{"error":"${WORDS_CANARY}"}`, { status: 400, oauth_error: undefined }],
      ['a long id', 400, `{"error":"${'a'.repeat(41)}"}`, { status: 400, oauth_error: undefined }],
      ['an id that is no text', 400, '{"error":{"code":1}}', { status: 400, oauth_error: undefined }],
      ['a refusal', 400, '\ufeff{"error":"invalid_scope"}', { status: 400, oauth_error: 'invalid_scope' }],
      ['a limit', 429, '{"error":"slow_down"}', { status: 429, oauth_error: 'slow_down' }],
      ['another success', 201, `{"access_token":"${TOKEN_CANARY}"}`, { status: 201, error_type: 'protocol_error' }]
    ]
    for (const [name, status, body, line] of rows) {
      server.behave(response => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(body)
      })
      memory.lines.length = 0
      pass(10_000)
      const error = await rejection(call())
      t.match(error, { code: 'provider_failure', status: 502, reason: 'credential_refresh_failed' }, name)
      t.notMatch(String(error), CANARIES, name)
      t.match(linesOf('upstream_token_failed'), [line], name)
      t.equal(linesOf('upstream_call_failed').length, 1, name)
    }
    t.notMatch(memory.text(), CANARIES)
  }
)

t.test('providers 12: a redirect of the token server is not followed', async t => {
  const { server, call, linesOf } = await startAccount(t)
  const other = await startProvider(t)
  server.behave(response => void response.writeHead(307, { location: `${other.origin}/token` }).end())
  t.match(await rejection(call()), { code: 'provider_failure', status: 502 })
  t.equal(other.requests.length, 0)
  t.match(linesOf('upstream_token_failed'), [{ status: 307 }])
})

t.test(
  'providers 12: a lifetime may be missing, wrong or text, and none of them causes a token for each call',
  async t => {
    for (const [expiresIn, lastsMs] of [
      [undefined, Number.POSITIVE_INFINITY],
      [null, Number.POSITIVE_INFINITY],
      [0, Number.POSITIVE_INFINITY],
      [-5, Number.POSITIVE_INFINITY],
      ['soon', Number.POSITIVE_INFINITY],
      ['', Number.POSITIVE_INFINITY],
      ['600', 600_000],
      [600.5, 600_500],
      [2, 2_000]
    ] as const) {
      const server = await startTokenServer(t, { account: ACCOUNT, clientAuth: 'basic' })
      server.behave(response => sendJson(response, 200, { access_token: TOKEN_CANARY, expires_in: expiresIn }))
      const provider = await startProvider(t)
      const { call, pass } = startWorker(t, {
        baseUrl: provider.origin,
        more: { auth: oauth2(server) },
        variables: SECRETS
      })
      for (let count = 0; count < 3; count += 1) await call()
      t.equal(server.stub.requests.length, 1, `${expiresIn}`)
      pass(Math.min(lastsMs, 1_000 * HOUR_MS))
      for (let count = 0; count < 3; count += 1) await call()
      t.equal(server.stub.requests.length, Number.isFinite(lastsMs) ? 2 : 1, `${expiresIn}`)
    }
  }
)

t.test('providers 12: a slow token server delays the calls that need it, and is asked once', async t => {
  const { server, call } = await startAccount(t)
  let release: () => void = () => undefined
  server.behave((_response, issue) => {
    release = issue
  })
  const abort = new AbortController()
  const leaving = call({ signal: abort.signal })
  const staying = [call(), call({ isStream: true })]
  await server.stub.arrived(1)
  abort.abort()
  t.match(await rejection(leaving), { code: 'client_disconnected' })
  release()
  t.same(await Promise.all(staying), ['hi', 'hi'])
  t.equal(server.stub.requests.length, 1)
})

t.test('providers 12: a dead token server fails the calls after a deadline: silent, endless, or not there', async t => {
  const { server, call, pass, fetches, linesOf, memory } = await startAccount(t, { tokenDeadlineMs: 1000 })
  const trickles: NodeJS.Timeout[] = []
  t.teardown(() => trickles.forEach(clearInterval))
  const rows: Array<[name: string, act: Parameters<TokenServer['behave']>[0], errorType: string, cause: RegExp]> = [
    ['silent', () => undefined, 'timeout', /fetching a token took longer than 1000 ms/],
    [
      'endless',
      response => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{')
        trickles.push(setInterval(() => response.write(' '), 10))
      },
      'timeout',
      /fetching a token/
    ],
    ['broken', response => void response.destroy(), 'connect_error', /UND_ERR_SOCKET|ECONNRESET/]
  ]
  for (const [name, act, errorType, cause] of rows) {
    server.behave(act)
    memory.lines.length = 0
    fetches.length = 0
    pass(10_000)
    const calls = [call(), call({ isStream: true })]
    for (const failing of calls) {
      t.match(await rejection(failing), { status: 502, reason: 'credential_refresh_failed' }, name)
    }
    t.match(linesOf('upstream_token_failed'), [{ error_type: errorType, cause }], name)
    t.same(fetches, ['failed'], name)
  }

  await server.stub.close()
  memory.lines.length = 0
  pass(10_000)
  t.match(await rejection(call()), { status: 502, reason: 'credential_refresh_failed' })
  t.match(linesOf('upstream_token_failed'), [{ error_type: 'connect_error', cause: /^ECONNREFUSED/ }])
})

t.test('providers 12: each worker fetches a token of its own, once', async t => {
  const { server, start, call } = await startAccount(t)
  const other = start()
  const calls = [call, other.call].flatMap(one => [one(), one({ isStream: true }), one()])
  t.ok((await Promise.all(calls)).every(text => text === 'hi'))
  t.equal(server.issued.length, 2)
  t.same(other.fetches, ['fetched'])
  t.notSame(server.issued[0], server.issued[1])

  // What one worker is refused does not touch the token of the other.
  server.revokeAll()
  t.equal(await call(), 'hi')
  t.equal(server.issued.length, 3)
})

t.test('the token server stands under the policy of the profile, or under its own', async t => {
  const rows: Array<[policy: string | undefined, host: string, isReached: boolean]> = [
    [undefined, '127.0.0.1', true],
    ['loopback-development', 'localhost', true],
    ['public-openai', '127.0.0.1', false],
    ['public-openai', 'tokens.example', false]
  ]
  for (const [networkPolicyRef, host, isReached] of rows) {
    const server = await startTokenServer(t, { account: ACCOUNT, clientAuth: 'basic' })
    const provider = await startProvider(t)
    const tokenUrl = server.tokenUrl.replace('127.0.0.1', host)
    const auth = oauth2(server, { tokenUrl, ...(networkPolicyRef === undefined ? {} : { networkPolicyRef }) })
    const profile = { baseUrl: provider.origin, more: { auth }, variables: SECRETS }
    const { call, linesOf } = startWorker(t, profile, { resolve: async () => ['127.0.0.1'] })
    if (isReached) {
      t.equal(await call(), 'hi', host)
      continue
    }
    t.match(await rejection(call()), { code: 'provider_failure', status: 502 }, host)
    t.match(linesOf('upstream_token_failed'), [{ cause: /^DESTINATION_REFUSED/ }])
    t.equal(server.stub.requests.length, 0)
  }
})

t.test('the token server is reached by the proxy and the TLS files of the profile, without its headers', async t => {
  const authority = createAuthority(t)
  const client = authority.issue({ name: 'gateway client' })
  const server = await startTokenServer(t, {
    account: ACCOUNT,
    clientAuth: 'basic',
    tls: { ...authority.issue({ name: 'tokens' }), ca: authority.cert, requestCert: true, rejectUnauthorized: true }
  })
  const provider = await startProvider(t, ({ headers }) => server.accepts(headers.authorization))
  const proxy = await startForwardProxy(t, { credential: 'corp:c4nary-pair' })
  const more = { auth: oauth2(server), headers: { 'x-team': 'research' }, query: { 'api-version': '1' } }
  const files = {
    caFile: authority.certFile,
    clientCertFile: client.certFile,
    clientKeyFile: client.keyFile
  }
  const behindProxy = { proxy: proxy.url, proxyCredentialEnv: 'PAIR' }
  const variables = { ...SECRETS, PAIR: 'corp:c4nary-pair' }
  const { call, memory } = startWorker(t, {
    baseUrl: provider.origin,
    more: { ...more, ...files, ...behindProxy },
    variables
  })
  for (const isStream of [false, true]) t.equal(await call({ isStream }), 'hi')
  t.same(server.deviations, [])
  t.equal(proxy.seen.filter(line => line === `CONNECT 127.0.0.1:${server.stub.port}`).length, 1)
  t.equal(proxy.seen.filter(line => line.startsWith('POST http:')).length, 2)
  t.notMatch(memory.text(), CANARIES)

  for (const [name, changes, line] of [
    ['no authority', behindProxy, { error_type: 'tls_error' }],
    ['no certificate', { ...behindProxy, caFile: authority.certFile }, { error_type: /^(tls|connect)_error$/ }],
    ['no credential of the proxy', { ...files, proxy: proxy.url }, { error_type: 'connect_error' }]
  ] as const) {
    const worker = startWorker(t, { baseUrl: provider.origin, more: { ...more, ...changes }, variables })
    const failed = { code: 'provider_failure', status: 502, reason: 'credential_refresh_failed' }
    t.match(await rejection(worker.call()), failed, name)
    t.match(worker.linesOf('upstream_token_failed'), [line], name)
    t.notMatch(worker.memory.text(), CANARIES)
  }
})

t.test('a profile whose account has no value fails its calls without asking anyone', async t => {
  const server = await startTokenServer(t, { account: ACCOUNT, clientAuth: 'basic' })
  const provider = await startProvider(t)
  const { call } = startWorker(t, {
    baseUrl: provider.origin,
    more: { auth: oauth2(server) },
    variables: { APP_ID: 'x' }
  })
  t.match(await rejection(call()), { code: 'credential_unavailable', status: 502 })
  t.equal(server.stub.requests.length + provider.requests.length, 0)
})

t.test('closing ends a pending fetch, and is no failure of the token server', async t => {
  const { server, call, close, fetches, linesOf } = await startAccount(t)
  server.behave(() => undefined)
  const waiting = rejection(call())
  await server.stub.arrived(1)
  await close()
  t.match(await waiting, { code: 'gateway_not_ready', status: 503 })
  t.same(fetches, [])
  t.same(linesOf('upstream_token_failed'), [])
  await waitUntil(() => server.stub.openSockets() === 0, 'the connections are closed')
})
