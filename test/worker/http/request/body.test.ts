import { request as httpRequest, type IncomingMessage } from 'node:http'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { memoryRoom } from '../../../../worker/performance/memory-room.ts'
import { post } from '../../../support/client.ts'
import { noticesCuts } from '../../../support/engine.ts'
import { mountOperation } from '../../../support/operations.ts'
import { waitUntil } from '../../../support/processes.ts'
import * as fc from '../../../support/properties.ts'
import { echo, type Handler, openConnection, signalled, startApplication } from '../support.ts'

function mountAll(handler: Handler) {
  return (app: Parameters<typeof mountOperation>[0]) => {
    const shared = { method: 'POST', isModelRequest: true, handler } as const
    mountOperation(app, { ...shared, path: '/chat/completions', family: 'completions' })
    mountOperation(app, { ...shared, path: '/messages', family: 'messages' })
    mountOperation(app, { ...shared, path: '/models/{model+}', family: 'content' })
  }
}

const auth = { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' }
const limit200 = { ...auth, GATEWAY_MAX_REQUEST_BODY_BYTES: '200' }
const body361 = JSON.stringify({ a: 'x'.repeat(353) })

function chunked(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes.subarray(0, 50))
      controller.enqueue(bytes.subarray(50))
      controller.close()
    }
  })
}

/** A handler that must not run. */
function forbidden(t: Test): Handler {
  return () => {
    t.fail('the handler was called')
  }
}

t.test('operations 25: a body whose content-length is too large is refused before the key is checked', async t => {
  const { url } = await startApplication(t, { env: limit200, routes: mountAll(echo) })
  t.equal(body361.length, 361)
  const message = 'Request body too large: 361 bytes exceeds limit of 200 bytes.'
  const chat = await post(`${url}/v1/chat/completions`, body361)
  t.equal(chat.status, 413)
  t.ok(chat.headers.get('x-request-id'))
  t.equal(chat.headers.get('connection'), 'close')
  t.same(chat.json, {
    error: { message, type: 'invalid_request_error', param: null, code: 'request_entity_too_large' }
  })
  const messages = await post(`${url}/v1/messages`, body361)
  t.equal(messages.status, 413)
  t.match(messages.json, { type: 'error', error: { type: 'request_too_large', message } })
  const content = await post(`${url}/v1/models/x:generateContent`, body361)
  t.equal(content.status, 413)
  t.match(content.json, { error: { code: 413, status: 'INVALID_ARGUMENT', message } })
  const system = await post(`${url}/ping`, body361)
  t.same(system.json, { error: { code: 'request_entity_too_large', message } })
  const unknown = await post(`${url}/nope`, body361)
  t.equal(unknown.status, 413, 'the size is checked before routing')

  const exact = await post(`${url}/v1/messages`, 'x'.repeat(200), { 'x-api-key': 'k1' })
  t.equal(exact.status, 200)
})

const encodings: Array<[name: string, compress: (bytes: Buffer) => Buffer]> = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync]
]

t.test(
  'operations 26: a body that exceeds the limit while it is read is refused in the same form; without a key its received bytes count',
  async t => {
    const { url } = await startApplication(t, {
      env: limit200,
      routes: mountAll(forbidden(t))
    })
    const chat = `${url}/v1/chat/completions`
    for (const headers of [{}, { 'x-api-key': 'k1' }] as Array<Record<string, string>>) {
      const plain = await post(chat, chunked(Buffer.from(body361)), headers)
      t.equal(plain.status, 413)
      t.equal(plain.json.error.message, 'Request body too large: exceeds limit of 200 bytes.')
      t.equal(plain.json.error.code, 'request_entity_too_large')
      for (const [encoding, compress] of encodings) {
        const compressed = compress(Buffer.from(body361))
        t.ok(compressed.length < 100, `${encoding} takes ${compressed.length} bytes`)
        for (const body of [compressed, chunked(compressed)]) {
          const response = await post(chat, body, { ...headers, 'content-encoding': encoding })
          // Nothing is decompressed without a key (decisions.md 102).
          const isKeyed = 'x-api-key' in headers
          t.equal(response.status, isKeyed ? 413 : 401, encoding)
          if (isKeyed) t.equal(response.json.error.message, 'Request body too large: exceeds limit of 200 bytes.')
        }
      }
    }
  }
)

