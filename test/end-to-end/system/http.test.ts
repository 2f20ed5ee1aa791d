// The checks of every request before its handler, with started gateways: open routes, paths, sizes,
// bodies, origins and keys (operations.md 1 to 5).

import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { get, type HttpResponse, lastUpstreamChat, post, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { openConnection } from '../../worker/http/support.ts'
import { askIn, bodyOf, type Family, families, model, readError, readEvents, textIn, urlOf } from './support.ts'

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const LIMIT = 4096

const emulator = await startEmulator(t)
const open = await startGateway(t, { env: emulatorVariables(emulator) })
const keyed = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    GATEWAY_ENABLE_API_KEY_AUTH: 'true',
    GATEWAY_API_KEY: 'k1',
    GATEWAY_MAX_REQUEST_BODY_BYTES: String(LIMIT)
  }
})
const production = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    GATEWAY_MODE: 'PROD',
    GATEWAY_API_KEY: 'a-key-of-production',
    GATEWAY_CORS_ALLOW_ORIGINS: '["https://app.example","*"]'
  }
})
const K = { 'x-api-key': 'k1' }

t.test('operations 1, 2: liveness needs no key, has an empty body and accepts only its methods (I7)', async t => {
  for (const [method, path] of [
    ['GET', '/health'],
    ['HEAD', '/health'],
    ['GET', '/ping'],
    ['POST', '/ping'],
    ['HEAD', '/ping']
  ] as const) {
    const response = await fetch(keyed.url + path, { method })
    t.equal(response.status, 200, `${method} ${path}`)
    t.equal(await response.text(), '')
    t.equal(response.headers.get('content-length'), '0')
    t.equal(response.headers.get('content-type'), null)
    t.match(response.headers.get('x-request-id'), UUID_V4)
  }
  const refused = await post(`${keyed.url}/health`, {})
  t.equal(refused.status, 405)
  t.equal(refused.headers.get('allow'), 'GET')
  t.strictSame(refused.json, { error: { code: 'method_not_allowed', message: 'Method Not Allowed' } })
})

t.test('operations 3, 8: an unknown path is a 404 in the form of its family, before the key is checked', async t => {
  t.equal((await get(`${keyed.url}/abc/health`)).status, 200)
  for (const [path, headers] of [
    ['/health/', {}],
    ['/nope', {}],
    ['/nope', { 'x-api-key': 'wrong' }]
  ] as Array<[string, Record<string, string>]>) {
    const nowhere = await get(keyed.url + path, headers)
    t.equal(nowhere.status, 404, path)
    t.strictSame(nowhere.json, { error: { code: 'not_found', message: 'Not Found' } })
  }
  for (const [path, family, kind] of [
    ['/v1/nope', 'completions', 'invalid_request_error'],
    ['/v1/messages/nope', 'messages', 'not_found_error'],
    ['/v1beta/nope', 'content', 'NOT_FOUND'],
    ['/responses/resp_1', 'completions', 'invalid_request_error']
  ] as const) {
    const response = await get(keyed.url + path)
    t.equal(response.status, 404, path)
    t.equal(readError(family, response).kind, kind, path)
  }
  const operation = await post(`${open.url}/v1beta/models/x:predict`, {})
  t.equal(operation.status, 404)
  t.equal(readError('content', operation).kind, 'NOT_FOUND')
})

t.test(
  'operations 5, 7: in PROD the pages for developers do not exist, and the machine documents need no key',
  async t => {
    for (const path of ['/docs', '/redoc', '/openapi.json', '/logs', '/logs/5', '/logs/stream', '/logs/html']) {
      const response = await get(production.url + path)
      t.equal(response.status, 404, path)
      t.equal(response.json.error.code, 'not_found', path)
    }
    t.strictSame((await get(`${production.url}/`)).json, { status: 'ok', mode: 'PROD' })
    const ready = await get(`${production.url}/ready`)
    t.equal(ready.json.schema_version, 'gateway.readiness.v1')
    await waitUntil(async () => (await get(`${production.url}/ready`)).status === 200, 'the models are known')
    const capabilities = await get(`${production.url}/bridge/capabilities`)
    t.equal(capabilities.status, 200)
    t.equal(capabilities.json.schema_version, 'gateway.route-support-matrix.v1')
  }
)

