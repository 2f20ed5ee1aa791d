import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { accumulateEvents, GatewayError, type NormalizedEvent } from '../../../../worker/normalized/index.ts'
import type { ResponseSink, UpstreamCallReport } from '../../../../worker/providers/types.ts'
import { chatCall, contextOf, createSink, emulatorEnv, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { slowDownClock } from '../support/slow-clock.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

function frame(content: string, more: Record<string, unknown> = {}): string {
  return `data: ${JSON.stringify({ choices: [{ delta: { content }, index: 0, ...more }], model: 'm:1' })}\n\n`
}
const FINISH = `${frame('', { finish_reason: 'stop' })}data: [DONE]\n\n`

function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
}

t.test('a streamed response is the whole response in pieces, in both API modes', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  for (const apiMode of ['v1', 'v2'] as const) {
    const sink = createSink()
    await executor.stream(chatCall('[[chunks:Hel|lo |you]]', { apiMode, isStream: true }), contextOf(), sink)
    t.equal(sink.text(), 'Hello you')
    t.equal(sink.events()[0]?.type, 'start')
    t.equal(sink.events().at(-1)?.type, 'finish')
    const whole = await executor.complete(chatCall('[[chunks:Hel|lo |you]]', { apiMode }), contextOf())
    const streamed = accumulateEvents(sink.events())
    t.same(streamed.items, whole.items)
    t.same(streamed.finish, whole.finish)
    t.match(emulator.requests[0]?.headers, { accept: /./ })
  }
  const streaming = emulator.requests.find(request => request.headers.accept === 'text/event-stream')
  t.match(streaming?.headers, { 'cache-control': 'no-store' })
  t.equal(streaming?.headers['accept-encoding'], undefined)
})

t.test('all events of one read are one push', async t => {
  const stub = await startStub((_request, response) => {
    openStream(response)
    // Several HTTP chunks in one TCP segment: they arrive in one read.
    response.cork()
    for (const word of ['a', 'b', 'c']) response.write(frame(word))
    response.write(FINISH)
    response.uncork()
    response.end()
  })
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  const sink = createSink()
  await executor.stream(chatCall('hi', { isStream: true }), contextOf(), sink)
  t.equal(sink.text(), 'abc')
  t.ok(sink.batches.length <= 2, `${sink.batches.length} pushes`)
})

t.test('a long read that is expensive is worked off in several turns of the event loop', async t => {
  const words = Array.from({ length: 700 }, (_, index) => `word-${index} `)
  const stub = await startStub((_request, response) => {
    openStream(response)
    response.end(words.map(word => frame(word)).join('') + FINISH)
  })
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  const sink = createSink()
  let turn = 0
  const turns = new Set<number>()
  const push = sink.push.bind(sink)
  sink.push = (events, frames) => {
    turns.add(turn)
    setImmediate(() => turn++)
    return push(events, frames)
  }
  slowDownClock(t)
  await executor.stream(chatCall('hi', { isStream: true }), contextOf(), sink)
  t.equal(sink.text(), words.join(''))
  t.ok(turns.size >= 5, `${turns.size} turns for less than 64 KB, which is one read or two`)
})

t.test('an event reaches the sink when it arrives, not when the next one does', async t => {
  let upstream: ServerResponse | undefined
  const stub = await startStub((_request, response) => {
    upstream = response
    openStream(response)
    response.write(frame('a'))
  })
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  const sink = createSink()
  const streaming = executor.stream(chatCall('hi', { isStream: true }), contextOf(), sink)
  await sink.pushed(1)
  t.equal(sink.text(), 'a')
  upstream?.write(frame('b'))
  await sink.pushed(2)
  t.equal(sink.text(), 'ab')
  upstream?.end(FINISH)
  await streaming
})

t.test('an error before the stream is an ordinary error', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  await executor.complete(chatCall('warm the token'), contextOf())
  emulator.reset()
  const sink = createSink()
  const error = await rejection(
    executor.stream(chatCall('[[error:429 retry=7]]', { isStream: true }), contextOf(), sink)
  )
  t.match(error, { code: 'rate_limited', status: 429, retryAfter: '7' })
  t.equal(sink.batches.length, 0)
  t.equal(emulator.requests.length, 1)
})

