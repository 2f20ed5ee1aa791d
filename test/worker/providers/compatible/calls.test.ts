// The calls of a kind that is a face and a credential: headers, bounds, causes of failure, and the end of a call.

import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { waitUntil } from '../../../support/processes.ts'
import { compatibleCall, startCompatible } from '../support/compatible.ts'
import { wordFace } from '../support/http.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { askForEmbeddings } from '../support/resources.ts'
import { type StubHandler, type StubServer, sendJson, startStub } from '../support/stub-upstream.ts'

/** Pino's number of the level. */
const DEBUG = 20

async function startProvider(t: Parameters<typeof startCompatible>[0], handler: StubHandler): Promise<StubServer> {
  const stub = await startStub(handler)
  t.teardown(() => stub.close())
  return stub
}

const sendWords: StubHandler = (request, response) => {
  if (request.body.toString().includes('say')) sendJson(response, 200, { words: ['a', 'b'] })
}

t.test(
  'the provider gets the headers of the wire and the credential of the profile, and nothing of the client',
  async t => {
    const stub = await startProvider(t, sendWords)
    const { executorOf } = startCompatible(t, {
      keyed: { baseUrl: `${stub.origin}/v1`, credential: 'sk-of-the-profile' },
      keyless: { baseUrl: `${stub.origin}/v1` }
    })
    const context = contextOf({ headers: ['X-Custom', 'c1', 'Cookie', 'a=b', 'X-Session-ID', 's'] })
    await executorOf('keyed').chat(compatibleCall(), context, createSink())
    await executorOf('keyless').chat(compatibleCall(), context, createSink())
    const [keyed, keyless] = stub.requests.map(({ headers }) => headers)
    const common = {
      host: stub.origin.slice('http://'.length),
      connection: 'keep-alive',
      'user-agent': 'llm-gateway/1.2.3',
      'accept-encoding': 'gzip, deflate',
      accept: 'text/event-stream, application/json',
      'content-type': 'application/json',
      'content-length': '12'
    }
    t.strictSame(keyless, common)
    t.strictSame(keyed, { ...common, authorization: 'Bearer sk-of-the-profile' })
  }
)

t.test('no proxy is used, neither that of the settings nor that of the environment', async t => {
  const stub = await startProvider(t, sendWords)
  const proxy = await startProvider(t, (_request, response) => void response.writeHead(502).end())
  const variables = { HTTP_PROXY: proxy.origin, HTTPS_PROXY: proxy.origin, http_proxy: proxy.origin }
  const before = { ...process.env }
  Object.assign(process.env, variables)
  t.teardown(() => {
    process.env = before
  })
  const { executorOf } = startCompatible(t, { p1: { baseUrl: stub.origin } }, { env: variables })
  await executorOf('p1').chat(compatibleCall(), contextOf(), createSink())
  t.equal(stub.requests.length, 1)
  t.equal(proxy.openSockets(), 0)
})

t.test('a stream asks for the same types and announces no encoding', async t => {
  const stub = await startProvider(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: BEGIN\n\ndata: a\n\n')
  })
  const { executorOf } = startCompatible(t, { p1: { baseUrl: stub.origin } })
  const sink = createSink()
  await executorOf('p1').chat(compatibleCall({ isStream: true }), contextOf(), sink)
  t.equal(sink.text(), 'a')
  t.strictSame(Object.keys(stub.requests[0]?.headers ?? {}).sort(), [
    'accept',
    'connection',
    'content-length',
    'content-type',
    'host',
    'user-agent'
  ])
  t.equal(stub.requests[0]?.headers.accept, 'text/event-stream, application/json')
})

t.test('a call has one attempt, also with retries in the settings, and a refused key is not renewed', async t => {
  let status = 503
  const stub = await startProvider(t, (_request, response) => void response.writeHead(status).end('no'))
  const { executorOf, memory } = startCompatible(
    t,
    { p1: { baseUrl: stub.origin, credential: 'sk-1234567890' } },
    { env: { UPSTREAM_MAX_RETRIES: '5', UPSTREAM_RETRY_BACKOFF_FACTOR: '0' } }
  )
  for (status of [401, 429, 500, 503]) {
    for (const isStream of [false, true]) {
      const sent = stub.requests.length
      memory.lines.length = 0
      const failed = rejection(executorOf('p1').chat(compatibleCall({ isStream }), contextOf(), createSink()))
      t.match(await failed, { status })
      t.equal(stub.requests.length, sent + 1)
      t.match(
        memory.lines.filter(line => line.event === 'upstream_call_failed'),
        [{ status }]
      )
    }
  }
})