t.test('operations 9, 10: every response has the gateway’s id, and the client’s id is forwarded upstream', async t => {
  const ids = new Set<string>()
  for (const family of families) {
    const response = await askIn(open, family, 'hi', { headers: { 'x-request-id': 'mine' } })
    const id = response.headers.get('x-request-id') ?? ''
    t.match(id, UUID_V4, family)
    ids.add(id)
    t.equal(lastUpstreamChat(emulator).headers['x-request-id'], 'mine')
    if (family === 'completions') t.equal(response.json.id, `chatcmpl-${id}`)
    if (family === 'messages') t.equal(response.headers.get('request-id'), id)
  }
  t.equal(ids.size, families.length)
  const stream = await askIn(open, 'completions', 'hi', { stream: true })
  for (const { data } of readEvents(stream.text)) {
    if (data !== '[DONE]') t.equal(data.id, `chatcmpl-${stream.headers.get('x-request-id')}`)
  }
})

t.test(
  'operations 20, 21, 22: a request with a repairable path is served with its body, and other paths are refused',
  async t => {
    for (const [path, family, upstreamPath] of [
      ['/api/v1/chat/completions', 'completions', '/api/v1/chat/completions'],
      ['/a/b/chat/completions', 'completions', '/api/v1/chat/completions'],
      ['/v2/v1/chat/completions', 'completions', '/api/v2/chat/completions'],
      ['/v2/v1/messages', 'messages', '/api/v2/chat/completions'],
      ['/anthropic/v1/messages', 'messages', '/api/v1/chat/completions'],
      ['/openai/v1/v1/responses/', 'responses', '/api/v1/chat/completions'],
      [`/google/v1beta/models/${model}:generateContent`, 'content', '/api/v1/chat/completions'],
      [`/v1/v1beta/models/${model}:generateContent`, 'content', '/api/v1/chat/completions'],
      [`/v2/v1/v1beta/models/${model}:generateContent`, 'content', '/api/v2/chat/completions']
    ] as const) {
      const fetched = await fetch(open.url + path, {
        method: 'POST',
        redirect: 'error',
        body: JSON.stringify(bodyOf(family, `[[text:via ${path}]]`))
      })
      const text = await fetched.text()
      t.equal(fetched.status, 200, path)
      const response = { status: 200, headers: fetched.headers, text, json: JSON.parse(text) }
      t.equal(textIn(family, response), `via ${path}`, path)
      t.equal(lastUpstreamChat(emulator).path, upstreamPath, path)
    }
    t.match((await post(`${open.url}/anthropic/v1/messages/count_tokens`, bodyOf('messages', 'hi'))).json, {
      input_tokens: Number
    })
    const list = (await get(`${open.url}/v1/models`)).json
    for (const path of ['/v1/v1/models', '/v1/models/', '/v2/v1beta/models', '/x/models']) {
      const response = await get(open.url + path)
      t.equal(response.status, 200, path)
      if (!path.includes('v1beta')) t.strictSame(response.json, list, path)
    }
    t.equal((await get(`${open.url}/v1//models`)).status, 404)
  }
)

t.test('decisions.md 58: version prefixes collapse behind any first segment', async t => {
  for (const [path, family, upstreamPath] of [
    ['/v2/openai/v1/chat/completions', 'completions', '/api/v2/chat/completions'],
    ['/v2/openai/v1/responses', 'responses', '/api/v2/chat/completions'],
    ['/v1/anthropic/v1/messages', 'messages', '/api/v1/chat/completions'],
    ['/v2/anthropic/v1/messages', 'messages', '/api/v2/chat/completions'],
    [`/v2/google/v1beta/models/${model}:generateContent`, 'content', '/api/v2/chat/completions'],
    [`/v1beta/v1beta/models/${model}:generateContent`, 'content', '/api/v1/chat/completions']
  ] as const) {
    const response = await post(open.url + path, bodyOf(family, `[[text:via ${path}]]`))
    t.equal(response.status, 200, path)
    t.equal(textIn(family, response), `via ${path}`, path)
    t.equal(lastUpstreamChat(emulator).path, upstreamPath, path)
  }
})