t.test('a response that is not a stream is refused, with the error inside it (A16)', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const sink = createSink()
  const html = executor.stream(chatCall('[[ctype:text/html]]', { isStream: true }), contextOf(), sink)
  t.match(await rejection(html), { code: 'provider_protocol_error', status: 502 })

  const stub = await startStub((request, response) => {
    if (request.body.includes('without encoding')) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': '' })
      response.end('data: {"choices":[{"delta":{"content":"a"},"index":0,"finish_reason":"stop"}]}\n\n')
    } else if (request.body.includes('limited')) sendJson(response, 200, { status: 429, message: 'Too Many Requests' })
    else if (request.body.includes('packed')) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
      response.end()
    } else sendJson(response, 200, { choices: [] })
  })
  t.teardown(() => stub.close())
  const direct = startPool(t, { UPSTREAM_BASE_URL: stub.origin }).executor
  const limited = direct.stream(chatCall('limited', { isStream: true }), contextOf(), sink)
  t.match(await rejection(limited), { code: 'rate_limited', status: 429 })
  const json = direct.stream(chatCall('plain', { isStream: true }), contextOf(), sink)
  t.match(await rejection(json), { code: 'provider_protocol_error' })
  const packed = direct.stream(chatCall('packed', { isStream: true }), contextOf(), sink)
  t.match(await rejection(packed), { code: 'provider_protocol_error' })
  t.equal(sink.batches.length, 0)
  await direct.stream(chatCall('without encoding', { isStream: true }), contextOf(), sink)
  t.not(sink.batches.length, 0, 'an empty header names no encoding')
})

t.test('an error frame after content is an event, and one before any content is an ordinary error', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const sink = createSink()
  await executor.stream(
    chatCall('[[chunks:a|b|c|d]][[tick:5]][[errframe:503 message=late]]', { isStream: true }),
    contextOf(),
    sink
  )
  const last = sink.events().at(-1)
  t.match(last, { type: 'error', error: { status: 503 } })

  const stub = await startStub((_request, response) => {
    openStream(response)
    response.end('data: {"status":503,"message":"busy"}\n\n')
  })
  t.teardown(() => stub.close())
  const early = createSink()
  const direct = startPool(t, { UPSTREAM_BASE_URL: stub.origin }).executor
  const failed = direct.stream(chatCall('hi', { isStream: true }), contextOf(), early)
  t.match(await rejection(failed), { status: 503 })
  t.equal(early.batches.length, 0)
})

t.test('every failure inside a stream leaves one line in the log (decisions.md 59)', async t => {
  const rows: Array<[body: string, line: Record<string, unknown>]> = [
    [
      `${frame('a')}data: {"status":503,"message":"late"}\n\n`,
      { code: 'provider_failure', error_type: 'http_503', cause: 'upstream status 503' }
    ],
    [
      'data: {"status":429,"message":"first frame"}\n\n',
      { code: 'rate_limited', error_type: 'http_429', cause: 'upstream status 429' }
    ],
    [frame('a'), { code: 'provider_protocol_error', error_type: 'protocol_error' }],
    ['', { code: 'provider_protocol_error', error_type: 'protocol_error' }],
    [`${frame('a')}data: no JSON\n\n`, { code: 'provider_protocol_error', error_type: 'protocol_error' }]
  ]
  for (const [body, expected] of rows) {
    const stub = await startStub((_request, response) => {
      openStream(response)
      response.end(body)
    })
    t.teardown(() => stub.close())
    const { executor, memory } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
    await executor.stream(chatCall('hi', { isStream: true }), contextOf(), createSink()).catch(() => undefined)
    const lines = memory.lines.filter(line => line.event === 'upstream_call_failed')
    t.equal(lines.length, 1, body)
    t.match(lines[0], { level: 40, request_id: 'r1', operation: 'chat', ...expected }, body)
    t.equal(lines[0]?.status, undefined, body)
    t.equal(lines[0]?.error_type, expected.error_type, body)
  }
})

t.test('a complete stream leaves no such line', async t => {
  const stub = await startStub((_request, response) => {
    openStream(response)
    response.end(frame('a') + FINISH)
  })
  t.teardown(() => stub.close())
  const { executor, memory } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  await executor.stream(chatCall('hi', { isStream: true }), contextOf(), createSink())
  t.notOk(memory.lines.some(line => line.event === 'upstream_call_failed'))
})

