// External profiles behind a proxy (providers.md 1, row `proxy`; case 4 of providers.md 4).

import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { type ForwardProxyOptions, startForwardProxy } from '../../../support/forward-proxy.ts'
import { waitUntil } from '../../../support/processes.ts'
import { compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { type StubHandler, sendJson, startStub } from '../support/stub-upstream.ts'

const fixtures = join(import.meta.dirname, '..', '..', '..', 'ops', 'emulator', 'fixtures')
const read = (name: string): string => readFileSync(join(fixtures, name), 'utf8')
const tls = { key: read('server.key'), cert: read('server.pem') }

const sendWords: StubHandler = ({ headers }, response) => {
  if (headers['accept-encoding'] !== undefined) {
    sendJson(response, 200, { words: ['whole'] })
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end('data: BEGIN\n\ndata: streamed\n\n')
}

interface Way {
  scheme?: 'http' | 'https'
  handler?: StubHandler
  proxy?: ForwardProxyOptions
  /** The value of the proxy's variable. */
  pair?: string
  /** Host in the base URL. */
  host?: string
  connectMs?: number
}

/** A provider, a proxy and an executor whose profile names the proxy. */
async function startBehindProxy(t: Test, { scheme = 'http', handler = sendWords, pair, host, ...way }: Way) {
  const stub = await startStub(handler, scheme === 'https' ? { tls } : {})
  t.teardown(() => stub.close())
  const proxy = await startForwardProxy(t, way.proxy)
  const baseUrl = `${scheme}://${host ?? '127.0.0.1'}:${stub.port}/v1`
  const changes: number[] = []
  const { executorOf, memory, destroy } = startCompatible(
    t,
    {
      p1: {
        baseUrl,
        credential: 'sk-of-the-profile',
        more: { proxy: proxy.url, ...(pair !== undefined && { proxyCredentialEnv: 'PROXY_PAIR' }) },
        ...(pair !== undefined && { variables: { PROXY_PAIR: pair } })
      }
    },
    {
      ca: read('ca.pem'),
      ...(way.connectMs !== undefined && { limits: { connectMs: way.connectMs } }),
      onConnectionChange: (_kind, change) => changes.push(change)
    }
  )
  const ask = async (isStream = false, signal = new AbortController().signal) => {
    const sink = createSink()
    await executorOf('p1').chat(compatibleCall({ isStream }), contextOf({ signal }), sink)
    return sink.text()
  }
  return { stub, proxy, ask, memory, baseUrl, changes, destroy }
}

t.test(
  'providers 4: requests go in the absolute form without TLS and through a tunnel with it, whole and streamed',
  async t => {
    for (const scheme of ['http', 'https'] as const) {
      const { stub, proxy, ask, baseUrl, changes, destroy } = await startBehindProxy(t, {
        scheme,
        proxy: { credential: 'corp:s3cret' },
        pair: 'corp:s3cret'
      })
      t.equal(await ask(), 'whole')
      t.equal(await ask(true), 'streamed')
      const authority = `127.0.0.1:${stub.port}`
      t.strictSame(
        proxy.seen,
        scheme === 'http'
          ? [`POST ${baseUrl.slice(0, -3)}/say`, `POST ${baseUrl.slice(0, -3)}/say`]
          : [`CONNECT ${authority}`]
      )
      t.equal(stub.requests.length, 2)
      for (const { headers } of stub.requests) {
        t.equal(headers.host, authority)
        t.equal(headers.authorization, 'Bearer sk-of-the-profile')
        t.notOk('proxy-authorization' in headers, 'the provider never sees the credential of the proxy')
      }
      if (scheme === 'https') t.notMatch(proxy.headers, [{ authorization: /./ }], 'nor the proxy that of the provider')
      t.strictSame(changes, [1], 'both calls had one connection, which the metrics count')
      t.equal(proxy.openSockets(), 1)
      await destroy()
      await waitUntil(() => proxy.openSockets() === 0 && changes.at(-1) === -1, 'the connection is closed')
    }
  }
)

t.test('the proxy resolves the name of the provider; an address is checked before anything is dialed', async t => {
  for (const scheme of ['http', 'https'] as const) {
    const named = await startBehindProxy(t, { scheme, host: 'up.example' })
    const answer = scheme === 'http' ? await named.ask() : await rejection(named.ask())
    // The certificate of the stub has another name: TLS is that of the provider, not that of the proxy.
    t.match(answer, scheme === 'http' ? 'whole' : { code: 'provider_failure' })
    t.equal(named.proxy.seen.length, 1)
    t.match(named.proxy.headers[0], { host: `up.example:${named.stub.port}` })

    const literal = await startBehindProxy(t, { scheme, host: '10.0.0.7' })
    t.match(await rejection(literal.ask()), { code: 'destination_mismatch' })
    t.equal(literal.proxy.openSockets() + literal.proxy.seen.length, 0)
  }
})

t.test('providers 4: a proxy that demands another credential is named in the log, the credential is not', async t => {
  for (const scheme of ['http', 'https'] as const) {
    for (const pair of [undefined, 'corp:wr0ng-pass']) {
      const { stub, ask, memory } = await startBehindProxy(t, {
        scheme,
        proxy: { credential: 'corp:s3cret' },
        ...(pair !== undefined && { pair })
      })
      for (const isStream of [false, true]) {
        memory.lines.length = 0
        t.match(await rejection(ask(isStream)), {
          code: 'provider_failure',
          status: 502,
          reason: 'proxy_authentication',
          message: 'The connection to the upstream failed.'
        })
        t.match(
          memory.lines.filter(line => line.event === 'upstream_call_failed'),
          [{ reason_id: 'proxy_authentication', error_type: 'connect_error', cause: /demands another credential/ }]
        )
        t.notMatch(memory.text(), /wr0ng-pass/)
        t.notMatch(memory.text(), Buffer.from('corp:wr0ng-pass').toString('base64'))
      }
      t.equal(stub.requests.length, 0)
    }
  }
})

t.test('a 407 of a provider that is reached without a proxy is that of the provider', async t => {
  const stub = await startStub((_request, response) => void response.writeHead(407).end('no'))
  t.teardown(() => stub.close())
  const { executorOf, memory } = startCompatible(t, { p1: { baseUrl: stub.origin } })
  await rejection(executorOf('p1').chat(compatibleCall(), contextOf(), createSink()))
  t.match(
    memory.lines.filter(line => line.event === 'upstream_call_failed'),
    [{ status: 407, error_type: 'http_407', reason_id: undefined }]
  )
})

t.test('providers 4: a proxy that refuses, closes or is not there is a failure to connect', async t => {
  for (const proxy of [{ refuse: 503 }, { refuse: 403 }, { closes: true }]) {
    const { ask, memory, stub } = await startBehindProxy(t, { scheme: 'https', proxy })
    t.match(await rejection(ask()), { code: 'provider_failure', status: 502 })
    t.match(
      memory.lines.filter(line => line.event === 'upstream_call_failed'),
      [{ reason_id: 'connection_error', error_type: 'connect_error', cause: /proxy/i }],
      JSON.stringify(proxy)
    )
    t.equal(stub.requests.length, 0)
  }
  const closed = await startStub(() => undefined)
  await closed.close()
  for (const baseUrl of ['http://127.0.0.1:9/v1', 'https://127.0.0.1:9/v1']) {
    const dead = startCompatible(t, { p1: { baseUrl, more: { proxy: closed.origin } } })
    const chat = dead.executorOf('p1').chat(compatibleCall(), contextOf(), createSink())
    t.match(await rejection(chat), { code: 'provider_failure' })
    t.match(
      dead.memory.lines.filter(line => line.event === 'upstream_call_failed'),
      [{ error_type: 'connect_error', cause: /^ECONNREFUSED: The proxy cannot be reached/ }]
    )
  }
})

t.test('providers 4: a proxy that sends no response in time is a timeout, and its connection is closed', async t => {
  const { ask, memory, proxy } = await startBehindProxy(t, {
    scheme: 'https',
    proxy: { isSilent: true },
    connectMs: 200
  })
  t.match(await rejection(ask()), { code: 'provider_timeout', status: 504 })
  t.match(
    memory.lines.filter(line => line.event === 'upstream_call_failed'),
    [{ reason_id: 'timeout' }]
  )
  await waitUntil(() => proxy.openSockets() === 0, 'the connection is closed')
})

t.test('a tunnel that leads to no TLS ends in time', async t => {
  const server = createServer(socket => void socket.resume().on('error', () => undefined))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const proxy = await startForwardProxy(t)
  const { executorOf } = startCompatible(
    t,
    { p1: { baseUrl: `https://127.0.0.1:${port}`, more: { proxy: proxy.url } } },
    { limits: { connectMs: 200 } }
  )
  const chat = executorOf('p1').chat(compatibleCall(), contextOf(), createSink())
  t.match(await rejection(chat), { code: 'provider_timeout' })
  await waitUntil(() => proxy.openSockets() === 0, 'the tunnel is closed')
})

t.test('a proxy that closes in the middle breaks the response, and the next call has a new connection', async t => {
  for (const scheme of ['http', 'https'] as const) {
    let isCut = true
    const { ask, proxy } = await startBehindProxy(t, {
      scheme,
      handler(request, response) {
        if (!isCut) return sendWords(request, response)
        response.writeHead(200, { 'content-type': 'application/json' })
        response.write('{"words":')
        setImmediate(() => proxy.cut())
      }
    })
    t.match(await rejection(ask()), { code: 'provider_failure', status: 502 })
    isCut = false
    t.equal(await ask(), 'whole')
  }
})

t.test('a client disconnect ends the call behind the proxy', async t => {
  for (const scheme of ['http', 'https'] as const) {
    const { ask, stub, proxy } = await startBehindProxy(t, { scheme, handler: () => undefined })
    const abort = new AbortController()
    const waiting = rejection(ask(false, abort.signal))
    await stub.arrived(1)
    abort.abort(new GatewayError('client_disconnected'))
    t.match(await waiting, { code: 'client_disconnected' })
    await waitUntil(() => proxy.openSockets() === 0, 'the connection is closed')
  }
})

t.test('a proxy that speaks TLS has its own certificate checked', async t => {
  for (const scheme of ['http', 'https'] as const) {
    const { ask, proxy } = await startBehindProxy(t, { scheme, proxy: { tls, credential: 'a:b' }, pair: 'a:b' })
    t.equal(await ask(), 'whole')
    t.equal(proxy.seen.length, 1)
    const stranger = startCompatible(t, { p1: { baseUrl: `${scheme}://127.0.0.1:9/v1`, more: { proxy: proxy.url } } })
    const chat = stranger.executorOf('p1').chat(compatibleCall(), contextOf(), createSink())
    t.match(await rejection(chat), { code: 'provider_failure' })
    t.match(
      stranger.memory.lines.filter(line => line.event === 'upstream_call_failed'),
      [{ error_type: 'tls_error', cause: /The proxy cannot be reached/ }]
    )
  }
})

t.test('providers 4: the variables of the environment are used where the profile says so', async t => {
  const stub = await startStub(sendWords)
  t.teardown(() => stub.close())
  const proxy = await startForwardProxy(t, { credential: 'user:hunter2' })
  const url = new URL(proxy.url)
  const HTTP_PROXY = `http://user:hunter2@${url.host}`
  for (const [more, env, isProxied] of [
    [{ proxy: 'environment' }, { HTTP_PROXY }, true],
    [{ proxy: 'environment' }, { HTTPS_PROXY: HTTP_PROXY }, false],
    [{ proxy: 'environment' }, { HTTP_PROXY, NO_PROXY: '127.0.0.0/8' }, false],
    [{ proxy: 'none' }, { HTTP_PROXY }, false],
    [{}, { HTTP_PROXY }, false]
  ] as const) {
    const before = proxy.seen.length
    const { executorOf } = startCompatible(t, { p1: { baseUrl: stub.origin, more } }, { env })
    await executorOf('p1').chat(compatibleCall(), contextOf(), createSink())
    t.equal(proxy.seen.length - before, isProxied ? 1 : 0, JSON.stringify({ more, env }))
  }
})

t.test(
  'the proxy may be on this machine for a public provider, and never at an address that is always refused',
  async t => {
    const proxy = await startForwardProxy(t, { refuse: 503 })
    const connect = (url: string) => {
      const profile = { baseUrl: 'https://up.example/v1', allowLoopback: false, more: { proxy: url } }
      const { executorOf } = startCompatible(t, { p1: profile })
      return rejection(executorOf('p1').chat(compatibleCall(), contextOf(), createSink()))
    }
    t.match(await connect(proxy.url), { code: 'provider_failure' })
    t.strictSame(proxy.seen, ['CONNECT up.example:443'])
    for (const url of ['http://169.254.169.254:3128', 'http://[fd00:ec2::254]', 'http://metadata.google.internal']) {
      t.match(await connect(url), { code: 'destination_mismatch' }, url)
    }
  }
)