t.test('providers 11: a whole response has as many bytes as the profile says, after decompression', async t => {
  const bytesMax = 1024 * 1024
  const frame = JSON.stringify({ words: [''] }).length
  let body = Buffer.alloc(0)
  let encoding: string | undefined
  const stub = await startProvider(t, (_request, response) => {
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(encoding === undefined ? {} : { 'content-encoding': encoding })
    })
    response.end(encoding === undefined ? body : gzipSync(body))
  })
  const more = { responseBytesMax: bytesMax }
  const { executorOf, memory } = startCompatible(t, { p1: { baseUrl: stub.origin, more } })
  for (encoding of [undefined, 'gzip']) {
    for (const [length, isTooLarge] of [
      [bytesMax, false],
      [bytesMax + 1, true]
    ] as const) {
      body = Buffer.from(JSON.stringify({ words: ['x'.repeat(length - frame)] }))
      t.equal(body.length, length)
      memory.lines.length = 0
      const sink = createSink()
      const chat = executorOf('p1').chat(compatibleCall(), contextOf(), sink)
      if (!isTooLarge) {
        await chat
        t.equal(sink.text().length, length - frame)
        continue
      }
      t.match(await rejection(chat), { code: 'provider_protocol_error', status: 502 })
      t.match(
        memory.lines.find(line => line.event === 'upstream_call_failed'),
        { reason_id: 'response_too_large' }
      )
    }
  }
})

t.test(
  'providers 11: a stream has a bound over all of its bytes: the client gets what came before, and then the error',
  async t => {
    const stub = await startProvider(t, async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: BEGIN\n\n')
      for (let sent = 0; sent < 40; sent += 1) {
        response.write(`data: ${'x'.repeat(94)}\n\n`)
        // Each frame is a read of its own.
        await setImmediate()
      }
      response.end()
    })
    const { executorOf, memory } = startCompatible(
      t,
      { p1: { baseUrl: stub.origin } },
      { limits: { responseBytesMax: 1024 } }
    )
    const sink = createSink()
    await executorOf('p1').chat(compatibleCall({ isStream: true }), contextOf(), sink)
    const last = sink.events().at(-1)
    t.match(last, { type: 'error', error: { code: 'provider_protocol_error' } })
    t.ok(sink.text().length > 0 && sink.text().length < 1024, `${sink.text().length}`)
    t.match(
      memory.lines.filter(line => line.event === 'upstream_call_failed'),
      [{ reason_id: 'response_too_large' }]
    )
  }
)

t.test('providers 10: each silence is bounded: before the head, and between two pieces', async t => {
  let isHeadSent = false
  const stub = await startProvider(t, ({ headers }, response) => {
    if (!isHeadSent) return
    const isStream = headers['accept-encoding'] === undefined
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    response.write(isStream ? 'data: BEGIN\n\ndata: a\n\n' : '{"words":')
  })
  const more = { timeouts: { firstByteSeconds: 0.3, idleSeconds: 0.3 } }
  const { executorOf, memory } = startCompatible(t, { p1: { baseUrl: stub.origin, more } })
  for (isHeadSent of [false, true]) {
    for (const isStream of [false, true]) {
      const sink = createSink()
      memory.lines.length = 0
      const chat = executorOf('p1').chat(compatibleCall({ isStream }), contextOf(), sink)
      const timeout = { code: 'provider_timeout', status: 504 }
      if (isHeadSent && isStream) {
        await chat
        t.match(sink.events().at(-1), { type: 'error', error: timeout })
      } else t.match(await rejection(chat), timeout)
      t.match(
        memory.lines.filter(line => line.event === 'upstream_call_failed'),
        [{ error_type: 'timeout', reason_id: 'timeout' }]
      )
    }
  }
  t.equal(stub.requests.length, 4, 'one attempt each')
})

