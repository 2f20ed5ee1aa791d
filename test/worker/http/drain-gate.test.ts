import { once } from 'node:events'
import t, { type Test } from 'tap'
import { createDrainGate } from '../../../worker/http/drain-gate.ts'
import { startEventStream } from '../../../worker/http/event-stream.ts'
import { sendJson } from '../../../worker/http/respond.ts'
import { get, post } from '../../support/client.ts'
import { mountOperation } from '../../support/operations.ts'
import { waitUntil } from '../../support/processes.ts'
import { type Handler, openConnection, signalled, startApplication } from './support.ts'

function mount(handler: Handler) {
  return (app: Parameters<typeof mountOperation>[0]) => {
    const shared = { method: 'POST', isModelRequest: true, handler } as const
    for (const path of ['/chat/completions', '/responses', '/embeddings']) {
      mountOperation(app, { ...shared, path, family: 'completions' })
    }
    for (const path of ['/messages', '/messages/count_tokens']) {
      mountOperation(app, { ...shared, path, family: 'messages' })
    }
    mountOperation(app, { ...shared, path: '/models/{model+}', family: 'content' })
    mountOperation(app, { method: 'GET', path: '/models', family: 'by-client', isModelRequest: false, handler })
  }
}

const ok: Handler = (_request, reply) => sendJson(reply, 200, {}, '{}')

const completionsRefusal = {
  schema_version: 'gateway.error.v1',
  error: {
    message: 'Gateway routes are not ready.',
    type: 'server_error',
    param: null,
    code: 'gateway_not_ready',
    details: [{ reason_id: 'gateway_shutting_down' }]
  }
}

const contentRefusal = {
  error: {
    code: 503,
    message: 'Gateway routes are not ready.',
    status: 'UNAVAILABLE',
    details: [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'gateway_shutting_down', domain: 'gateway' }
    ]
  }
}

function messagesRefusal(requestId: string | null) {
  return {
    type: 'error',
    error: {
      type: 'overloaded_error',
      message: 'Gateway routes are not ready.',
      code: 'gateway_not_ready',
      details: { error_code: 'gateway_shutting_down' }
    },
    request_id: requestId
  }
}

