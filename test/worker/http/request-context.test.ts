import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { startEventStream } from '../../../worker/http/event-stream.ts'
import type { RequestContext } from '../../../worker/http/request-context.ts'
import { sendJson } from '../../../worker/http/respond.ts'
import { GatewayError } from '../../../worker/normalized/index.ts'
import type { ClosedFacts } from '../../../worker/observation/observer.ts'
import { mountOperation } from '../../support/operations.ts'
import { waitUntil } from '../../support/processes.ts'
import { type Handler, openConnection, signalled, startApplication } from './support.ts'

function mount(handler: Handler) {
  return (app: Parameters<typeof mountOperation>[0]) => {
    const shared = { method: 'POST', isModelRequest: true, handler } as const
    mountOperation(app, { ...shared, path: '/chat/completions', family: 'completions' })
    mountOperation(app, { ...shared, path: '/messages', family: 'messages' })
    mountOperation(app, { ...shared, path: '/models/{model+}', family: 'content' })
  }
}

const POST_CHAT = 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}'

/** Starts an application whose handler passes its first request to the test and waits for `finish`. */
async function startHeld(t: Test, env: Record<string, string> = {}) {
  const { promise, resolve } = signalled<{ request: FastifyRequest; reply: FastifyReply; finish: () => void }>()
  const started = await startApplication(t, {
    env,
    routes: mount((request, reply) => {
      const { promise: finished, resolve: finish } = signalled<void>()
      resolve({ request, reply, finish: () => finish() })
      return finished
    })
  })
  return { ...started, held: promise }
}

function reasonOf(signal: { readonly reason: unknown }): string {
  return GatewayError.is(signal.reason) ? signal.reason.code : String(signal.reason)
}

t.test('a client disconnect before the first byte aborts the request (H2)', async t => {
  const { port, held, drainGate } = await startHeld(t)
  const { socket } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, finish } = await held
  const signal = request.context.signal
  t.notOk(signal.aborted)
  socket.destroy()
  await once(signal, 'abort')
  t.equal(reasonOf(signal), 'client_disconnected')
  t.same(request.context.outcome(), { status: 499, lifecycle: 'request_aborted', errorType: 'request_cancelled' })
  await drainGate.whenIdle()
  finish()
})

t.test('a client that closes its sending side only counts as disconnected (H2)', async t => {
  const { port, held } = await startHeld(t)
  const { socket } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, finish } = await held
  const signal = request.context.signal
  socket.end()
  await once(signal, 'abort')
  t.equal(reasonOf(signal), 'client_disconnected')
  finish()
})

t.test('the body of a planned request is given back while its response is written', async t => {
  const { port, held } = await startHeld(t)
  const { socket } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, finish } = await held
  const { context } = request
  t.equal(context.body.toString(), '{}')
  context.planned({
    model: 'm',
    requestedModel: 'm',
    upstreamModel: 'm',
    providerKind: 'native',
    profileId: 'p',
    isStream: true
  })
  t.equal(context.body.length, 0)
  t.equal(context.facts.model, 'm')
  socket.destroy()
  finish()
})

t.test('a signal that is first read after the client disconnect is aborted already (H2)', async t => {
  const { port, held, drainGate } = await startHeld(t)
  const { socket } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, finish } = await held
  socket.destroy()
  await drainGate.whenIdle()
  t.ok(request.context.isAborted)
  t.ok(request.context.signal.aborted)
  t.equal(reasonOf(request.context.signal), 'client_disconnected')
  finish()
})

t.test('a client disconnect within a stream aborts the request (H1)', async t => {
  const { port, held, drainGate } = await startHeld(t)
  const { socket, waitFor } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, reply, finish } = await held
  const stream = startEventStream(reply)
  stream.write('data: 1\n\n')
  await waitFor(/data: 1/)
  const signal = request.context.signal
  socket.destroy()
  await once(signal, 'abort')
  t.ok(stream.isClosed)
  t.ok(stream.write('data: 2\n\n'), 'a write after the disconnect does not ask to wait')
  t.same(request.context.outcome(), { status: 499, lifecycle: 'streaming_aborted', errorType: 'stream_cancelled' })
  await drainGate.whenIdle()
  finish()
})

t.test('a request whose response is complete is not aborted when its connection closes later (H3)', async t => {
  const { port, held, drainGate } = await startHeld(t)
  const { socket, waitFor, closed } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, reply, finish } = await held
  const signal = request.context.signal
  sendJson(reply, 200, {}, '{}')
  await waitFor(/\{\}$/)
  await drainGate.whenIdle()
  socket.end()
  await closed
  finish()
  t.notOk(signal.aborted)
  t.same(request.context.outcome(), { status: 200, lifecycle: 'request_completed', errorType: undefined })
})