t.test('operations 26: every content encoding is read within the limit, under any content type', async t => {
  const { url } = await startApplication(t, { env: limit200, routes: mountAll(echo) })
  const text = '{"a":"ä€"}'
  const types = [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'not a type',
    'multipart/form-data'
  ]
  for (const [index, [encoding, compress]] of encodings.entries()) {
    const type = types[index % types.length]!
    const headers = { 'x-api-key': 'k1', 'content-encoding': encoding, 'content-type': type }
    const response = await post(`${url}/v1/messages`, compress(Buffer.from(text)), headers)
    t.equal(response.status, 200, `${encoding} as ${type}`)
    t.equal(response.json.body, text)
  }
  for (const type of types) {
    const response = await post(`${url}/v1/messages`, text, { 'x-api-key': 'k1', 'content-type': type })
    t.equal(response.json.body, text, type)
  }
  const identity = { 'x-api-key': 'k1', 'content-encoding': 'identity' }
  t.equal((await post(`${url}/v1/messages`, text, identity)).json.body, text)
})

t.test('a wrong key is a 401 when the body is within the limit, even if the body is not JSON', async t => {
  const { url } = await startApplication(t, { env: limit200, routes: mountAll(forbidden(t)) })
  const chat = `${url}/v1/chat/completions`
  const compressed = gzipSync('{}')
  t.equal((await post(chat, '{')).status, 401)
  t.equal((await post(chat, chunked(Buffer.from('{"a":1}'.padEnd(100))))).status, 401)
  t.equal((await post(chat, compressed, { 'content-encoding': 'gzip' })).status, 401)
})

t.test('an unknown content encoding and several encodings are a 415; invalid compressed data is a 400', async t => {
  const { url } = await startApplication(t, { routes: mountAll(echo) })
  const chat = `${url}/v1/chat/completions`
  for (const encoding of ['compress', 'gzip, br', 'snappy']) {
    const response = await post(chat, '{}', { 'content-encoding': encoding })
    t.equal(response.status, 415, encoding)
    t.match(response.json, { error: { type: 'invalid_request_error', code: 'unsupported_content_encoding' } })
  }
  for (const [encoding, compress] of encodings) {
    const compressed = compress(Buffer.from('{"a":"some text that is long enough to be cut in two"}'))
    const cut = noticesCuts(encoding) ? [compressed.subarray(0, compressed.length - 8)] : []
    for (const broken of [Buffer.from('x this is not compressed'), ...cut]) {
      const response = await post(chat, broken, { 'content-encoding': encoding })
      t.equal(response.status, 400, `${encoding} ${broken.length}`)
      t.match(response.json, { error: { code: 'invalid_json', message: /^Invalid JSON body: / } })
    }
  }
})

t.test('for a few bytes that decompress to many megabytes, memory stays near the limit', async t => {
  const { url } = await startApplication(t, { routes: mountAll(forbidden(t)) })
  const megabytes64 = Buffer.alloc(64 * 1024 * 1024)
  for (const [encoding, bomb] of [
    ['gzip', gzipSync(megabytes64)],
    ['br', brotliCompressSync(megabytes64)],
    ['zstd', zstdCompressSync(megabytes64)]
  ] as const) {
    const before = process.memoryUsage()
    const response = await post(`${url}/v1/messages`, bomb, { 'content-encoding': encoding })
    t.equal(response.status, 413, encoding)
    const after = process.memoryUsage()
    t.ok(after.external - before.external < 30 * 1024 * 1024, `${encoding} stays near the limit of 10 MiB`)
  }
})

t.test('a body is read completely for any division into pieces', async t => {
  const { port } = await startApplication(t, { routes: mountAll(echo) })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 5 }), async parts => {
      const { promise, resolve } = signalled<IncomingMessage>()
      const request = httpRequest(
        { port, host: '127.0.0.1', path: '/v1/messages', method: 'POST', agent: false },
        resolve
      )
      request.setHeader('transfer-encoding', 'chunked')
      for (const part of parts) request.write(part)
      request.end()
      let text = ''
      for await (const chunk of await promise) text += chunk
      return JSON.parse(text).body === Buffer.concat(parts).toString('utf8')
    }),
    { numRuns: 30 }
  )
})