t.test('decisions.md 58: HEAD is answered wherever GET is, and a wrong method names the right ones', async t => {
  const paths = ['/', '/v1', '/v2', '/v1/', '/api/hello', '/health', '/ping', '/livez', '/ready', '/readyz']
  const lists = ['/models', '/v1/models', '/v2/models', '/v1beta/models', '/v1/model/info', `/v1/models/${model}`]
  for (const path of [...paths, ...lists]) {
    const head = await fetch(keyed.url + path, { method: 'HEAD', headers: K })
    const whole = await fetch(keyed.url + path, { headers: K })
    t.equal(head.status, 200, path)
    t.equal(whole.status, 200, path)
    t.equal(await head.text(), '', path)
    for (const name of ['content-length', 'content-type'])
      t.equal(head.headers.get(name), whole.headers.get(name), path)
    const body = await whole.arrayBuffer()
    t.equal(whole.headers.get('content-length'), String(body.byteLength), path)
    const wrong = await fetch(keyed.url + path, { method: 'DELETE', headers: K })
    t.equal(wrong.status, 405, path)
    t.equal(wrong.headers.get('allow'), path === '/ping' ? 'GET, POST' : 'GET', path)
  }
  for (const path of paths) t.equal((await fetch(keyed.url + path, { method: 'HEAD' })).status, 200, 'without a key')
  for (const path of lists) t.equal((await fetch(keyed.url + path, { method: 'HEAD' })).status, 401, path)
  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings']) {
    const head = await fetch(keyed.url + path, { method: 'HEAD', headers: K })
    t.equal(head.status, 405, path)
    t.equal(head.headers.get('allow'), 'POST', path)
  }
  t.equal((await fetch(`${keyed.url}/v1/nope`, { method: 'HEAD' })).status, 404)
})

t.test('operations 24: the repair of a path keeps its query', async t => {
  t.equal((await get(`${keyed.url}/api/v1/models?key=k1`)).status, 200)
  t.equal((await get(`${keyed.url}/api/v1/models?key=k2`)).status, 401)
})

t.test('operations 25: a content-length over the limit is refused before the key is checked', async t => {
  for (const family of families) {
    const response = await post(urlOf(keyed, family), 'x'.repeat(LIMIT + 1))
    t.equal(response.status, 413, family)
    const { message } = readError(family, response)
    t.equal(message, `Request body too large: ${LIMIT + 1} bytes exceeds limit of ${LIMIT} bytes.`)
    t.match(response.headers.get('x-request-id'), UUID_V4)
  }
  const exactly = JSON.stringify(
    bodyOf('completions', 'x'.repeat(LIMIT - JSON.stringify(bodyOf('completions', '')).length))
  )
  t.equal(exactly.length, LIMIT)
  t.equal((await post(urlOf(keyed, 'completions'), exactly, K)).status, 200)
})

/** Sends a body in chunks over a connection of its own, on which a response is read also while the body is still being sent. */
async function sendChunked(t: Test, family: Family, body: string): Promise<HttpResponse> {
  const { socket, waitFor } = await openConnection(t, Number(new URL(keyed.url).port))
  const { pathname } = new URL(urlOf(keyed, family))
  const chunks = body.match(/.{1,1000}/gs) ?? []
  socket.write(`POST ${pathname} HTTP/1.1\r\nhost: localhost\r\nx-api-key: k1\r\ntransfer-encoding: chunked\r\n\r\n`)
  socket.write(`${chunks.map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`)
  return readResponse(await waitFor(/\r\n\r\n\{.*\}$/s))
}

/** A whole response with a JSON body as it came over a connection. */
function readResponse(received: string): HttpResponse {
  const [head = '', text = ''] = received.split('\r\n\r\n')
  const [start = '', ...lines] = head.split('\r\n')
  const headers = new Headers(lines.map(line => line.split(': ', 2) as [string, string]))
  return { status: Number(start.split(' ')[1]), headers, text, json: JSON.parse(text) }
}

const codings = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync
}