t.test(
  'a pipelined request is aborted when its connection breaks, although its response has no socket yet',
  async t => {
    const contexts: RequestContext[] = []
    const { promise: bothArrived, resolve } = signalled<void>()
    const { port, drainGate } = await startApplication(t, {
      routes: mount(request => {
        contexts.push(request.context)
        if (contexts.length === 2) resolve()
        return new Promise(finish => request.context.signal.addEventListener('abort', () => finish()))
      })
    })
    const { socket } = await openConnection(t, port)
    socket.write(POST_CHAT + POST_CHAT)
    await bothArrived
    t.equal(drainGate.activeRequests, 2)
    socket.destroy()
    await drainGate.whenIdle()
    t.same(
      contexts.map(context => reasonOf(context.signal)),
      ['client_disconnected', 'client_disconnected']
    )
  }
)

t.test('pipelined requests are answered in order and leave no listeners on their connection', async t => {
  const contexts: RequestContext[] = []
  const { port, drainGate } = await startApplication(t, {
    routes: mount((request, reply) => {
      contexts.push(request.context)
      setImmediate(() => sendJson(reply, 200, {}, `{"n":${contexts.indexOf(request.context)}}`))
    })
  })
  const { socket, waitFor } = await openConnection(t, port)
  socket.write(POST_CHAT.repeat(20))
  const received = await waitFor(/"n":19\}/)
  t.same(
    [...received.matchAll(/"n":(\d+)/g)].map(match => Number(match[1])),
    Array.from({ length: 20 }, (_, n) => n)
  )
  await drainGate.whenIdle()
  const listeners = contexts[0]?.incoming.socket.listenerCount('close') ?? 0
  t.ok(listeners < 10, `${listeners} listeners for the end of the connection`)
  t.ok(contexts.every(context => context.outcome().lifecycle === 'request_completed'))
})

t.test('a request that takes longer than allowed is aborted and gets 504', async t => {
  const { url } = await startApplication(t, {
    env: { GATEWAY_REQUEST_TIMEOUT_SECONDS: '0.02' },
    routes: mount(async request => {
      await once(request.context.signal, 'abort')
      throw request.context.signal.reason
    })
  })
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' })
  t.equal(response.status, 504)
  t.match(await response.json(), { error: { code: 'provider_timeout' } })
})

t.test('a stream has no bound on its whole duration (H5)', async t => {
  const { promise, resolve } = signalled<{ request: FastifyRequest; reply: FastifyReply }>()
  const { url, port } = await startApplication(t, {
    env: { GATEWAY_REQUEST_TIMEOUT_SECONDS: '0.3' },
    routes: mount(async (request, reply) => {
      if (request.context.family === 'completions') {
        request.context.lifetime.expectStream()
        reply.hijack()
        resolve({ request, reply })
      } else {
        await once(request.context.signal, 'abort')
        throw request.context.signal.reason
      }
    })
  })
  const { socket, waitFor } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, reply } = await promise
  const signal = request.context.signal
  // The deadline of a later request with the same bound has passed, so that of the stream would have passed as well.
  t.equal((await fetch(`${url}/v1/messages`, { method: 'POST', body: '{}' })).status, 504)
  t.notOk(signal.aborted)
  startEventStream(reply).end('data: 1\n\n')
  await waitFor(/data: 1/)
})

t.test('a content client may allow less time than the setting, but not more', async t => {
  const abide = mount(async request => {
    await once(request.context.signal, 'abort')
    throw request.context.signal.reason
  })
  for (const [setting, wishes] of [
    ['3600', ['0.001']],
    ['0', ['0.001']],
    ['0.01', ['3600', '-1', 'soon']]
  ] as const) {
    const { url } = await startApplication(t, { env: { GATEWAY_REQUEST_TIMEOUT_SECONDS: setting }, routes: abide })
    for (const wish of wishes) {
      const headers = { 'x-server-timeout': wish }
      const response = await fetch(`${url}/v1/models/x:generateContent`, { method: 'POST', headers, body: '{}' })
      t.equal(response.status, 504, `${wish} under ${setting}`)
    }
  }
})

t.test('a wish for more time than a timer can run shortens nothing', async t => {
  // Node runs a timer that is too long at once, and says so.
  const warnings: string[] = []
  const onWarning = ({ name }: Error) => void warnings.push(name)
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const { url } = await startApplication(t, {
    env: { GATEWAY_REQUEST_TIMEOUT_SECONDS: '0' },
    routes: mount((_request, reply) => sendJson(reply, 200, {}, '{}'))
  })
  for (const wish of ['2147484', '1e12']) {
    const options = { method: 'POST', headers: { 'x-server-timeout': wish }, body: '{}' }
    t.equal((await fetch(`${url}/v1/models/x:generateContent`, options)).status, 200, wish)
  }
  t.notOk(warnings.includes('TimeoutOverflowWarning'))
})

