import t from 'tap'
import { sendJson } from '../../../worker/http/respond.ts'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { mountOperation } from '../../support/operations.ts'
import { createRecorder } from '../observation/recorder.ts'
import { echo, type Handler, openConnection, startApplication } from './support.ts'

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function mountFamilies(handler: Handler) {
  return (app: Parameters<typeof mountOperation>[0]) => {
    const shared = { method: 'POST', isModelRequest: true, handler } as const
    mountOperation(app, { ...shared, path: '/chat/completions', family: 'completions' })
    mountOperation(app, { ...shared, path: '/messages', family: 'messages' })
    mountOperation(app, {
      ...shared,
      path: '/models/{model+}',
      prefixes: ['/v1', '/v2', '/v1beta', '/v1/v1beta', '/v2/v1beta'],
      family: 'content'
    })
    mountOperation(app, { method: 'GET', path: '/models', family: 'by-client', isModelRequest: false, handler })
  }
}

t.test('operations 3, 8: an unknown path is 404 in the form of its family, before any key is checked', async t => {
  const { url } = await startApplication(t, { env: { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' } })
  const system = { error: { code: 'not_found', message: 'Not Found' } }
  const completions = {
    error: { message: 'Unknown request URL.', type: 'invalid_request_error', param: null, code: 'unknown_url' }
  }
  for (const [path, body] of [
    ['/nope', system],
    ['/health/', system],
    ['/_admin/logs/models', system],
    ['/v1/nope', completions],
    ['/v1//models', completions],
    ['/v1/v2/messages', completions],
    ['/files', completions]
  ] as const) {
    const response = await fetch(url + path)
    t.equal(response.status, 404, path)
    t.equal(response.headers.get('content-type'), 'application/json')
    t.same(await response.json(), body, path)
  }
  const messages = await fetch(`${url}/v1/messages/nope`)
  t.equal(messages.status, 404)
  t.same(await messages.json(), {
    type: 'error',
    error: { type: 'not_found_error', message: 'Unknown request URL.' },
    request_id: messages.headers.get('x-request-id')
  })
  t.equal(messages.headers.get('request-id'), messages.headers.get('x-request-id'))
  const content = await fetch(`${url}/v1beta/nope`)
  t.equal(content.status, 404)
  t.same(await content.json(), { error: { code: 404, message: 'Unknown request URL.', status: 'NOT_FOUND' } })
})

t.test('a known path with a wrong method is 405 with the methods that it has, in the form of its family', async t => {
  const { url } = await startApplication(t, { routes: mountFamilies(echo) })
  const chat = await fetch(`${url}/v1/chat/completions`)
  t.equal(chat.status, 405)
  t.equal(chat.headers.get('allow'), 'POST')
  t.match(await chat.json(), { error: { type: 'invalid_request_error', code: 'method_not_allowed' } })
  const messages = await fetch(`${url}/messages`, { method: 'DELETE' })
  t.match(await messages.json(), { type: 'error', error: { type: 'invalid_request_error' } })
  const content = await fetch(`${url}/v1beta/models/a/b:generateContent`)
  t.equal(content.headers.get('allow'), 'POST')
  t.match(await content.json(), { error: { code: 405, status: 'UNIMPLEMENTED' } })
  const options = await fetch(`${url}/v1/models`, { method: 'OPTIONS' })
  t.equal(options.status, 405)
  t.equal(options.headers.get('allow'), 'GET')
  const exotic = await fetch(`${url}/health`, { method: 'PROPFIND' })
  t.equal(exotic.status, 405)
  t.equal(exotic.headers.get('allow'), 'GET')
})

t.test('operations 9: every request has an id of its own, and the client id goes upstream', async t => {
  const { url } = await startApplication(t, { routes: mountFamilies(echo) })
  const ids = new Set<string>()
  for (let count = 0; count < 2; count += 1) {
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'x-request-id': 'mine' } })
    const id = response.headers.get('x-request-id') ?? ''
    t.match(id, UUID_V4)
    ids.add(id)
    const { headers } = (await response.json()) as { headers: Array<[string, string]> }
    t.same(
      headers.find(([name]) => name === 'X-Request-ID'),
      ['X-Request-ID', 'mine']
    )
  }
  t.equal(ids.size, 2)
})

