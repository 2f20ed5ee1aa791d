// The generic executor with a small made-up face: nothing of it depends on a provider kind of the product.

import t from 'tap'
import { countBytes, joinBytes } from '../../../../shared/bytes.ts'
import type { EmbeddingsCall, NormalizedEvent } from '../../../../worker/normalized/index.ts'
import type { PendingAttachment, ProviderFace } from '../../../../worker/protocols/provider-face.ts'
import type { BodyFallback } from '../../../../worker/providers/http/hooks.ts'
import { createErrorRedaction } from '../../../../worker/providers/http/redaction.ts'
import { createSettingsRetries } from '../../../../worker/providers/http/retry.ts'
import type { CallContext, ResponseSink } from '../../../../worker/providers/types.ts'
import { createWordExecutor, KEY, wordCall, wordFace } from '../support/http.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { askForEmbeddings } from '../support/resources.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

t.test('a whole chat is one push, with the body, the headers and the credential of its kind', async t => {
  const stub = await startStub((_request, response) => sendJson(response, 200, { words: ['a', 'b'] }))
  t.teardown(() => stub.close())
  const { executor } = createWordExecutor(t, stub.origin)
  const sink = createSink()
  await executor.chat(wordCall(), contextOf({ headers: ['x-custom', 'c1'] }), sink)
  t.equal(sink.batches.length, 1)
  t.equal(sink.text(), 'ab')
  const [request] = stub.requests
  t.match(request, { method: 'POST', url: '/say' })
  t.match(request?.headers, {
    'user-agent': 'gateway/test',
    'x-api-key': KEY,
    'accept-encoding': 'gzip, deflate',
    'content-type': 'application/json'
  })
  t.equal(request?.body.toString(), '{"say":true}')
  // A kind may keep the headers of the client's request and its id to itself (bridge.md 8.2).
  t.equal(request?.headers['x-custom'], undefined)
  t.equal(request?.headers['x-request-id'], undefined)
})

t.test('the headers of the request go along for a kind that sends them', async t => {
  const stub = await startStub((_request, response) => sendJson(response, 200, { words: [] }))
  t.teardown(() => stub.close())
  const { executor } = createWordExecutor(t, stub.origin, { client: { sendsRequestHeaders: true } })
  await executor.chat(wordCall(), contextOf({ headers: ['x-custom', 'c1'] }), createSink())
  t.match(stub.requests[0]?.headers, { 'x-custom': 'c1', 'x-request-id': 'r1' })
})

t.test('a body that only its call uses gives its memory back once the provider has accepted the call', async t => {
  const statuses = [503, 200, 400]
  const stub = await startStub((_request, response) => {
    sendJson(response, statuses.shift() ?? 200, { words: ['a'] })
  })
  t.teardown(() => stub.close())
  const retryPolicy = createSettingsRetries({ retriesMax: 1, backoffSeconds: 0, statuses: [503] })
  const { executor } = createWordExecutor(t, stub.origin, { client: { retryPolicy } })
  const writeBody = () => new Uint8Array(1_000_000).fill(0x61)

  const own = (body: Uint8Array) => ({ body, ownMemory: body })
  const retried = { ...wordCall(), ...own(writeBody()) }
  await executor.chat(retried, contextOf(), createSink())
  t.equal(stub.requests.length, 2)
  for (const { body } of stub.requests) t.ok(body.equals(writeBody()))
  t.equal(retried.body.byteLength, 0)

  const refused = { ...wordCall(), ...own(writeBody()) }
  t.ok(await rejection(executor.chat(refused, contextOf(), createSink())))
  t.equal(refused.body.byteLength, 1_000_000)

  const shared = { ...wordCall(), body: writeBody() }
  await executor.chat(shared, contextOf(), createSink())
  t.equal(shared.body.byteLength, 1_000_000)
})