t.test(
  'operations 57: while draining, model requests get the 503 of their family, before keys and sizes are checked',
  async t => {
    const { url, drainGate } = await startApplication(t, {
      env: { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1', GATEWAY_MAX_REQUEST_BODY_BYTES: '1' },
      routes: mount(ok)
    })
    drainGate.startDraining()
    for (const path of ['/v1/chat/completions', '/responses', '/v2/embeddings', '/api/v1/chat/completions/']) {
      const refused = await post(url + path, '{}')
      t.equal(refused.status, 503, path)
      t.equal(refused.headers.get('retry-after'), '1')
      t.equal(refused.headers.get('connection'), 'close')
      t.same(refused.json, completionsRefusal)
    }
    for (const path of ['/v1/messages', '/messages/count_tokens']) {
      const refused = await post(url + path, '{}')
      t.equal(refused.status, 503, path)
      t.equal(refused.headers.get('retry-after'), '1')
      t.same(refused.json, messagesRefusal(refused.headers.get('x-request-id')))
    }
    for (const operation of [
      'generateContent',
      'streamGenerateContent',
      'countTokens',
      'embedContent',
      'batchEmbedContents'
    ]) {
      const refused = await post(`${url}/v1/models/x:${operation}`, '{}')
      t.equal(refused.status, 503, operation)
      t.same(refused.json, contentRefusal)
    }
    t.equal(drainGate.activeRequests, 0)
  }
)

t.test('while draining all other requests are served, and their connections closed (I1, I2)', async t => {
  const { url, drainGate } = await startApplication(t, { routes: mount(ok) })
  drainGate.startDraining()
  const health = await get(`${url}/health`)
  t.equal(health.status, 200)
  t.equal(health.headers.get('connection'), 'close')
  const ready = await get(`${url}/ready`)
  t.equal(ready.status, 503)
  t.same(ready.json.reasons[0], { reason_id: 'gateway_shutting_down' })
  const models = await get(`${url}/v1/models`)
  t.equal(models.status, 200)
  t.equal(models.headers.get('connection'), 'close')
})

t.test('a model request on a path that nothing serves is refused too', async t => {
  const { url, drainGate } = await startApplication(t)
  t.equal((await post(`${url}/v1/responses`, '{}')).status, 404)
  drainGate.startDraining()
  const refused = await post(`${url}/v1/responses`, '{}')
  t.equal(refused.status, 503)
  t.same(refused.json, completionsRefusal)
})

/** Starts a request whose handler waits until the request is aborted or `finish` is called. */
async function startWaiting(t: Test, path: string) {
  const { promise: arrived, resolve: arrive } = signalled<void>()
  const { promise: finished, resolve: finish } = signalled<void>()
  const started = await startApplication(t, {
    routes: mount(async (request, reply) => {
      arrive()
      const signal = request.context.signal
      await Promise.race([finished, once(signal, 'abort')])
      signal.throwIfAborted()
      sendJson(reply, 200, {}, '{"done":true}')
    })
  })
  const response = post(started.url + path, '{}')
  await arrived
  return { ...started, response, finish: () => finish() }
}

t.test('a request that runs when the drain starts ends normally; only then is the worker idle (I3)', async t => {
  const { drainGate, response, finish } = await startWaiting(t, '/v1/chat/completions')
  t.equal(drainGate.activeRequests, 1)
  drainGate.startDraining()
  let isIdle = false
  const idle = drainGate.whenIdle().then(() => {
    isIdle = true
  })
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(isIdle)
  finish()
  const { status, headers, json } = await response
  t.equal(status, 200)
  t.equal(headers.get('connection'), 'close')
  t.same(json, { done: true })
  await idle
  t.equal(drainGate.activeRequests, 0)
})

t.test('idle connections are kept open behind the start of a drain, and behind the end of what ran then', async t => {
  const { drainGate, response, finish } = await startWaiting(t, '/v1/messages')
  t.equal(drainGate.keptIdleMs, 0, 'not before the drain')
  drainGate.startDraining()
  t.ok(drainGate.keptIdleMs > 0)
  await waitUntil(() => drainGate.keptIdleMs === 0, 'the time is over')
  const idle = drainGate.whenIdle().then(() => drainGate.keptIdleMs)
  finish()
  await response
  t.ok((await idle) > 0, 'the time begins again')
})

t.test('operations 58: at the deadline a running request is aborted and gets the 503 of its family', async t => {
  for (const [path, refusal] of [
    ['/v1/chat/completions', () => completionsRefusal],
    ['/v1/messages', messagesRefusal],
    ['/v1/models/x:generateContent', () => contentRefusal]
  ] as const) {
    const { drainGate, response } = await startWaiting(t, path)
    drainGate.startDraining()
    drainGate.cancelActive()
    const { status, headers, json } = await response
    t.equal(status, 503)
    t.equal(headers.get('retry-after'), '1')
    t.same(json, refusal(headers.get('x-request-id')))
    await drainGate.whenIdle()
  }
})

t.test('a stream counts as active until its last byte', async t => {
  const { promise, resolve } = signalled<ReturnType<typeof startEventStream>>()
  const { port, drainGate } = await startApplication(t, {
    routes: mount((_request, reply) => resolve(startEventStream(reply)))
  })
  const { socket, waitFor } = await openConnection(t, port)
  socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
  const stream = await promise
  t.equal(drainGate.activeRequests, 1)
  stream.write('data: 1\n\n')
  await waitFor(/data: 1/)
  t.equal(drainGate.activeRequests, 1)
  stream.end()
  await drainGate.whenIdle()
  t.equal(drainGate.activeRequests, 0)
})

t.test('refused requests, refused keys and unknown paths leave the count at zero', async t => {
  const { url, drainGate } = await startApplication(t, {
    env: { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1', GATEWAY_MAX_REQUEST_BODY_BYTES: '5' },
    routes: mount(() => {
      throw new Error('broken')
    })
  })
  const key = { 'x-api-key': 'k1' }
  t.equal((await post(`${url}/v1/messages`, '{}')).status, 401)
  t.equal((await post(`${url}/v1/messages`, 'too large', key)).status, 413)
  t.equal((await post(`${url}/v1/messages`, '{}', key)).status, 500)
  t.equal((await post(`${url}/v1/messages/nope`, '{}', key)).status, 404)
  t.equal((await get(`${url}/v1/messages`)).status, 405)
  await drainGate.whenIdle()
  t.equal(drainGate.activeRequests, 0)
})

t.test('idle connections are kept open behind the start of a replacement as well', async t => {
  const gate = createDrainGate()
  gate.startRetiring()
  t.ok(gate.keptIdleMs > 0)
})

t.test('a drain waits for work that outlives its request', async t => {
  const gate = createDrainGate()
  const work = Promise.withResolvers<void>()
  gate.hold(work.promise)
  gate.hold(Promise.reject(new Error('It failed.')))
  let isIdle = false
  const idle = gate.whenIdle().then(() => {
    isIdle = true
  })
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(isIdle)
  t.equal(gate.activeRequests, 0)
  work.resolve()
  await idle
})