t.test('a call that gets no connection within its wait is refused, and the provider is not asked', async t => {
  let answer: () => void = () => undefined
  const stub = await startProvider(t, (_request, response) => {
    answer = () => sendJson(response, 200, { words: ['first'] })
  })
  const { executorOf, memory } = startCompatible(
    t,
    { p1: { baseUrl: stub.origin, more: { connections: 1, retries: 3 } } },
    { limits: { connectionWaitMs: 50, waitersMax: 1 } }
  )
  const failures: string[] = []
  const context = contextOf({ onUpstreamFailure: errorType => failures.push(errorType) })
  const chat = (isStream: boolean) => executorOf('p1').chat(compatibleCall({ isStream }), context, createSink())
  const first = chat(false)
  await stub.arrived(1)
  const second = rejection(chat(true))
  const exhausted = { code: 'provider_connections_exhausted', status: 503, retryAfter: '1' }
  t.match(await rejection(chat(false)), exhausted, 'the queue is full')
  t.match(await second, exhausted, 'the wait is over')
  answer()
  await first
  t.equal(stub.requests.length, 1)
  t.strictSame(failures, ['connections_exhausted', 'connections_exhausted'])
  const lines = memory.lines.filter(line => line.event === 'upstream_call_failed')
  const line = { error_type: 'connections_exhausted', reason_id: 'connections_exhausted' }
  t.match(lines, [line, line])
  const next = chat(false)
  await stub.arrived(2)
  answer()
  await t.resolves(next, 'the connection is free again')
})

t.test('a refused or broken connection, and a response that is no JSON, have their ids in the log', async t => {
  const closed = await startStub(() => undefined)
  await closed.close()
  let act: StubHandler = () => undefined
  const stub = await startProvider(t, (request, response) => act(request, response))
  const { executorOf, memory } = startCompatible(t, {
    refused: { baseUrl: closed.origin },
    open: { baseUrl: stub.origin }
  })
  const rows: Array<[name: string, profileId: string, handler: StubHandler, code: string, reasonId: string]> = [
    ['refused', 'refused', () => undefined, 'provider_failure', 'connection_error'],
    ['reset', 'open', request => void request.socket.destroy(), 'provider_failure', 'connection_error'],
    ['no HTTP', 'open', request => void request.socket.end('no HTTP\r\n\r\n'), 'provider_failure', 'connection_error']
  ]
  for (const [name, profileId, handler, code, reasonId] of rows) {
    for (const isStream of [false, true]) {
      act = handler
      memory.lines.length = 0
      const chat = executorOf(profileId).chat(compatibleCall({ isStream }), contextOf(), createSink())
      t.match(await rejection(chat), { code, status: 502 }, name)
      t.match(
        memory.lines.filter(line => line.event === 'upstream_call_failed'),
        [{ level: 40, reason_id: reasonId, code }],
        name
      )
    }
  }
})

t.test('a redirect is not followed', async t => {
  const second = await startProvider(t, sendWords)
  const first = await startProvider(
    t,
    (_request, response) => void response.writeHead(302, { location: `${second.origin}/v1` }).end()
  )
  const { executorOf, memory } = startCompatible(t, { p1: { baseUrl: first.origin } })
  for (const isStream of [false, true]) {
    const chat = executorOf('p1').chat(compatibleCall({ isStream }), contextOf(), createSink())
    t.match(await rejection(chat), {
      code: 'destination_mismatch',
      status: 502,
      message: 'The upstream destination could not be authorized.'
    })
  }
  t.match(
    memory.lines.filter(line => line.event === 'upstream_call_failed'),
    Array(2).fill({ status: 302, reason_id: 'destination_mismatch' })
  )
  t.equal(second.requests.length, 0)
})