t.test('ids of the client are read as they are, and the request id is not among them', async t => {
  const { promise, resolve } = signalled<RequestContext>()
  const { url } = await startApplication(t, {
    routes: mount((request, reply) => {
      resolve(request.context)
      sendJson(reply, 200, {}, '{}')
    })
  })
  const headers = { 'x-trace-id': ' t1 ', 'x-span-id': ' s1 ', 'x-request-id': 'mine-1' }
  await fetch(`${url}/v1/messages`, { method: 'POST', headers, body: '{}' })
  const context = await promise
  t.equal(context.traceId, 't1')
  t.equal(context.spanId, 's1')
  t.equal(context.clientRequestId, 'mine-1')
  t.not(context.requestId, 'mine-1')
  t.equal(context.path, '/v1/messages')
  t.ok(Math.abs(context.startedAtEpochMs - Date.now()) < 60_000)
})

t.test('without ids of the client the request id is the trace id, and an odd client request id is dropped', async t => {
  const { promise, resolve } = signalled<RequestContext>()
  const { url } = await startApplication(t, {
    routes: mount((request, reply) => {
      resolve(request.context)
      sendJson(reply, 200, {}, '{}')
    })
  })
  await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-request-id': 'a b', 'x-trace-id': ' ' },
    body: '{}'
  })
  const context = await promise
  t.equal(context.traceId, context.requestId)
  t.equal(context.spanId, undefined)
  t.equal(context.clientRequestId, undefined)
})

t.test('a failed stream keeps its status, and its outcome names the error', async t => {
  const { port, held, drainGate } = await startHeld(t)
  const { socket } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, reply, finish } = await held
  const stream = startEventStream(reply)
  request.context.failed(new GatewayError('provider_protocol_error'))
  stream.end('data: [DONE]\n\n')
  await drainGate.whenIdle()
  finish()
  t.same(request.context.outcome(), {
    status: 200,
    lifecycle: 'streaming_aborted',
    errorType: 'http_502'
  })
})

t.test('a detached request outlives its response and its client, and has one record of both (memory.md 4)', async t => {
  const ends: ClosedFacts[] = []
  const { promise, resolve } = signalled<{ context: RequestContext; release: () => void }>()
  const { port, url, drainGate } = await startApplication(t, {
    env: { GATEWAY_REQUEST_TIMEOUT_SECONDS: '0.3' },
    observers: [{ name: 'test', closed: (_request, facts) => void ends.push(facts) }],
    routes: mount(async (request, reply) => {
      const { context } = request
      if (context.family === 'completions') {
        resolve({ context, release: context.lifetime.detach() })
        sendJson(reply, 200, {}, '{"n":1}')
      } else if (context.family === 'messages') sendJson(reply, 200, {}, '{"n":2}')
      else {
        await once(context.signal, 'abort')
        throw context.signal.reason
      }
    })
  })
  const { socket, waitFor, closed } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { context, release } = await promise
  await waitFor(/"n":1/)
  socket.write(POST_CHAT.replace('chat/completions', 'messages'))
  await waitFor(/"n":2/)
  t.equal(drainGate.activeRequests, 1, 'the drain waits for the work, not for its connection')
  socket.destroy()
  await closed
  // A request that came later meets the bound of its time.
  t.equal((await fetch(`${url}/v1/models/m`, { method: 'POST', body: '{}' })).status, 504)
  t.notOk(context.isAborted, 'neither its client nor the time of a request ends it')
  await waitUntil(() => ends.length === 2, 'the other requests are over')
  release()
  await drainGate.whenIdle()
  release()
  t.equal(ends.length, 3)
  const end = ends[2]
  t.match(end, { status: 200, lifecycle: 'request_completed', isComplete: true })
  t.ok((end?.durationMs ?? 0) > (ends[1]?.durationMs ?? 0), 'its duration is that of the work')
  t.ok((end?.bytesSent ?? 0) > 0, 'the bytes of its own response')
})

t.test('a detached request whose work ends first is over with its response', async t => {
  const { port, held, drainGate } = await startHeld(t)
  const { socket, waitFor } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, reply, finish } = await held
  const stream = startEventStream(reply)
  request.context.lifetime.detach()()
  t.equal(drainGate.activeRequests, 1)
  stream.end('data: 1\n\n')
  await waitFor(/data: 1/)
  await drainGate.whenIdle()
  finish()
  t.match(request.context.outcome(), { lifecycle: 'streaming_completed' })
})

t.test('a detached request is aborted at the drain deadline', async t => {
  const { port, held, drainGate } = await startHeld(t)
  const { socket } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { request, finish } = await held
  const release = request.context.lifetime.detach()
  socket.destroy()
  drainGate.cancelActive()
  t.equal(reasonOf(request.context.signal), 'gateway_not_ready')
  t.equal(drainGate.activeRequests, 1, 'its end is still to be stored')
  release()
  finish()
  await drainGate.whenIdle()
  t.match(request.context.outcome(), { status: 499 })
})
