import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Secret } from '../../../../shared/secrets/secret.ts'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { createDestinationGuard } from '../../../../worker/providers/egress/checked-lookup.ts'
import { CallFailure } from '../../../../worker/providers/http/call-failure.ts'
import type { CallOutcome } from '../../../../worker/providers/http/call-outcome.ts'
import type { ProviderClientOptions } from '../../../../worker/providers/http/client.ts'
import { type OriginOptions, openOrigin } from '../../../../worker/providers/http/connections.ts'
import { createFixedCredential, signWithHeader } from '../../../../worker/providers/http/credential.ts'
import { createSettingsRetries } from '../../../../worker/providers/http/retry.ts'
import type { CallContext } from '../../../../worker/providers/types.ts'
import { createTestClient, createWordExecutor, KEY, limitPhases, wordCall } from '../support/http.ts'
import { chatCall, contextOf, createSink, startPool } from '../support/native.ts'
import { type StubHandler, sendJson, startStub } from '../support/stub-upstream.ts'

const EMULATOR_FIXTURES = join(import.meta.dirname, '..', '..', '..', 'ops', 'emulator', 'fixtures')

/** What an attempt of the profile `words-main` ended with. */
function outcome(failure: CallOutcome['failure'], more: Partial<CallOutcome> = {}): CallOutcome {
  const defaults = {
    profileId: 'words-main',
    status: undefined,
    isOfClient: false,
    retryAfter: undefined,
    wasSent: true
  }
  return { ...defaults, failure, ...more }
}

const success = outcome(undefined, { status: 200 })

interface RunOptions {
  isStream?: boolean
  client?: Partial<ProviderClientOptions>
  context?: Partial<CallContext>
}

/** Runs a chat and returns what its attempts ended with. */
async function run(
  t: Test,
  url: string,
  { isStream = false, client = {}, context = {} }: RunOptions = {}
): Promise<CallOutcome[]> {
  const outcomes: CallOutcome[] = []
  const onOutcome = (outcome: CallOutcome) => outcomes.push(outcome)
  const { executor } = createWordExecutor(t, url, { client: { onOutcome, ...client } })
  await executor.chat(wordCall({ isStream }), contextOf(context), createSink()).catch(() => undefined)
  return outcomes
}

async function serve(t: Test, handler: StubHandler): Promise<string> {
  const stub = await startStub(handler)
  t.teardown(() => stub.close())
  return stub.origin
}