t.test('a streamed chat that is repeated after a response of status 200 sends its own body again', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200, { 'content-type': stub.requests.length === 1 ? 'text/html' : 'text/event-stream' })
    response.end('data: BEGIN\n\ndata: a\n\n')
  })
  t.teardown(() => stub.close())
  const retryPolicy = createSettingsRetries({ retriesMax: 1, backoffSeconds: 0, statuses: [503] })
  const { executor } = createWordExecutor(t, stub.origin, { client: { retryPolicy } })
  const body = new Uint8Array(1_000_000).fill(0x61)
  const call = { ...wordCall({ isStream: true }), body, ownMemory: body }
  const sink = createSink()
  await executor.chat(call, contextOf(), sink)
  t.equal(sink.text(), 'a')
  t.same(
    stub.requests.map(({ body }) => body.byteLength),
    [1_000_000, 1_000_000]
  )
  t.equal(call.body.byteLength, 0)
})

t.test('a streamed chat is a push per read, and a wire may have its own accept header', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: BEGIN\n\ndata: a\n\ndata: b\n\n')
  })
  t.teardown(() => stub.close())
  const { executor } = createWordExecutor(t, stub.origin)
  const sink = createSink()
  await executor.chat(wordCall({ isStream: true }), contextOf(), sink)
  t.equal(sink.text(), 'ab')
  t.equal(sink.events().at(-1)?.type, 'finish')
  t.match(stub.requests[0]?.headers, { accept: 'text/event-stream', 'cache-control': 'no-store' })
  await executor.chat(wordCall({ isStream: true, headers: ['accept', 'x/stream'] }), contextOf(), createSink())
  t.match(stub.requests[1]?.headers, { accept: 'x/stream' })
  t.equal(stub.requests[1]?.headers['cache-control'], undefined)
})

t.test('errors are read by the face, in every place where a provider reports one', async t => {
  const bodies: Array<[status: number, body: string, type: string]> = []
  const stub = await startStub((_request, response) => {
    const [status, body, type] = bodies.shift() ?? [500, '', '']
    response.writeHead(status, { 'content-type': type })
    response.end(body)
  })
  t.teardown(() => stub.close())
  const { executor, memory } = createWordExecutor(t, stub.origin)
  const rows: Array<[body: (typeof bodies)[number], isStream: boolean, error: object]> = [
    [[502, 'away', 'text/plain'], false, { code: 'provider_failure', status: 502, message: 'away' }],
    [[502, 'away', 'text/plain'], true, { code: 'provider_failure', status: 502, message: 'away' }],
    [[200, '{"oops":"slow"}', 'application/json'], false, { code: 'rate_limited', message: 'slow' }],
    [[200, '{"oops":"slow"}', 'application/json'], true, { code: 'rate_limited', message: 'slow' }],
    [[200, 'data: oops slow\n\n', 'text/event-stream'], true, { code: 'rate_limited', message: 'slow' }],
    [[200, `{"oops":"not ${KEY}"}`, 'application/json'], false, { code: 'rate_limited', message: 'not ***' }]
  ]
  for (const [body, isStream, error] of rows) {
    bodies.push(body)
    memory.lines.length = 0
    const sink = createSink()
    t.match(await rejection(executor.chat(wordCall({ isStream }), contextOf(), sink)), error, body[1])
    t.equal(sink.batches.length, 0)
    t.equal(memory.lines.filter(line => line.event === 'upstream_call_failed').length, 1, body[1])
  }
})