t.test(
  'operations 26: the limit applies to the compressed and the decompressed body, in every content encoding',
  async t => {
    const before = upstreamChats(emulator).length
    const large = JSON.stringify(bodyOf('completions', 'x'.repeat(3 * LIMIT)))
    for (const family of families) {
      for (const [coding, pack] of Object.entries(codings)) {
        const response = await post(urlOf(keyed, family), pack(large), { ...K, 'content-encoding': coding })
        t.equal(response.status, 413, `${family} ${coding}`)
        t.equal(readError(family, response).message, `Request body too large: exceeds limit of ${LIMIT} bytes.`)
      }
      const chunked = await sendChunked(t, family, large)
      t.equal(chunked.status, 413, family)
      t.equal(readError(family, chunked).message, `Request body too large: exceeds limit of ${LIMIT} bytes.`)
      t.equal(chunked.headers.get('connection'), 'close')
    }
    t.equal(upstreamChats(emulator).length, before)
    for (const family of families) {
      for (const [coding, pack] of Object.entries(codings)) {
        const body = pack(JSON.stringify(bodyOf(family, '[[text:unpacked]]')))
        const response = await post(urlOf(keyed, family), body, {
          ...K,
          'content-encoding': coding,
          'content-type': 'text/plain'
        })
        t.equal(response.status, 200, `${family} ${coding}`)
        t.equal(textIn(family, response), 'unpacked')
      }
    }
    const unknown = await post(urlOf(keyed, 'completions'), '{}', { ...K, 'content-encoding': 'compress' })
    t.equal(unknown.status, 415)
    const broken = await post(urlOf(keyed, 'completions'), 'no gzip at all', { ...K, 'content-encoding': 'gzip' })
    t.equal(broken.status, 400)
    t.equal(broken.json.error.code, 'invalid_json')
  }
)