t.test('the response of every stage carries the request id and the cross-origin headers', async t => {
  const { url, drainGate } = await startApplication(t, {
    env: { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1', GATEWAY_MAX_REQUEST_BODY_BYTES: '10' },
    routes: mountFamilies(() => {
      throw new Error('broken')
    })
  })
  const origin = { origin: 'http://localhost:3000' }
  const key = { ...origin, 'x-api-key': 'k1' }
  const chat = `${url}/v1/chat/completions`
  const expected: Array<[status: number, response: Promise<Response>]> = [
    [200, fetch(`${url}/health`, { headers: origin })],
    [404, fetch(`${url}/v1/nope`, { headers: origin })],
    [405, fetch(chat, { headers: origin })],
    [400, fetch(`${url}/v1/%zz`, { headers: origin })],
    [401, fetch(chat, { method: 'POST', headers: origin })],
    [413, fetch(chat, { method: 'POST', headers: origin, body: '12345678901' })],
    [500, fetch(chat, { method: 'POST', headers: key, body: '{}' })],
    [200, fetch(chat, { method: 'OPTIONS', headers: { ...origin, 'access-control-request-method': 'POST' } })]
  ]
  for (const [status, sent] of expected) {
    const response = await sent
    t.equal(response.status, status)
    t.match(response.headers.get('x-request-id'), UUID_V4, `${status}`)
    t.equal(response.headers.get('access-control-allow-origin'), 'http://localhost:3000', `${status}`)
    t.match(response.headers.get('vary'), /^Origin/)
  }
  drainGate.startDraining()
  const refused = await fetch(chat, { method: 'POST', headers: origin })
  t.equal(refused.status, 503)
  t.match(refused.headers.get('x-request-id'), UUID_V4)
})

t.test('operations 28, 29: a preflight is answered before routing and authentication', async t => {
  const { url } = await startApplication(t, { env: { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'k1' } })
  const response = await fetch(`${url}/v1/anything`, {
    method: 'OPTIONS',
    headers: { origin: 'http://a.b', 'access-control-request-method': 'POST' }
  })
  t.equal(response.status, 400)
  t.equal(await response.text(), 'Disallowed CORS origin')
  t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  t.equal(response.headers.get('access-control-allow-methods'), 'GET, POST, OPTIONS')
  t.equal(response.headers.get('access-control-allow-origin'), null)
})

t.test(
  'operations 20, 21: a repaired path is served in place, with its body, its query and the version that it names',
  async t => {
    const { url } = await startApplication(t, {
      env: { GATEWAY_UPSTREAM_API_MODE: 'v2' },
      routes: mountFamilies(echo)
    })
    const post = async (path: string) => {
      const response = await fetch(url + path, { method: 'POST', body: '{"a":1}', redirect: 'manual' })
      t.equal(response.status, 200, path)
      return response.json()
    }
    t.match(await post('/api/v1/chat/completions?x=1'), {
      url: '/v1/chat/completions?x=1',
      body: '{"a":1}',
      route: '/v1/chat/completions',
      apiMode: 'v1'
    })
    t.match(await post('/v2/v1/messages'), { route: '/v2/messages', apiMode: 'v2' })
    t.match(await post('/chat/completions/'), { route: '/chat/completions', apiMode: 'v2' })
    t.match(await post('/v1/v1beta/models/x:generateContent'), { route: '/v1/v1beta/models/{model}', apiMode: 'v1' })
    t.match(await post('/v1beta/models/x:generateContent'), { apiMode: 'v2' })
  }
)

t.test(
  'every response has the time until its head, and those of the completions family in the form of their SDK',
  async t => {
    const { url } = await startApplication(t, {
      routes(app) {
        const shared = { isModelRequest: true, handler: echo } as const
        mountOperation(app, { ...shared, method: 'POST', path: '/chat/completions', family: 'completions' })
        mountOperation(app, { ...shared, method: 'POST', path: '/messages', family: 'messages' })
      }
    })
    for (const [path, isCompletions] of [
      ['/v1/chat/completions', true],
      ['/v1/messages', false],
      ['/health', false],
      ['/v1/nope', true],
      ['/nope', false]
    ] as const) {
      const { headers } = await fetch(url + path, path.endsWith('s') ? { method: 'POST', body: '{}' } : {})
      t.match(headers.get('server-timing'), /^total;dur=\d+\.\d$/, path)
      if (isCompletions) t.match(headers.get('openai-processing-ms'), /^\d+$/, path)
      else t.equal(headers.get('openai-processing-ms'), null, path)
    }
  }
)

t.test('an exception in a handler is a fixed 500 in the form of the family, and a log line with the id', async t => {
  const { url, logged } = await startApplication(t, {
    routes: mountFamilies(async () => {
      throw new TypeError('secret detail')
    })
  })
  const chat = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' })
  t.equal(chat.status, 500)
  t.same(await chat.json(), {
    error: { message: 'Internal server error', type: 'server_error', param: null, code: null }
  })
  const messages = await fetch(`${url}/v1/messages`, { method: 'POST', body: '{}' })
  t.match(await messages.json(), { type: 'error', error: { type: 'api_error', message: 'Internal server error' } })
  const content = await fetch(`${url}/v1beta/models/x:generateContent`, { method: 'POST', body: '{}' })
  t.same(await content.json(), { error: { code: 500, message: 'Internal server error', status: 'INTERNAL' } })
  const id = chat.headers.get('x-request-id')
  const line = logged.find(entry => entry.request_id === id && entry.event === 'unhandled_fault')
  t.match(line, { level: 50, err: { type: 'TypeError' } })
})

t.test('an exception after the response began closes the connection, and is no client disconnect', async t => {
  const { observer, whenClosed } = createRecorder()
  const { port } = await startApplication(t, {
    observers: [observer],
    routes: mountFamilies(async (_request, reply) => {
      reply.raw.writeHead(200, { 'content-length': '100' })
      reply.raw.write('half')
      throw new Error('broken')
    })
  })
  const { socket, received, closed } = await openConnection(t, port)
  socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
  await closed
  t.notMatch(received(), /Internal server error/)
  const [life] = await whenClosed(1)
  t.match(life?.closed, { status: 200, lifecycle: 'request_error', errorType: 'http_500' })
})

t.test('an error that a handler throws becomes a response with its status, headers and code', async t => {
  const { url } = await startApplication(t, {
    routes: mountFamilies(async () => {
      throw new GatewayError('model_concurrency_limit', { param: 'model' })
    })
  })
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' })
  t.equal(response.status, 429)
  t.equal(response.headers.get('retry-after'), '1')
  t.match(await response.json(), { error: { code: 'model_concurrency_limit', param: 'model' } })
})

t.test('the shared model list writes errors in the form of the client', async t => {
  const { url } = await startApplication(t, {
    routes: mountFamilies(() => {
      throw new GatewayError('provider_timeout')
    })
  })
  const ask = async (headers: Record<string, string>, query = '') =>
    (await fetch(`${url}/v1/models${query}`, { headers })).json()
  t.match(await ask({}), { error: { code: 'provider_timeout' } })
  t.match(await ask({ 'anthropic-version': '2023-06-01' }), { type: 'error', error: { type: 'timeout_error' } })
  t.match(await ask({ 'x-goog-api-client': 'x' }), { error: { status: 'DEADLINE_EXCEEDED' } })
  t.match(await ask({}, '?key=k'), { error: { status: 'DEADLINE_EXCEEDED' } })
})

t.test('a path that cannot be decoded is 400, and a very long one is 404', async t => {
  const { url } = await startApplication(t, { routes: mountFamilies(echo) })
  const undecodable = await fetch(`${url}/v1/models/%E0%A4%A:generateContent`, { method: 'POST' })
  t.equal(undecodable.status, 400)
  t.match(await undecodable.json(), { error: { status: 'INVALID_ARGUMENT', message: 'The path cannot be decoded.' } })
  const long = await fetch(`${url}/${'x'.repeat(5000)}`)
  t.equal(long.status, 404)
})

t.test('bytes that are no HTTP request get their status in the system form, and the connection closes', async t => {
  const { port } = await startApplication(t)
  for (const [bytes, status] of [
    ['nonsense\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nhost: localhost\r\nx-a: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['POST /ping HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', 400],
    ['POST /health HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', 405]
  ] as const) {
    const { socket, received, closed } = await openConnection(t, port)
    socket.write(bytes)
    await closed
    t.match(received(), new RegExp(`^HTTP/1.1 ${status} `))
    t.match(received(), /x-request-id: [0-9a-f-]{36}/)
    t.match(received(), /\{"error":\{"code":"[a-z_]+","message":"[^"]+"\}\}/)
  }
})

t.test('malformed bytes during a response close the connection, and nothing is written into the response', async t => {
  const { port } = await startApplication(t, {
    routes: mountFamilies((_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'content-length': '1000' })
      reply.raw.write('half')
    })
  })
  const { socket, received, waitFor, closed } = await openConnection(t, port)
  socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
  await waitFor(/half/)
  socket.write('nonsense\r\n\r\n')
  await closed
  t.match(received(), /half$/)
})

t.test('an absolute request target is served like its path', async t => {
  const { port } = await startApplication(t)
  const { socket, waitFor } = await openConnection(t, port)
  socket.write('GET http://127.0.0.1:1/a/health HTTP/1.1\r\nhost: 127.0.0.1:1\r\n\r\n')
  t.match(await waitFor(/\r\n\r\n/), /^HTTP\/1.1 200 OK/)
})

t.test('the errors of the machine endpoints are versioned documents', async t => {
  const { url } = await startApplication(t)
  const response = await fetch(`${url}/ready`, { method: 'POST' })
  t.equal(response.status, 405)
  t.same(await response.json(), {
    schema_version: 'gateway.error.v1',
    error: { code: 'method_not_allowed', message: 'Method Not Allowed', details: [] }
  })
  const unknown = await fetch(`${url}/bridge/nope`)
  t.equal(unknown.status, 404)
  t.match(await unknown.json(), { schema_version: 'gateway.error.v1', error: { code: 'not_found' } })
})

t.test('a response that is sent through the framework has the headers of all others', async t => {
  const { url } = await startApplication(t, {
    routes: mountFamilies((_request, reply) => {
      reply.header('x-own', '1').send({ plain: true })
    })
  })
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers: { origin: 'http://localhost:3000' } })
  t.same(await response.json(), { plain: true })
  t.match(response.headers.get('x-request-id'), UUID_V4)
  t.equal(response.headers.get('request-id'), response.headers.get('x-request-id'))
  t.equal(response.headers.get('access-control-allow-origin'), 'http://localhost:3000')
  t.equal(response.headers.get('x-own'), '1')
})

t.test('a second response to one request is ignored', async t => {
  const { url } = await startApplication(t, {
    routes: mountFamilies((_request, reply) => {
      sendJson(reply, 200, { 'x-first': '1' }, '{"first":true}')
      sendJson(reply, 500, {}, '{"second":true}')
    })
  })
  const response = await fetch(`${url}/v1/messages`, { method: 'POST' })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-first'), '1')
  t.same(await response.json(), { first: true })
})
