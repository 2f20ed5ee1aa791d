// The headers of every call, and those of the responses (upstream.md 1.3 to 1.5), through a started
// gateway.

import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { readVersion } from '../../../shared/version.ts'
import { get, lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { ask, imagePart, lastReceived, model, received, stream, textPart, versions } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_EMBEDDINGS: 'Embeddings' } })

// The first discovery of models is the gateway's own and has no client behind it.
await get(`${gateway.url}/v1/models`)

const context = {
  'x-request-id': 'request-1',
  'x-session-id': 'session-1',
  'x-service-id': 'service-1',
  'x-operation-id': 'operation-1',
  'x-client-id': 'client-1',
  'x-trace-id': 'trace-1',
  'x-agent-id': 'agent-1',
  'x-tenant': 'tenant-1',
  'x-foo': 'bar',
  'x-correlation-id': 'correlation-1',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
}

/** One of each call that a client can cause, each with the context headers. */
async function makeEveryCall(url: string): Promise<void> {
  const headers = context
  for (const version of versions) {
    await ask({ url }, version, [textPart('look'), imagePart()], { headers })
    await stream({ url }, version, 'hi', { headers })
  }
  await ask({ url }, 'v2', '[[builtin:image_generate]]', { headers, more: { tools: [{ type: 'image_generation' }] } })
  await post(`${url}/v1/embeddings`, { input: 'text' }, headers)
  await get(`${url}/v1/models?refresh=1`, headers)
}

t.test(
  'operations 45: every API call carries the token, the user agent and the context, the token endpoint only the user agent',
  async t => {
    emulator.reset()
    await makeEveryCall(gateway.url)
    const calls = emulator.requests.filter(({ path }) => !path.endsWith('/oauth'))
    t.strictSame(
      [...new Set(calls.map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/, '{id}')}`))].sort(),
      [
        'GET /api/v1/files/{id}/content',
        'GET /api/v1/models',
        'POST /api/v1/chat/completions',
        'POST /api/v1/embeddings',
        'POST /api/v1/files',
        'POST /api/v2/chat/completions'
      ]
    )
    for (const { path, headers } of calls) {
      t.match(headers.authorization, /^Bearer \S+$/, path)
      t.equal(headers['user-agent'], `llm-gateway/${readVersion()}`, path)
      t.match(headers, context, path)
    }
    for (const { headers } of received(emulator, '/oauth')) {
      t.equal(headers['user-agent'], `llm-gateway/${readVersion()}`)
      for (const name of Object.keys(context)) t.notOk(name in headers, name)
    }
  }
)

t.test('bodies have a bare JSON content type, streams ask for uncached events', async t => {
  emulator.reset()
  await makeEveryCall(gateway.url)
  for (const { path, headers, body } of emulator.requests) {
    if (path.endsWith('/files')) t.match(headers['content-type'], /^multipart\/form-data; boundary=/)
    else if (body !== undefined) t.equal(headers['content-type'], 'application/json', path)
    const isStream = (body as { stream?: boolean } | undefined)?.stream === true
    t.equal(headers.accept === 'text/event-stream', isStream, path)
    t.equal(headers['cache-control'], isStream ? 'no-store' : undefined, path)
    if (isStream) t.notOk('accept-encoding' in headers, 'nothing may hold the events of a stream back')
    else t.match(headers['accept-encoding'] ?? 'gzip, deflate', /gzip, deflate/, path)
  }
})

t.test('context headers go out under the upstream’s own spelling', async t => {
  let rawHeaders: string[] = []
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/chat/completions')) rawHeaders = request.rawHeaders
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'ok' } }], data: [] }))
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const other = await startGateway(t, {
    env: { UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`, UPSTREAM_ACCESS_TOKEN: 'token' }
  })
  t.equal((await ask(other, 'v1', 'hi', { headers: { ...context, 'X-Tenant': 'tenant-1' } })).status, 200)
  for (const name of ['Request', 'Session', 'Service', 'Operation', 'Client', 'Trace', 'Agent']) {
    t.ok(rawHeaders.includes(`X-${name}-ID`), name)
  }
  t.ok(rawHeaders.includes('x-tenant'))
})

t.test('without a client’s request id the gateway’s own goes upstream, and a trace context made of it', async t => {
  const response = await ask(gateway, 'v1', 'hi')
  const id = response.headers.get('x-request-id') ?? ''
  const { headers } = lastUpstreamChat(emulator)
  t.equal(headers['x-request-id'], id)
  t.equal(headers.traceparent, `00-${id.replaceAll('-', '')}-${id.slice(19).replaceAll('-', '')}-00`)
})