t.test('a body that breaks HTTP is refused in the form of the family, for browsers too', async t => {
  const before = upstreamChats(emulator).length
  const broken = [
    { framing: 'transfer-encoding: chunked', body: 'no chunk\r\n', status: 400 },
    { framing: 'transfer-encoding: chunked', body: `0\r\nx-trailer: ${'a'.repeat(32 * 1024)}\r\n\r\n`, status: 431 },
    { framing: 'content-length: 2', body: '{}GARBLED', status: 400 }
  ]
  for (const family of families) {
    for (const { framing, body, status } of broken) {
      for (const isLate of [false, true]) {
        const { socket, waitFor } = await openConnection(t, Number(new URL(open.url).port))
        const { pathname } = new URL(urlOf(open, family))
        const head = [`POST ${pathname} HTTP/1.1`, 'host: localhost', 'origin: http://localhost:3000', framing]
        if (isLate) {
          socket.write(`${[...head, 'expect: 100-continue'].join('\r\n')}\r\n\r\n`)
          await waitFor(/^HTTP\/1\.1 100 Continue\r\n\r\n/)
          socket.write(body)
        } else {
          socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
        }
        const received = await waitFor(/\r\n\r\n\{.*\}$/s)
        socket.destroy()
        const response = readResponse(isLate ? received.slice(received.indexOf('\r\n\r\n') + 4) : received)
        const { headers } = response
        t.equal(response.status, status, `${family} ${body.slice(0, 12)}`)
        t.match(headers.get('x-request-id'), UUID_V4)
        t.equal(headers.get('access-control-allow-origin'), 'http://localhost:3000')
        t.equal(headers.get('connection'), 'close')
        t.match(readError(family, response).message, /match its head|trailers/)
      }
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test(
  'operations 27: a body that is not a JSON object is refused in the form of the family, with its error text',
  async t => {
    for (const family of families) {
      for (const [body, message] of [
        ['', /^Request body is empty \(expected JSON\)\.$/],
        ['  ', /^Request body is empty \(expected JSON\)\.$/],
        ['{', /^Invalid JSON body: /],
        ['[]', /^Invalid JSON body: expected an object at the top level\.$/],
        ['null', /^Invalid JSON body: expected an object at the top level\.$/]
      ] as const) {
        const response = await post(urlOf(keyed, family), body, K)
        t.equal(response.status, 400, `${family} ${body}`)
        const error = readError(family, response)
        t.match(error.message, message, `${family} ${body}`)
        if (family !== 'messages') t.equal(error.code, 'invalid_json', family)
        t.notMatch(response.text, /"detail"/)
      }
    }
  }
)

t.test('deep nesting is refused and is not an internal error', async t => {
  const deep = `${'['.repeat(1000)}${']'.repeat(1000)}`
  for (const family of families) {
    const response = await post(urlOf(open, family), `{"x":${deep}}`)
    t.equal(response.status, 400, family)
    readError(family, response)
  }
})

const preflight = (url: string, origin: string, requested = 'authorization,x-foo') =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': requested
    }
  })

t.test(
  'operations 28: a preflight in DEV is allowed the method and headers that it requests, without a key',
  async t => {
    const allowed = await preflight(keyed.url, 'http://localhost:3000')
    t.equal(allowed.status, 200)
    t.equal(await allowed.text(), 'OK')
    t.equal(allowed.headers.get('access-control-allow-origin'), 'http://localhost:3000')
    t.equal(allowed.headers.get('access-control-allow-credentials'), 'true')
    t.equal(allowed.headers.get('access-control-max-age'), '600')
    t.equal(allowed.headers.get('access-control-allow-headers'), 'authorization,x-foo')
    t.equal(allowed.headers.get('access-control-allow-methods'), 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT')
    const response = await askIn(open, 'completions', 'hi', { headers: { origin: 'http://localhost:3000' } })
    t.equal(response.headers.get('access-control-allow-origin'), 'http://localhost:3000')
    t.match(response.headers.get('vary'), /Origin/)
  }
)

t.test('operations 29, 30: in PROD only a listed origin is allowed, and without credentials', async t => {
  const refused = await preflight(production.url, 'http://a.b', 'authorization')
  t.equal(refused.status, 400)
  t.equal(await refused.text(), 'Disallowed CORS origin')
  t.equal(refused.headers.get('access-control-allow-methods'), 'GET, POST, OPTIONS')
  t.equal(refused.headers.get('access-control-allow-origin'), null)
  const allowed = await preflight(production.url, 'https://app.example', 'authorization')
  t.equal(allowed.status, 200)
  t.equal(allowed.headers.get('access-control-allow-credentials'), null)
  const listed = await get(`${production.url}/health`, { origin: 'https://app.example' })
  t.equal(listed.headers.get('access-control-allow-origin'), 'https://app.example')
  t.equal(listed.headers.get('access-control-allow-credentials'), null)
  const other = await get(`${production.url}/health`, { origin: 'https://b.example' })
  t.equal(other.status, 200)
  t.equal(other.headers.get('access-control-allow-origin'), null)
  t.match(other.headers.get('vary'), /Origin/)
})

t.test('operations 31: a missing and a wrong key are a 401 in the family’s form', async t => {
  for (const family of families) {
    const none = await askIn(keyed, family, 'hi')
    const wrong = await askIn(keyed, family, 'hi', { headers: { 'x-api-key': 'no' } })
    for (const [response, message] of [
      [none, 'API key required'],
      [wrong, 'Invalid API key']
    ] as const) {
      t.equal(response.status, 401, family)
      const error = readError(family, response)
      t.equal(error.message, message, family)
      t.equal(
        error.kind,
        {
          completions: 'authentication_error',
          responses: 'authentication_error',
          messages: 'authentication_error',
          content: 'UNAUTHENTICATED'
        }[family]
      )
      t.equal(response.headers.get('www-authenticate'), 'Bearer', family)
    }
  }
  for (const [headers, message] of [
    [{}, 'API key required'],
    [{ 'x-api-key': 'no' }, 'Invalid API key']
  ] as Array<[Record<string, string>, string]>) {
    const list = await get(`${keyed.url}/v1/models`, headers)
    t.equal(list.status, 401)
    t.strictSame(list.json, {
      error: { message, type: 'authentication_error', param: null, code: 'invalid_api_key' }
    })
    const messages = await post(`${keyed.url}/v1/messages`, {}, headers)
    t.strictSame(messages.json, {
      type: 'error',
      error: { type: 'authentication_error', message },
      request_id: messages.headers.get('x-request-id')
    })
    const content = await post(`${keyed.url}/v1beta/models/x:generateContent`, {}, headers)
    const reason = { reason: 'API_KEY_INVALID', domain: 'gateway' }
    t.strictSame(content.json, {
      error: {
        code: 401,
        message,
        status: 'UNAUTHENTICATED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', ...reason }]
      }
    })
  }
})