t.test('stop strings are applied to whole and streamed chats', async t => {
  const stub = await startStub((request, response) => {
    if (request.headers.accept === undefined) return sendJson(response, 200, { words: ['ab', 'END', 'c'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: BEGIN\n\ndata: ab\n\ndata: END\n\ndata: c\n\n')
  })
  t.teardown(() => stub.close())
  const { executor } = createWordExecutor(t, stub.origin)
  for (const isStream of [false, true]) {
    const sink = createSink()
    await executor.chat(wordCall({ isStream, stop: ['END'] }), contextOf(), sink)
    t.equal(sink.text(), 'ab')
    t.match(sink.events().at(-1), { type: 'finish', stopSequence: 'END' })
  }
})

t.test('decisions.md 38: a client that refused several calls gets the first from any provider kind', async t => {
  const stub = await startStub((request, response) => {
    if (request.headers.accept === undefined) return sendJson(response, 200, { calls: ['f', 'g', 'f'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: calls f g f\n\n')
  })
  t.teardown(() => stub.close())
  const { executor } = createWordExecutor(t, stub.origin)
  for (const isStream of [false, true]) {
    const listCalls = async (facts: { keepsFirstCallOnly?: true } = {}) => {
      const sink = createSink()
      await executor.chat(wordCall({ isStream, ...facts }), contextOf(), sink)
      t.equal(sink.events().at(-1)?.type, 'finish')
      return sink.events().flatMap(event => (event.type === 'tool-call-start' ? [event.name] : []))
    }
    t.same(await listCalls(), ['f', 'g', 'f'])
    t.same(await listCalls({ keepsFirstCallOnly: true }), ['f'])
  }
})

t.test('a face says which heads begin a stream of its wire', async t => {
  const toyFace: ProviderFace = {
    ...wordFace,
    acceptsStream: ({ headers }) => headers['content-type'] === 'application/x-toy-stream'
  }
  const faces = { words: toyFace }
  for (const [contentType, isTaken] of [
    ['application/x-toy-stream', true],
    ['text/event-stream', false]
  ] as const) {
    const stub = await startStub((_request, response) => {
      response.writeHead(200, { 'content-type': contentType })
      response.end('data: BEGIN\n\ndata: a\n\n')
    })
    t.teardown(() => stub.close())
    const { executor } = createWordExecutor(t, stub.origin, { executor: { faces } })
    const sink = createSink()
    const chat = executor.chat(wordCall({ isStream: true }), contextOf(), sink)
    if (!isTaken) {
      t.match(await rejection(chat), { code: 'provider_protocol_error' })
      continue
    }
    await chat
    t.equal(sink.text(), 'a')
  }
})

t.test('a refused body is replaced once, before any retry, and a success with the new body is confirmed', async t => {
  const statuses: number[] = []
  const stub = await startStub((request, response) => {
    const status = statuses.shift() ?? 200
    if (status !== 200) return void response.writeHead(status).end('no')
    if (request.headers.accept === undefined) return sendJson(response, 200, { words: ['a'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: BEGIN\n\ndata: a\n\n')
  })
  t.teardown(() => stub.close())
  const confirmed: string[] = []
  const bodyFallback: BodyFallback = {
    prepare: body => Buffer.concat([joinBytes(body), Buffer.from(' prepared')]),
    revise: (_body, { status, responseBody }) =>
      status === 422 && responseBody?.byteLength === 2 ? Buffer.from('revised') : undefined,
    confirm: () => void confirmed.push('yes')
  }
  const { executor, memory } = createWordExecutor(t, stub.origin, {
    executor: { hooks: { openFallback: () => bodyFallback } }
  })
  const prepared = '{"say":true} prepared'
  const failures = () => memory.lines.splice(0).filter(line => line.event === 'upstream_call_failed').length
  for (const isStream of [false, true]) {
    const send = () => executor.chat(wordCall({ isStream }), contextOf(), createSink())
    const bodies = () => stub.requests.splice(0).map(request => request.body.toString())
    await send()
    t.same([bodies(), confirmed.splice(0)], [[prepared], []])
    statuses.push(422)
    await send()
    t.same([bodies(), confirmed.splice(0)], [[prepared, 'revised'], ['yes']])
    t.equal(failures(), 0, 'a call that succeeds in the end is no failed call')
    statuses.push(422, 422)
    t.match(await rejection(send()), { status: 422 })
    t.same([bodies(), confirmed.splice(0)], [[prepared, 'revised'], []])
    statuses.push(400)
    t.match(await rejection(send()), { status: 400 })
    t.same([bodies(), confirmed.splice(0)], [[prepared], []])
    t.equal(failures(), 2)
  }
})

const image: PendingAttachment = {
  placeholder: 'image-1',
  source: { kind: 'url', url: 'https://example.com/a.png' },
  path: 'messages[0]'
}

t.test('the hooks upload attachments and complete the events, whole and streamed', async t => {
  const stub = await startStub((request, response) => {
    if (request.headers.accept === undefined) return sendJson(response, 200, { words: ['a'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: BEGIN\n\ndata: a\n\n')
  })
  t.teardown(() => stub.close())
  const shout = (event: NormalizedEvent): NormalizedEvent =>
    event.type === 'text-delta' ? { ...event, text: event.text.toUpperCase() } : event
  const { executor } = createWordExecutor(t, stub.origin, {
    executor: {
      hooks: {
        uploadAttachments: async call => Buffer.from(`prepared ${countBytes(call.body)}`),
        eventCompleter: {
          isNeeded: (events, context) =>
            context.wantsFileBytes === true && events.some(event => event.type === 'text-delta'),
          async *complete(events) {
            for (const event of events) yield [shout(event)]
          }
        }
      }
    }
  })
  for (const isStream of [false, true]) {
    const sink = createSink()
    await executor.chat({ ...wordCall({ isStream }), attachments: [image] }, contextOf({ wantsFileBytes: true }), sink)
    t.equal(sink.text(), 'A')
    const plain = createSink()
    await executor.chat(wordCall({ isStream }), contextOf(), plain)
    t.equal(plain.text(), 'a')
  }
  const bodies = stub.requests.map(request => request.body.toString())
  t.same(bodies, ['prepared 12', '{"say":true}', 'prepared 12', '{"say":true}'])
})

t.test('an executor makes calls other than chats, and reports what their reader raises', async t => {
  const stub = await startStub((_request, response) => sendJson(response, 200, [[1], [2]], { server: 'words/1' }))
  t.teardown(() => stub.close())
  const { executor, memory } = createWordExecutor(t, stub.origin)
  t.equal(executor.listModels, undefined)
  const asker = { executor, face: wordFace, faceOptions: {}, plan: wordCall().plan }
  const embed = (call: EmbeddingsCall, context: CallContext) => askForEmbeddings(asker, call, context)
  t.same(await embed({ model: 'm', input: ['x', 'y'] }, contextOf()), {
    vectors: [[1], [2]],
    promptTokens: null,
    metadata: { server: 'words/1' }
  })
  t.match(stub.requests[0], { method: 'POST', url: '/embed', headers: { 'content-type': 'x/y' } })
  t.equal(stub.requests[0]?.body.toString(), '{"input":["x","y"]}')
  t.match(await rejection(embed({ model: 'm', input: ['x'] }, contextOf())), { code: 'provider_protocol_error' })
  t.match(
    memory.lines.filter(line => line.event === 'upstream_call_failed'),
    [{ operation: 'embeddings', error_type: 'protocol_error' }]
  )
})

t.test('a closed executor retries nothing and closes the connections that it owns', async t => {
  const closed: string[] = []
  const stub = await startStub((_request, response) => void response.writeHead(503).end())
  t.teardown(() => stub.close())
  const connections = { close: async () => void closed.push('close'), destroy: async () => void closed.push('destroy') }
  const { executor } = createWordExecutor(t, stub.origin, {
    client: { retryPolicy: createSettingsRetries({ retriesMax: 3, backoffSeconds: 0, statuses: [503] }) },
    executor: { connections }
  })
  t.match(await rejection(executor.chat(wordCall(), contextOf(), createSink())), { status: 503 })
  t.equal(stub.requests.length, 4)
  await executor.close()
  t.match(await rejection(executor.chat(wordCall(), contextOf(), createSink())), { status: 503 })
  t.equal(stub.requests.length, 5)
  await executor.destroy()
  t.same(closed, ['close', 'destroy'])
})

t.test('a redacted sink passes the bytes of a provider on as they are', async t => {
  const written: string[] = []
  const sink: ResponseSink = {
    push(_events, bytes) {
      written.push(Buffer.from(bytes ?? '').toString())
      return written.length < 2
    },
    whenDrained: () => Promise.resolve()
  }
  const redacted = createErrorRedaction(() => [KEY]).wrapSink(sink)
  t.equal(redacted.push([], Buffer.from('a')), true)
  t.equal(redacted.push([], Buffer.from('b')), false)
  t.same(written, ['a', 'b'])
})