t.test(
  'operations 46, 47: nothing of the client’s own connection, browser, SDK or keys goes upstream (H9)',
  async t => {
    const hostile = {
      accept: 'text/x-canary',
      'accept-language': 'canary',
      'anthropic-beta': 'canary',
      'cf-ray': 'canary',
      'content-language': 'canary',
      cookie: 'canary=1',
      'if-none-match': 'canary',
      forwarded: 'for=canary',
      'openai-organization': 'canary',
      origin: 'http://localhost:3000',
      'proxy-authorization': 'Basic canary',
      range: 'bytes=0-canary',
      referer: 'http://canary.example',
      'sec-ch-ua': 'canary',
      'sec-fetch-mode': 'canary',
      'user-agent': 'canary/1',
      via: '1.1 canary',
      'x-admin-api-key': 'canary',
      'x-amz-security-token': 'canary',
      'x-api-key': 'canary',
      'x-auth-token': 'canary',
      'x-forwarded-for': 'canary',
      'x-forwarded-host': 'canary',
      'x-gateway-replay': 'canary',
      'x-goog-api-client': 'canary',
      'x-goog-api-key': 'canary',
      'x-real-ip': 'canary',
      'x-server-timeout': '600',
      'x-stainless-os': 'canary'
    }
    for (const version of versions) {
      for (const more of [{}, { extra_headers: hostile }]) {
        t.equal((await ask(gateway, version, 'hi', { headers: hostile, more })).status, 200)
        const { headers } = lastUpstreamChat(emulator)
        t.notMatch(JSON.stringify(headers), /canary/)
        t.equal(headers['user-agent'], `llm-gateway/${readVersion()}`)
        for (const name of Object.keys(hostile)) t.equal(name in headers, name === 'user-agent', name)
      }
    }
  }
)

t.test('a client’s framing and hop-by-hop headers end at the gateway (H9)', async t => {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'framed' }] })
  const { port } = new URL(gateway.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    [
      'POST /v1/chat/completions HTTP/1.1',
      'host: other.localhost:1',
      'content-type: text/plain',
      'transfer-encoding: chunked',
      'te: trailers',
      'trailer: x-late',
      'connection: close, X-Secret-Hop, keep-alive',
      'keep-alive: timeout=5',
      'x-secret-hop: canary',
      'x-kept: yes',
      '',
      `${body.length.toString(16)}\r\n${body}\r\n0\r\nx-late: canary\r\n\r\n`
    ].join('\r\n')
  )
  let text = ''
  for await (const chunk of socket) text += chunk
  t.match(text, /^HTTP\/1\.1 200 /)
  const { headers } = lastUpstreamChat(emulator)
  t.equal(headers.host, `127.0.0.1:${emulator.port}`)
  t.equal(headers['x-kept'], 'yes')
  t.equal(headers['content-length'], String(lastReceived(emulator, '/chat/completions').bodyBytes))
  for (const name of ['transfer-encoding', 'te', 'trailer', 'keep-alive', 'x-secret-hop', 'x-late']) {
    t.notOk(name in headers, name)
  }
})

t.test('extra headers of the body are scalars and cannot break the request', async t => {
  const extra_headers = {
    'x-number': 7,
    'x-flag': true,
    'x-null': null,
    'x-list': ['a'],
    'x-object': { a: 1 },
    'x-split': 'a\r\nx-smuggled: 1',
    'bad name': 'x',
    'X-Request-ID': 'from-the-body'
  }
  t.equal(
    (await ask(gateway, 'v1', 'hi', { more: { extra_headers }, headers: { 'x-request-id': 'head' } })).status,
    200
  )
  const { headers, body } = lastUpstreamChat(emulator)
  t.match(headers, { 'x-number': '7', 'x-flag': 'true', 'x-request-id': 'from-the-body' })
  for (const name of ['x-null', 'x-list', 'x-object', 'x-split', 'x-smuggled', 'bad name'])
    t.notOk(name in headers, name)
  t.notOk('extra_headers' in body)
})

t.test('no query goes upstream, from the address or from the body', async t => {
  emulator.reset()
  await post(`${gateway.url}/v1/chat/completions?key=k&foo=1`, {
    model,
    messages: [{ role: 'user', content: 'hi' }],
    extra_query: { bar: 2 }
  })
  await post(`${gateway.url}/v1/embeddings?foo=1`, { input: 'x', extra_query: { bar: 2 } })
  await get(`${gateway.url}/v1/models?refresh=1&foo=1`)
  for (const { path, query } of emulator.requests) t.equal(query, '', path)
  t.notOk('extra_query' in lastUpstreamChat(emulator).body)
})