t.test('decisions.md 41: a wrong key is 401 however often it comes, and is logged at most once a second', async t => {
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' }
  })
  const startedAtMs = performance.now()
  for (let round = 0; round < 8; round += 1) {
    for (const family of families) {
      const response = await askIn(gateway, family, 'hi', { headers: { 'x-api-key': 'no' } })
      t.equal(response.status, 401, family)
      t.equal(readError(family, response).message, 'Invalid API key', family)
      t.equal(response.headers.get('retry-after'), null, family)
    }
  }
  const secondsMax = Math.ceil((performance.now() - startedAtMs) / 1000)
  t.equal((await askIn(gateway, 'completions', 'hi', { headers: { 'x-api-key': 'k1' } })).status, 200)
  const lines = () => readLog(gateway).filter(({ event }) => event === 'authentication_failed')
  await waitUntil(() => lines().length > 0, 'the failures are logged')
  t.ok(lines().length <= secondsMax + 1, `${lines().length} lines in ${secondsMax} s`)
  t.match(lines()[0], { level: 'WARNING', reason: 'wrong', client_ip_hash: /^hmac-sha256:/ })
  t.notMatch(JSON.stringify(lines()), /127\.0\.0\.1|"no"/)
})

t.test('operations 32, 33, 34, 35; decisions.md 56: the key is read from the first place that has one', async t => {
  const url = urlOf(keyed, 'completions')
  const body = bodyOf('completions', 'hi')
  const before = emulator.requests.length
  for (const [query, headers, status] of [
    ['', { authorization: 'Bearer k1' }, 200],
    ['', { authorization: 'bearer  k1 ' }, 200],
    ['', { 'x-api-key': 'k1' }, 200],
    ['', { 'x-goog-api-key': 'k1' }, 200],
    ['', { 'api-key': 'k1' }, 200],
    ['', { 'api-key': 'bad' }, 401],
    ['', { 'x-api-key': 'bad', 'api-key': 'k1' }, 401],
    ['?key=k1', {}, 200],
    ['?x-api-key=k1', {}, 200],
    ['?x-api-key=bad', { 'x-api-key': 'k1' }, 401],
    ['', { authorization: 'Bearer bad', 'x-api-key': 'k1' }, 401],
    ['?key=bad', { 'x-goog-api-key': 'k1' }, 401],
    ['', { authorization: 'Basic Zm9v', 'x-api-key': 'k1' }, 200],
    ['', { 'x-api-key': 'k1é' }, 401],
    ['?key=%D0%BA1', {}, 401]
  ] as const) {
    const response = await post(url + query, body, headers)
    t.equal(response.status, status, JSON.stringify([query, headers]))
  }
  for (const { headers, query } of emulator.requests.slice(before)) {
    t.equal(query, '')
    for (const name of ['x-api-key', 'x-goog-api-key', 'api-key']) t.notOk(name in headers)
    t.not(headers.authorization, 'Bearer k1')
  }
})

t.test('operations 37: in PROD the key is required even when authentication is not switched on', async t => {
  for (const family of families) t.equal((await askIn(production, family, 'hi')).status, 401, family)
  const headers = { authorization: 'Bearer a-key-of-production' }
  for (const family of families) t.equal((await askIn(production, family, 'hi', { headers })).status, 200, family)
})

t.test('operations 38: the SDKs raise their authentication errors', async t => {
  const openai = new OpenAI({ baseURL: `${production.url}/v1`, apiKey: 'wrong', maxRetries: 0 })
  const ofCompletions = await openai.chat.completions
    .create({ model, messages: [{ role: 'user', content: 'hi' }] })
    .catch((error: unknown) => error)
  t.ok(ofCompletions instanceof OpenAI.AuthenticationError)
  t.match(ofCompletions, { status: 401, code: 'invalid_api_key', type: 'authentication_error' })
  const anthropic = new Anthropic({ baseURL: production.url, apiKey: 'wrong', maxRetries: 0 })
  const ofMessages = await anthropic.messages
    .create({ model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] })
    .catch((error: unknown) => error)
  t.ok(ofMessages instanceof Anthropic.AuthenticationError)
  t.match(ofMessages, { status: 401, requestID: UUID_V4, error: { error: { type: 'authentication_error' } } })
})