t.test('a client that is still sending a body that is too large receives the response', async t => {
  const { port } = await startApplication(t, {
    env: { GATEWAY_MAX_REQUEST_BODY_BYTES: '1000' },
    routes: mountAll(echo)
  })
  const megabytes8 = Buffer.alloc(8 * 1024 * 1024, 'x')
  for (const length of ['content-length: 8388608', 'transfer-encoding: chunked']) {
    const { socket, waitFor, closed } = await openConnection(t, port)
    socket.write(`POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n${length}\r\n\r\n`)
    if (length.startsWith('transfer')) socket.write('800000\r\n')
    socket.write(megabytes8)
    const response = await waitFor(/request_id":"[^"]*"\}/)
    t.match(response, /^HTTP\/1.1 413 /)
    t.match(response, /connection: close/)
    await closed
  }
})

t.test('after a body that cannot be decompressed the connection serves the next request', async t => {
  const { port } = await startApplication(t, { routes: mountAll(forbidden(t)) })
  const { socket, waitFor } = await openConnection(t, port)
  const head = 'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-encoding: gzip\r\n'
  const broken = Buffer.concat([gzipSync(Buffer.alloc(3_000_000, 'ab')).subarray(0, 2000), Buffer.alloc(500_000, 'x')])
  socket.write(`${head}content-length: ${broken.length}\r\n\r\n`)
  socket.write(broken)
  socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
  t.match(await waitFor(/HTTP\/1.1 200 OK/), /^HTTP\/1.1 400 /)
})

t.test(
  'bytes after the end of a compressed body are discarded, and the connection serves the next request',
  async t => {
    const { port } = await startApplication(t, { routes: mountAll(echo) })
    for (const [encoding, compress] of [
      ['zstd', zstdCompressSync],
      ['br', brotliCompressSync],
      ['deflate', deflateSync]
    ] as const) {
      const { socket, waitFor } = await openConnection(t, port)
      const body = Buffer.concat([compress('{}'), Buffer.alloc(1_000_000)])
      const head = `POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-encoding: ${encoding}\r\n`
      socket.write(`${head}content-length: ${body.length}\r\n\r\n`)
      socket.write(body)
      socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
      await waitFor(/HTTP\/1.1 \d+ [\s\S]*HTTP\/1.1 200 OK/)
    }
  }
)

t.test('a 100 Continue is sent only when the body will be read', async t => {
  const { port } = await startApplication(t, { env: limit200, routes: mountAll(echo) })
  const refused = await openConnection(t, port)
  refused.socket.write(
    'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 361\r\n\r\n'
  )
  t.match(await refused.waitFor(/request_id/), /^HTTP\/1.1 413 /)
  await refused.closed

  const welcome = await openConnection(t, port)
  welcome.socket.write(
    'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: k1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n'
  )
  await welcome.waitFor(/^HTTP\/1.1 100 Continue\r\n\r\n/)
  welcome.socket.write('{}')
  t.match(await welcome.waitFor(/"body":"\{\}"/), /HTTP\/1.1 200 OK/)
})