t.test('what a provider repeats of its credential is masked, and no profile sends that of another', async t => {
  const keys = { p1: 'sk-first-profile-1', p2: 'sk-second-profile-2' }
  const stub = await startProvider(t, ({ headers }, response) => {
    response.writeHead(400, { 'content-type': 'text/plain' })
    response.end(`The key ${headers.authorization} is odd.`)
  })
  const { executorOf, memory } = startCompatible(t, {
    p1: { baseUrl: stub.origin, credential: keys.p1 },
    p2: { baseUrl: stub.origin, credential: keys.p2 }
  })
  for (const id of ['p1', 'p2'] as const) {
    for (const isStream of [false, true]) {
      const chat = executorOf(id).chat(compatibleCall({ isStream }), contextOf(), createSink())
      const error = await rejection(chat)
      t.match(error, { status: 400, message: /The key .*\*\*\*/ })
      t.notOk(String(error).includes(keys[id]))
      t.equal(stub.requests.at(-1)?.headers.authorization, `Bearer ${keys[id]}`)
    }
  }
  for (const key of Object.values(keys)) t.notOk(memory.text().includes(key))
})

t.test(
  'an abort closes the connection at once, for whole responses and streams, with a line about its reason',
  async t => {
    const stub = await startProvider(t, ({ headers }, response) => {
      if (headers['accept-encoding'] !== undefined) return
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: BEGIN\n\ndata: a\n\n')
    })
    const { executorOf, memory } = startCompatible(t, { p1: { baseUrl: stub.origin } })
    for (const isStream of [false, true]) {
      memory.lines.length = 0
      const abort = new AbortController()
      const sink = createSink()
      const arrived = stub.arrived(stub.requests.length + 1)
      const chat = executorOf('p1').chat(compatibleCall({ isStream }), contextOf({ signal: abort.signal }), sink)
      await (isStream ? sink.pushed(1) : arrived)
      const closed = stub.nextAbort()
      abort.abort(new GatewayError('client_disconnected'))
      if (isStream) await chat
      else t.match(await rejection(chat), { code: 'client_disconnected' })
      await closed
      await waitUntil(() => stub.openSockets() === 0, 'the socket is closed')
      t.match(
        memory.lines.filter(line => line.level !== DEBUG),
        [{ event: 'upstream_call_cancelled', reason_id: 'client_disconnected', request_id: 'r1' }]
      )
      t.notOk(sink.events().some(event => event.type === 'error'))
    }
  }
)

t.test('a credential that no header can hold fails the call, and is in no output', async t => {
  const stub = await startProvider(t, sendWords)
  const { executorOf, memory } = startCompatible(t, {
    p1: { baseUrl: stub.origin, credential: 'sk-line-1\nsk-line-2' }
  })
  const error = await rejection(executorOf('p1').chat(compatibleCall(), contextOf(), createSink()))
  t.match(error, { code: 'provider_failure', status: 502 })
  t.notMatch(String(error) + memory.text(), /sk-line/)
  t.equal(stub.requests.length, 0)
})

t.test('embeddings go through the codec of the face, and may be larger than a chat', async t => {
  const vector = Array.from({ length: 60_000 }, (_, index) => index + 0.123456789)
  const stub = await startProvider(t, (_request, response) => sendJson(response, 200, [vector, vector]))
  const { executorOf } = startCompatible(t, { p1: { baseUrl: stub.origin } })
  const asker = { executor: executorOf('p1'), face: wordFace, faceOptions: {}, plan: compatibleCall().plan }
  const result = await askForEmbeddings(asker, { model: 'm', input: ['a', 'b'] }, contextOf())
  t.equal(result.vectors[1]?.length, 60_000)
  t.match(stub.requests[0], { url: '/embed' })
})

t.test('a closed pool gives no executor, and closing waits for the calls that run', async t => {
  let answer: () => void = () => undefined
  const stub = await startProvider(t, (_request, response) => {
    answer = () => sendJson(response, 200, { words: ['late'] })
  })
  const { executorOf, close } = startCompatible(t, { p1: { baseUrl: stub.origin } })
  const sink = createSink()
  const chat = executorOf('p1').chat(compatibleCall(), contextOf(), sink)
  await stub.arrived(1)
  const closed = close()
  t.throws(() => executorOf('p1'), { code: 'gateway_not_ready' })
  answer()
  await Promise.all([chat, closed])
  t.equal(sink.text(), 'late')
  await waitUntil(() => stub.openSockets() === 0, 'the sockets are closed')
})