t.test('a connection that breaks in the middle is an error event, the cause is in the log only', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor, memory } = startPool(t, emulatorEnv(emulator))
  const sink = createSink()
  await executor.stream(chatCall('[[chunks:a|b|c|d]][[tick:5]][[die:2]]', { isStream: true }), contextOf(), sink)
  t.match(sink.events().at(-1), { type: 'error', error: { code: 'provider_failure', status: 502 } })
  t.match(sink.text(), /^a/)
  t.match(
    memory.lines.find(line => line.event === 'upstream_call_failed'),
    { request_id: 'r1', error_type: 'connect_error' }
  )
})

t.test('a clean end without the last frame is an error', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const sink = createSink()
  await executor.stream(chatCall('[[chunks:a|b]][[noeof]]', { isStream: true }), contextOf(), sink)
  t.match(sink.events().at(-1), { type: 'error', error: { code: 'provider_protocol_error' } })

  const stub = await startStub((_request, response) => {
    openStream(response)
    response.end()
  })
  t.teardown(() => stub.close())
  const empty = createSink()
  const direct = startPool(t, { UPSTREAM_BASE_URL: stub.origin }).executor
  const failed = direct.stream(chatCall('hi', { isStream: true }), contextOf(), empty)
  t.match(await rejection(failed), { code: 'provider_protocol_error' })
  t.equal(empty.batches.length, 0)
})

t.test('a silent stream ends after its own limit, independent of UPSTREAM_TIMEOUT (H5)', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const env = { GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: '0.2', UPSTREAM_TIMEOUT: '60' }
  const { executor } = startPool(t, emulatorEnv(emulator, env))
  const sink = createSink()
  await executor.stream(chatCall('[[hang:1]]', { isStream: true }), contextOf(), sink)
  t.match(sink.events().at(-1), { type: 'error', error: { code: 'provider_timeout', status: 504 } })
  await emulator.waitFor(({ stats }) => stats.aborted === 1)

  const silent = createSink()
  const failed = executor.stream(chatCall('[[hang:0]]', { isStream: true }), contextOf(), silent)
  t.match(await rejection(failed), { code: 'provider_timeout', status: 504 })
  t.equal(silent.batches.length, 0)
})

t.test('the limit for the head does not limit a silence inside a stream', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator, { UPSTREAM_FIRST_BYTE_TIMEOUT: '1' }))
  await executor.complete(chatCall('warm the token'), contextOf())
  const sink = createSink()
  await executor.stream(chatCall('[[chunks:a|b]][[tick:1300]]', { isStream: true }), contextOf(), sink)
  t.equal(sink.events().at(-1)?.type, 'finish')
  const slow = executor.stream(chatCall('[[slow:20000]]', { isStream: true }), contextOf(), createSink())
  t.match(await rejection(slow), { code: 'provider_timeout' })
})

t.test('completions 28: a stop string ends the stream, with the usage that still comes', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const sink = createSink()
  await executor.stream(
    chatCall('[[chunks:abE|NDcd|ef]][[tick:5]]', { isStream: true, stop: ['END'] }),
    contextOf(),
    sink
  )
  t.equal(sink.text(), 'ab')
  t.match(sink.events().at(-1), { type: 'finish', reason: 'stop', stopSequence: 'END' })
  t.ok(sink.events().some(event => event.type === 'usage'))
})

t.test('two seconds after a stop string the exchange is cancelled', async t => {
  let upstream: ServerResponse | undefined
  const stub = await startStub((request, response) => {
    upstream = response
    openStream(response)
    response.write(frame('abENDcd'))
    if (request.body.includes('breaks')) setImmediate(() => response.destroy())
  })
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  const endless = createSink()
  const aborted = stub.nextAbort()
  await executor.stream(chatCall('goes on', { isStream: true, stop: ['END'] }), contextOf(), endless)
  await aborted
  t.equal(upstream?.destroyed, true)
  t.equal(endless.text(), 'ab')
  t.match(endless.events().at(-1), { type: 'finish', stopSequence: 'END' })

  const broken = createSink()
  await executor.stream(chatCall('breaks', { isStream: true, stop: ['END'] }), contextOf(), broken)
  t.match(broken.events().at(-1), { type: 'finish', stopSequence: 'END' })
  t.equal(broken.events().filter(event => event.type === 'finish' || event.type === 'error').length, 1)
})