t.test(
  'decisions.md 102: without a key nothing is decompressed: the received bytes are counted and the answer is 401',
  async t => {
    const { port } = await startApplication(t, { env: limit200, routes: mountAll(forbidden(t)) })
    const bomb = 'x'.repeat(100_000)
    const compressed = {
      gzip: gzipSync(bomb),
      deflate: deflateSync(bomb),
      br: brotliCompressSync(bomb),
      zstd: zstdCompressSync(bomb)
    }
    const bodies = [
      // Beyond the limit only once they are decompressed; then broken data, and an encoding that is not known.
      ...Object.entries(compressed),
      ...Object.keys(compressed).map(encoding => [encoding, Buffer.from('no such data')] as const),
      ['x-rar', Buffer.from('anything')] as const
    ]
    const ask = async (head: string, parts: readonly (string | Uint8Array)[], path = '/v1/messages') => {
      const { socket, waitFor } = await openConnection(t, port)
      socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\n${head}\r\n\r\n`)
      for (const part of parts) socket.write(part)
      const received = await waitFor(/\r\n\r\n\{.*\}/s)
      socket.destroy()
      return received.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3)
    }
    const asChunk = (body: Uint8Array) => [`${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n']
    for (const [encoding, body] of bodies) {
      const small = body.subarray(0, 200)
      const coded = `content-encoding: ${encoding}\r\n`
      for (const path of ['/v1/messages', '/v1/chat/completions']) {
        t.equal(await ask(`${coded}content-length: ${small.length}`, [small], path), '401', `${encoding} of known size`)
      }
      t.equal(await ask(`${coded}transfer-encoding: chunked`, asChunk(small)), '401', `${encoding} in chunks`)
      // Nobody invites the body.
      for (const size of [`content-length: ${small.length}`, 'transfer-encoding: chunked']) {
        t.equal(await ask(`${coded}expect: 100-continue\r\n${size}`, []), '401', `${encoding} that waits`)
      }
      const large = Buffer.alloc(201, 'a')
      t.equal(await ask(`${coded}transfer-encoding: chunked`, asChunk(large)), '413', `${encoding}, received bytes`)
      t.equal(await ask(`${coded}content-length: 201`, [large]), '413', `${encoding}, announced bytes`)
    }
  }
)

t.test('an invalid request head is refused with an id and in the form of the family', async t => {
  const { port } = await startApplication(t, { routes: mountAll(forbidden(t)) })
  for (const [head, status, message] of [
    ['', '400 Bad Request', 'The Host header is missing.'],
    ['host: localhost\r\nHost: b\r\n', '400 Bad Request', 'The Host header is given more than once.'],
    ['host: localhost\r\nexpect: a-miracle\r\n', '417 Expectation Failed', 'The expectation cannot be met.']
  ] as const) {
    const { socket, waitFor } = await openConnection(t, port)
    socket.write(`POST /v1/messages HTTP/1.1\r\n${head}content-length: 2\r\n\r\n{}`)
    const response = await waitFor(/request_id/)
    t.match(response, new RegExp(`^HTTP/1.1 ${status}\r\n`))
    t.match(response, /\r\nx-request-id: /)
    t.match(response, `"message":"${message}"`)
  }
  const old = await openConnection(t, port)
  old.socket.write('GET /health HTTP/1.0\r\n\r\n')
  t.match(await old.waitFor(/\r\n\r\n/), /^HTTP\/1.1 200 /, 'HTTP/1.0 has no such header')
})

t.test('a client disconnect within the body ends the reading', async t => {
  const { port, drainGate } = await startApplication(t, { routes: mountAll(forbidden(t)) })
  const { socket } = await openConnection(t, port)
  socket.write(
    'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-encoding: gzip\r\ncontent-length: 100\r\n\r\nabc'
  )
  while (drainGate.activeRequests === 0) await new Promise(resolve => setImmediate(resolve))
  socket.destroy()
  await drainGate.whenIdle()
})

t.test('at the drain deadline a request whose body is incomplete gets its response', async t => {
  const { port, drainGate } = await startApplication(t, { routes: mountAll(forbidden(t)) })
  const { socket, waitFor, closed } = await openConnection(t, port)
  socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n')
  while (drainGate.activeRequests === 0) await new Promise(resolve => setImmediate(resolve))
  drainGate.startDraining()
  drainGate.cancelActive()
  t.match(await waitFor(/request_id/), /^HTTP\/1.1 503 /)
  await closed
  await drainGate.whenIdle()
})

t.test('under a memory limit a large body that finds no room gets 503 with retry-after, in any encoding', async t => {
  const room = 400_000
  memoryRoom.limit(room)
  t.teardown(() => memoryRoom.limit(Number.POSITIVE_INFINITY))
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>()
  const { url } = await startApplication(t, {
    routes: mountAll(async (request, reply) => {
      enter()
      await held
      return echo(request, reply)
    })
  })
  const large = JSON.stringify({ a: 'x'.repeat(90_000) })
  const first = post(`${url}/v1/chat/completions`, large)
  await entered
  for (const [path, body] of [
    ['/v1/chat/completions', large],
    ['/v1/messages', chunked(Buffer.from(large))],
    ['/v1/models/x:generateContent', large]
  ] as const) {
    const refused = await post(`${url}${path}`, body)
    t.equal(refused.status, 503, path)
    t.equal(refused.headers.get('retry-after'), '1')
  }
  const packed = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-encoding': 'gzip' },
    body: gzipSync(large)
  })
  t.equal(packed.status, 503, 'the size after decompression counts')
  await packed.text()
  release()
  t.equal((await first).status, 200)
  t.equal((await post(`${url}/v1/chat/completions`, large)).status, 200, 'the room is free again')
  const tooLarge = await post(`${url}/v1/chat/completions`, JSON.stringify({ a: 'x'.repeat(120_000) }))
  t.equal(tooLarge.status, 503, 'a body that never fits')
  await waitUntil(() => memoryRoom.heldBytes === 0, 'the room was empty')
})