/** A server of bytes: each connection gets `act` at its first piece of a request. */
async function serveBytes(t: Test, act: (socket: Socket) => void): Promise<string> {
  const server = createServer(socket => {
    socket.on('error', () => undefined).once('data', () => act(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function findClosedPort(): Promise<string> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

function open(t: Test, options: Omit<OriginOptions, 'connectionsMax' | 'timeouts'> & { limitMs?: number }) {
  const { limitMs = 5_000, ...more } = options
  const origin = openOrigin({ connectionsMax: 1, timeouts: limitPhases(limitMs), ...more })
  t.teardown(() => origin.destroy())
  return origin
}

t.test('a success is one outcome, whole and streamed', async t => {
  const url = await serve(t, (request, response) => {
    if (request.headers.accept !== 'text/event-stream') return sendJson(response, 200, { words: ['a'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: BEGIN\n\n', () => response.end('data: a\n\n'))
  })
  t.same(await run(t, url), [success])
  t.same(await run(t, url, { isStream: true }), [success])
})

t.test('a connection that cannot be made was not sent; one that breaks was', async t => {
  const closed = await findClosedPort()
  const reset = await serveBytes(t, socket => socket.resetAndDestroy())
  const cut = await serveBytes(t, socket =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{', () =>
      socket.resetAndDestroy()
    )
  )
  for (const isStream of [false, true]) {
    t.same(await run(t, closed, { isStream }), [outcome('connect_error', { wasSent: false })], 'refused')
    t.same(await run(t, reset, { isStream }), [outcome('connect_error')], 'reset before the head')
    t.same(await run(t, cut, { isStream }), [outcome('connect_error')], 'reset behind the head')
  }
})

t.test('a certificate that is not trusted, and an address that is not allowed, were not sent', async t => {
  const read = (name: string) => readFileSync(join(EMULATOR_FIXTURES, name), 'utf8')
  const stub = await startStub(() => undefined, { tls: { key: read('server.key'), cert: read('server.pem') } })
  t.teardown(() => stub.close())
  t.same(await run(t, stub.origin), [outcome('tls_error', { wasSent: false })])

  const refusing = open(t, { origin: 'http://127.0.0.1:9', guard: createDestinationGuard('public') })
  t.same(await run(t, refusing.origin, { client: { origin: refusing } }), [
    outcome('destination_refused', { wasSent: false })
  ])
})

t.test('statuses are classes of their own, with what the provider asks for', async t => {
  const statuses = [400, 401, 429, 500, 503]
  const url = await serve(t, (_request, response) =>
    sendJson(response, statuses.shift() ?? 599, { oops: 'no' }, { 'retry-after': '7' })
  )
  for (const status of [...statuses]) {
    const expected = outcome(`http_${status}`, { status, retryAfter: '7', isOfClient: status === 400 })
    t.same(await run(t, url, { isStream: status === 500 }), [expected])
  }
})

t.test('each attempt of a call that is repeated has its outcome', async t => {
  const statuses = [503, 503]
  const url = await serve(t, (_request, response) => sendJson(response, statuses.shift() ?? 200, { words: ['a'] }))
  const retryPolicy = createSettingsRetries({ retriesMax: 2, backoffSeconds: 0, statuses: [503] })
  const failed = outcome('http_503', { status: 503 })
  t.same(await run(t, url, { client: { retryPolicy } }), [failed, failed, success])
})

t.test('a response that cannot be used, or that states an error, is a failure', async t => {
  const stated = await serve(t, (_request, response) => sendJson(response, 200, { oops: 'no' }))
  t.same(await run(t, stated), [outcome('http_429', { status: 429 })])
  t.same(await run(t, stated, { isStream: true }), [outcome('http_429', { status: 429 })], 'in place of a stream')
  const page = await serve(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<p>')
  })
  t.same(await run(t, page, { isStream: true }), [outcome('protocol_error')])
  for (const frames of ['data: oops no\n\n', 'data: BEGIN\n\ndata: oops no\n\n']) {
    const url = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(frames)
    })
    t.same(await run(t, url, { isStream: true }), [outcome('http_429', { status: 429 })], frames)
  }
})

t.test('silence is a timeout, before the head and behind it', async t => {
  const silent = await serve(t, () => undefined)
  const halting = await serve(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: BEGIN\n\n')
  })
  for (const url of [silent, halting]) {
    const origin = open(t, { origin: url, limitMs: 50 })
    t.same(await run(t, url, { isStream: true, client: { origin } }), [outcome('timeout')])
  }
})

t.test('a credential that cannot be had is no failure of the destination', async t => {
  const url = await serve(t, (_request, response) => sendJson(response, 200, { words: [] }))
  const failure = new CallFailure(new GatewayError('provider_failure'), { status: 503 })
  const sign = createFixedCredential(() => Promise.reject(failure))
  const acquire = {
    ...createFixedCredential(signWithHeader('k', new Secret(KEY))),
    find: () => undefined,
    acquire: () => Promise.reject(failure)
  }
  for (const credentials of [sign, acquire]) {
    t.same(await run(t, url, { client: { credentials } }), [outcome('credential_error', { wasSent: false })])
  }
})

t.test('what the client or the gateway ends is no outcome', async t => {
  const abort = new AbortController()
  const url = await serve(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: BEGIN\n\n', () => abort.abort(new GatewayError('client_disconnected')))
  })
  t.same(await run(t, url, { isStream: true, context: { signal: abort.signal } }), [])
  t.same(await run(t, url, { context: { signal: abort.signal } }), [], 'aborted before it began')

  const silent = await startStub(() => undefined)
  t.teardown(() => silent.close())
  const outcomes: CallOutcome[] = []
  const { executor } = createWordExecutor(t, silent.origin, {
    client: { onOutcome: outcome => outcomes.push(outcome) }
  })
  const running = executor.chat(wordCall(), contextOf(), createSink()).catch(() => undefined)
  await silent.arrived(1)
  await executor.destroy()
  await silent.close()
  await running
  t.same(outcomes, [], 'the executor closes')
})

t.test('a call that finds no free connection is no outcome: the provider was not asked', async t => {
  const stub = await startStub(() => undefined)
  t.teardown(() => stub.close())
  const outcomes: CallOutcome[] = []
  const origin = open(t, { origin: stub.origin, waiting: { waitersMax: 0, waitMsMax: 0 } })
  const client = createTestClient(t, stub.origin, { origin, onOutcome: outcome => outcomes.push(outcome) })
  const call = { operation: 'models', method: 'GET', path: '/', headers: [] } as const
  const abort = new AbortController()
  const first = client.fetch(call, contextOf({ signal: abort.signal })).catch(() => undefined)
  await stub.arrived(1)
  await t.rejects(client.fetch(call, contextOf()), { code: 'gateway_overloaded' })
  abort.abort()
  await first
  t.same(outcomes, [])
})

t.test('the native kind has outcomes too; the credential of a client is none of them', async t => {
  const statuses = { token: 200, call: 200 }
  const stub = await startStub((request, response) => {
    if (request.url === '/token') sendJson(response, statuses.token, { tok: 'a token', exp: Date.now() + 3_600_000 })
    else sendJson(response, statuses.call, { data: [] })
  })
  t.teardown(() => stub.close())
  const outcomes: CallOutcome[] = []
  const { pool, executor } = startPool(
    t,
    { UPSTREAM_BASE_URL: stub.origin, UPSTREAM_USER: 'u', UPSTREAM_PASSWORD: 'p' },
    { onOutcome: outcome => outcomes.push(outcome) }
  )
  const profileId = 'native-upstream'
  await executor.listModels(contextOf())
  t.same(outcomes.splice(0), [{ ...success, profileId }])
  statuses.call = 503
  await t.rejects(executor.complete(chatCall('hi'), contextOf()))
  t.match(outcomes.splice(0), [{ profileId, failure: 'http_503', wasSent: true }])

  const listAs = async (user: string) => {
    const { executor, release } = pool.acquire({ type: 'user', user, password: new Secret('wrong') })
    await t.rejects(executor.listModels(contextOf()))
    release()
  }
  statuses.token = 401
  await listAs('one')
  statuses.token = 200
  statuses.call = 401
  await listAs('two')
  t.same(outcomes, [])
  statuses.call = 503
  await listAs('three')
  t.match(outcomes, [{ profileId, failure: 'http_503' }])
  t.equal(outcomes.length, 1)
})