t.test('a client disconnect within a stream ends the exchange and the stream, without another event (H1)', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const sink = createSink()
  const abort = new AbortController()
  const reports: UpstreamCallReport[] = []
  const streaming = executor.stream(
    chatCall('[[len:5000]][[tick:1]]', { isStream: true }),
    contextOf({ signal: abort.signal, onUpstreamCall: report => reports.push(report) }),
    sink
  )
  await sink.pushed(2)
  abort.abort(new GatewayError('client_disconnected'))
  await streaming
  const pushed = sink.batches.length
  await emulator.waitFor(({ stats }) => stats.aborted === 1 && stats.activeRequests === 0)
  t.equal(sink.batches.length, pushed)
  t.notOk(sink.events().some(event => event.type === 'error' || event.type === 'finish'))
  t.same(
    reports.map(report => report.status),
    ['cancelled']
  )
})

t.test('an abort before the first event rejects with its reason (H2)', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  for (const directive of ['[[hang]]', '[[hang:0]]']) {
    emulator.reset()
    const sink = createSink()
    const abort = new AbortController()
    const streaming = executor.stream(
      chatCall(directive, { isStream: true }),
      contextOf({ signal: abort.signal }),
      sink
    )
    await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
    abort.abort(new GatewayError('gateway_not_ready'))
    t.match(await rejection(streaming), { code: 'gateway_not_ready' }, directive)
    await emulator.waitFor(({ stats }) => stats.aborted === 1 && stats.activeRequests === 0)
    t.equal(sink.batches.length, 0)
  }
})

t.test('a stream is attempted again only before its first event', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const env = { UPSTREAM_MAX_RETRIES: '2', UPSTREAM_RETRY_BACKOFF_FACTOR: '0' }
  const { executor } = startPool(t, emulatorEnv(emulator, env), { random: () => 0 })
  const early = createSink()
  await executor.stream(chatCall('[[flaky:2:503]]', { isStream: true }), contextOf(), early)
  t.equal(early.events().at(-1)?.type, 'finish')
  t.equal(early.events().filter(event => event.type === 'start').length, 1)

  emulator.reset()
  const late = createSink()
  await executor.stream(chatCall('[[chunks:a|b|c]][[tick:5]][[die:2]]', { isStream: true }), contextOf(), late)
  t.equal(late.events().at(-1)?.type, 'error')
  t.equal(emulator.requests.length, 1)
})

t.test('a slow client pauses the exchange, and memory stays small (H6)', async t => {
  let written = 0
  let isHeldBack = false
  const heldBack = Promise.withResolvers<void>()
  // Most of it is a comment, because the text of a response is bounded.
  const piece = `: ${'x'.repeat(59_000)}\n${frame('x'.repeat(1000))}`
  const stub = await startStub(async (_request, response) => {
    openStream(response)
    for (let count = 0; count < 1000; count += 1) {
      written += piece.length
      if (response.write(piece)) continue
      const drained = once(response, 'drain')
      // The kernel's buffers on loopback take a few megabytes; then nothing more goes out until the client reads.
      const timer = setTimeout(() => {
        isHeldBack = true
        heldBack.resolve()
      }, 300)
      await drained
      clearTimeout(timer)
    }
    response.end(FINISH)
  })
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  const drain = Promise.withResolvers<void>()
  let received = 0
  let pushesWhileFull = 0
  let isFull = false
  let last: NormalizedEvent | undefined
  const sink: ResponseSink = {
    push(events) {
      if (isFull) pushesWhileFull += 1
      for (const event of events) if (event.type === 'text-delta') received += event.text.length
      last = events.at(-1)
      if (received > 0 && !isFull && drained === false) {
        isFull = true
        return false
      }
      return true
    },
    whenDrained: () => drain.promise
  }
  let drained = false
  const streaming = executor.stream(chatCall('hi', { isStream: true }), contextOf(), sink)
  await heldBack.promise
  t.equal(isHeldBack, true)
  t.ok(received < 16_000, `${received} characters were delivered`)
  t.ok(written < 40_000_000, `${written} bytes were accepted on the way`)
  t.equal(pushesWhileFull, 0)
  drained = true
  isFull = false
  drain.resolve()
  await streaming
  t.equal(received, 1_000_000)
  t.equal(last?.type, 'finish')
})

t.test('a disconnect of a client that takes nothing ends the exchange (H7)', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const abort = new AbortController()
  const full = Promise.withResolvers<void>()
  const streaming = executor.stream(
    chatCall('[[len:5000]][[tick:1]]', { isStream: true }),
    contextOf({ signal: abort.signal }),
    {
      push() {
        full.resolve()
        return false
      },
      whenDrained: () => new Promise(() => undefined)
    }
  )
  await full.promise
  abort.abort(new GatewayError('client_disconnected'))
  await streaming
  await emulator.waitFor(({ stats }) => stats.activeRequests === 0)
})