t.test('cookies of the upstream are neither kept nor shown', async t => {
  const response = await ask(gateway, 'v1', '[[header:set-cookie=session=canary]]')
  t.equal(response.status, 200)
  t.notOk(response.headers.get('set-cookie'))
  await ask(gateway, 'v1', 'again')
  t.notOk('cookie' in lastUpstreamChat(emulator).headers)
})

t.test('headers of the upstream stay with the gateway, its two ids become metadata', async t => {
  for (const version of versions) {
    const response = await ask(gateway, version, '[[header:x-internal-node=canary]][[header:server=canary]]', {
      headers: { 'x-session-id': 'session-9' }
    })
    t.notMatch(JSON.stringify([...response.headers]), /canary/)
    t.match(response.json.metadata, { upstream_x_request_id: /^[0-9a-f-]{36}$/, upstream_x_session_id: 'session-9' })
    t.not(response.json.metadata.upstream_x_request_id, response.headers.get('x-request-id'))
    const { frames } = await stream(gateway, version, 'hi', { headers: { 'x-session-id': 'session-9' } })
    t.match(frames.findLast(frame => frame.metadata !== undefined)?.metadata, {
      upstream_x_request_id: /^[0-9a-f-]{36}$/,
      upstream_x_session_id: 'session-9'
    })
  }
  const embedded = await post(`${gateway.url}/v1/embeddings`, { input: 'x' }, { 'x-session-id': 'session-9' })
  t.match(embedded.json.metadata, { upstream_x_request_id: String, upstream_x_session_id: 'session-9' })
})

t.test('a connection is used again for the calls that follow each other', async t => {
  const before = emulator.stats.connections
  for (let round = 0; round < 5; round++) {
    await ask(gateway, 'v1', 'hi')
    await stream(gateway, 'v2', 'hi')
  }
  t.ok(emulator.stats.connections - before <= 2, `${emulator.stats.connections - before} new connections`)
})

t.test('a compressed response is decompressed', async t => {
  for (const version of versions) {
    const response = await ask(gateway, version, '[[gzip]][[text:unpacked]]')
    t.equal(response.json.choices[0].message.content, 'unpacked')
  }
})

t.test('a byte order mark before a response, or before an error, is no part of it', async t => {
  for (const version of versions) {
    const response = await ask(gateway, version, '[[bom]][[text:marked]]')
    t.equal(response.json.choices[0].message.content, 'marked')
    emulator.respondNext({ status: 422, body: '\ufeff{"status":422,"message":"These are my words"}' })
    const refused = await ask(gateway, version, 'hi')
    t.match(refused.json.error.message, /These are my words/)
  }
})

t.test('redirects are not followed, and only 200 is a success', async t => {
  for (const status of [201, 202, 204, 206, 301, 302, 307, 308]) {
    for (const isStream of [false, true]) {
      emulator.respondNext({
        status,
        headers: { location: `${emulator.baseUrl}/models` },
        body: status === 204 ? '' : '{}'
      })
      const before = received(emulator, '/models').length
      const response = await ask(gateway, 'v1', 'hi', { more: { stream: isStream } })
      t.equal(response.status, 502, `${status} ${isStream}`)
      t.match(response.json.error, { type: 'server_error', code: 'provider_protocol_error' })
      t.equal(received(emulator, '/models').length, before, 'the other address was not called')
      t.notOk(response.headers.get('location'))
    }
  }
})

t.test('text goes upstream as UTF-8, and nothing goes as null', async t => {
  const content = 'Привет 🌍 \u0000\u2028 "x"'
  for (const version of versions) {
    const response = await ask(gateway, version, content, {
      more: {
        temperature: null,
        tools: null,
        stop: null,
        response_format: null,
        reasoning_effort: null,
        extra_body: null
      }
    })
    t.equal(response.status, 200, version)
    const { body, bodyBytes } = lastReceived(emulator, '/chat/completions')
    t.notMatch(JSON.stringify(body), /null/)
    t.equal(bodyBytes, Buffer.byteLength(JSON.stringify(body)), 'no letter was written as an escape')
    t.match(JSON.stringify(body), JSON.stringify(content).slice(1, -1))
  }
})