t.test('a stream whose last events wait for the client still ends in order', async t => {
  const stub = await startStub((_request, response) => {
    openStream(response)
    response.write(frame('a'))
    setImmediate(() => response.end(frame('b') + FINISH))
  })
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  const drain = Promise.withResolvers<void>()
  const collected = createSink()
  const settled = Promise.withResolvers<void>()
  const streaming = executor.stream(
    chatCall('hi', { isStream: true }),
    contextOf({ onUpstreamCall: () => settled.resolve() }),
    {
      push(events) {
        collected.push(events)
        return false
      },
      whenDrained: () => drain.promise
    }
  )
  await collected.pushed(1)
  drain.resolve()
  await settled.promise
  await streaming
  t.equal(collected.text(), 'ab')
  t.equal(collected.events().at(-1)?.type, 'finish')
})

t.test('the connection of a finished stream is reused', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator, { UPSTREAM_MAX_CONNECTIONS: '1' }))
  for (let count = 0; count < 5; count += 1) {
    await executor.stream(chatCall('hi', { isStream: true }), contextOf(), createSink())
  }
  await emulator.waitFor(({ stats }) => stats.activeRequests === 0)
  // One for the tokens, one for the API.
  t.equal(emulator.stats.connections, 2)
})

t.test('an upstream that keeps the connection open after the last frame does not delay the client', async t => {
  const stub = await startStub((_request, response) => {
    openStream(response)
    response.write(frame('a') + FINISH)
  })
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  const aborted = stub.nextAbort()
  const sink = createSink()
  await executor.stream(chatCall('hi', { isStream: true }), contextOf(), sink)
  t.equal(stub.openSockets(), 1)
  t.equal(sink.events().at(-1)?.type, 'finish')
  await aborted
})

t.test('a hundred aborted streams leave no connection busy (H4)', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator, { UPSTREAM_MAX_CONNECTIONS: '10' }))
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      const abort = new AbortController()
      const sink = createSink()
      const streaming = executor.stream(
        chatCall('[[len:1000]][[tick:2]]', { isStream: true }),
        contextOf({ signal: abort.signal }),
        sink
      )
      await sink.pushed(1)
      abort.abort(new GatewayError('client_disconnected'))
      await streaming
    })
  )
  await emulator.waitFor(({ stats }) => stats.activeRequests === 0)
  const sink = createSink()
  await executor.stream(chatCall('[[text:still here]]', { isStream: true }), contextOf(), sink)
  t.equal(sink.text(), 'still here')
})

t.test('an error that the sink throws ends the exchange and rejects the chat', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const failed = executor.stream(chatCall('[[hang:1]]', { isStream: true }), contextOf(), {
    push() {
      throw new RangeError('a bug')
    },
    whenDrained: () => Promise.resolve()
  })
  t.match(await rejection(failed), { code: 'internal_error' })
  await emulator.waitFor(({ stats }) => stats.aborted === 1)
})

t.test('an image in a stream arrives with its bytes and in its place', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const sink = createSink()
  const call = chatCall('[[builtin:image_generate]][[text:Done]]', {
    apiMode: 'v2',
    isStream: true,
    extra: { tools: [{ image_generate: {} }] }
  })
  await executor.stream(call, contextOf({ wantsFileBytes: true }), sink)
  const types = sink.events().map(event => event.type)
  const file = sink.events().find(event => event.type === 'file')
  t.ok(file?.type === 'file' && file.file.base64)
  t.equal(types.at(-1), 'finish')
  const plain = createSink()
  await executor.stream(call, contextOf(), plain)
  t.same(
    types,
    plain.events().map(event => event.type)
  )
})

/** An executor for an upstream that streams this many generated images between two texts, and gives the bytes of each as the handler does. */
async function startImages(
  t: Test,
  count: number,
  download: (fileId: number, response: ServerResponse) => void | Promise<void>
) {
  const files = Array.from({ length: count }, (_, index) => ({ files: [{ id: `${index}`, mime: 'image/png' }] }))
  const content = [{ text: 'before' }, ...files, { text: 'after' }]
  const stub = await startStub((request, response) => {
    const fileId = /\/files\/(\d+)\/content$/.exec(request.url)?.[1]
    if (fileId !== undefined) return download(Number(fileId), response)
    openStream(response)
    const head = { model: 'm:1', created_at: 1 }
    const delta = { ...head, messages: [{ role: 'assistant', content }] }
    response.write(`event: response.message.delta\ndata: ${JSON.stringify(delta)}\n\n`)
    response.end(`event: response.message.done\ndata: ${JSON.stringify({ ...head, finish_reason: 'stop' })}\n\n`)
  })
  t.teardown(() => stub.close())
  return { stub, executor: startPool(t, { UPSTREAM_BASE_URL: stub.origin }).executor }
}

t.test('each image goes out as soon as it is fetched, and no more are fetched than the client takes', async t => {
  const IMAGES = 9
  /** Downloads at once, and the images that went out, each of which may have started another. */
  const AHEAD_MAX = 4
  const downloads = Array.from({ length: IMAGES }, () => Promise.withResolvers<void>())
  const { stub, executor } = await startImages(t, IMAGES, async (fileId, response) => {
    await downloads[fileId]?.promise
    response.writeHead(200, { 'content-type': 'image/png' })
    response.end(`image ${fileId}`)
  })
  const sink = createSink()
  const filesOf = (): string[] =>
    sink.events().flatMap(event => {
      if (event.type !== 'file') return []
      return [Buffer.from(event.file.base64 ?? '', 'base64').toString()]
    })
  let isSlow = false
  const drained = Promise.withResolvers<void>()
  const seen = Array.from({ length: IMAGES }, () => Promise.withResolvers<void>())
  const slowSink: ResponseSink = {
    ...sink,
    push(events) {
      sink.push(events)
      for (let count = 0; count < filesOf().length; count++) seen[count]?.resolve()
      return !isSlow
    },
    whenDrained: () => drained.promise
  }
  const streaming = executor.stream(
    chatCall('hi', { apiMode: 'v2', isStream: true }),
    contextOf({ wantsFileBytes: true }),
    slowSink
  )

  await stub.arrived(1 + AHEAD_MAX)
  downloads[0]?.resolve()
  await seen[0]?.promise
  t.same(filesOf(), ['image 0'])

  // The client is slow from the second image on: all running downloads may end, but no other one starts.
  isSlow = true
  for (const download of downloads) download.resolve()
  await seen[1]?.promise
  // A download that was started too early would have reached the upstream before this request.
  await fetch(`${stub.origin}/files/8/content`)
  t.ok(stub.requests.filter(({ url }) => url.endsWith('/content')).length <= 1 + AHEAD_MAX + 1)
  t.same(filesOf(), ['image 0', 'image 1'])

  isSlow = false
  drained.resolve()
  await streaming
  t.same(
    filesOf(),
    Array.from({ length: IMAGES }, (_, index) => `image ${index}`)
  )
  t.equal(sink.text(), 'beforeafter')
  t.equal(sink.events().at(-1)?.type, 'finish')
})

t.test('images beyond the bound end a stream whose first images have gone out', async t => {
  // Two of them are within the bound of 32 MiB.
  const bytes = Buffer.alloc(12 * 1024 * 1024)
  const sent = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const { executor } = await startImages(t, 5, async (fileId, response) => {
    await sent[fileId - 1]?.promise
    response.end(bytes)
  })
  const sink = createSink()
  const countFiles = (): number => sink.events().filter(({ type }) => type === 'file').length
  const call = chatCall('hi', { apiMode: 'v2', isStream: true })
  const failed = executor.stream(call, contextOf({ wantsFileBytes: true }), {
    ...sink,
    push(events) {
      sink.push(events)
      sent[countFiles() - 1]?.resolve()
      return true
    }
  })
  t.match(await rejection(failed), { code: 'provider_protocol_error' })
  t.equal(countFiles(), 2)
  t.notOk(sink.events().some(({ type }) => type === 'finish'))
  // Lets the downloads that wait end before the upstream closes.
  for (const { resolve } of sent) resolve()
})

t.test('no image is fetched for a client that has disconnected', async t => {
  const { stub, executor } = await startImages(t, 9, () => undefined)
  const abort = new AbortController()
  const context = contextOf({ wantsFileBytes: true, signal: abort.signal })
  const streaming = rejection(executor.stream(chatCall('hi', { apiMode: 'v2', isStream: true }), context, createSink()))
  await stub.arrived(5)
  const aborted = stub.nextAbort()
  abort.abort(new GatewayError('client_disconnected'))
  t.match(await streaming, { code: 'client_disconnected' })
  await aborted
  t.equal(stub.requests.length, 5)
})
