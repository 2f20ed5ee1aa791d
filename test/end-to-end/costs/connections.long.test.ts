// What a client does with its connection, byte by byte, through a started gateway: it must harm neither the upstream nor other clients.

import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { get, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { openConnection } from '../../worker/http/support.ts'
import { bodyOf, families, readError, urlOf } from '../system/support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
const port = Number(new URL(gateway.url).port)

/** Sends bytes on a new connection and resolves with everything that came back until the gateway closed it. */
async function sendRaw(t: Test, bytes: string): Promise<string> {
  const { socket, closed, received } = await openConnection(t, port)
  socket.write(bytes, 'latin1')
  await closed
  return received()
}

function readRaw(text: string) {
  const end = text.indexOf('\r\n\r\n')
  const [line = '', ...fields] = text.slice(0, end).split('\r\n')
  const headers = new Headers(fields.map(field => field.split(/: ?(.*)/).slice(0, 2) as [string, string]))
  const body = text.slice(end + 4, end + 4 + Number(headers.get('content-length')))
  return {
    status: Number(line.split(' ')[1]),
    headers,
    text: body,
    json: JSON.parse(body),
    rest: text.slice(end + 4 + body.length)
  }
}

const chunked = (body: string) => `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`
const pathOf = (family: (typeof families)[number]) => new URL(urlOf(gateway, family)).pathname

t.test('cost 16: a transfer coding besides chunked is refused, and the connection closed', async t => {
  const before = upstreamChats(emulator).length
  for (const family of families) {
    const body = JSON.stringify(bodyOf(family, 'hi'))
    for (const [header, status] of [
      ['gzip, chunked', 501],
      ['identity', 501],
      ['identity, chunked', 501],
      ['xchunked, chunked', 501],
      [',chunked', 400]
    ] as const) {
      const head = `POST ${pathOf(family)} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: ${header}\r\n\r\n`
      // What comes behind the request may be the next request, or not: it is not served.
      const response = readRaw(await sendRaw(t, head + chunked(body) + head + chunked(body)))
      t.match(readError(family, response), { message: /Transfer-Encoding/ }, `${family} ${header}`)
      t.equal(response.status, status, `${family} ${header}`)
      t.equal(response.headers.get('connection'), 'close')
      t.equal(response.rest, '', 'one response')
    }
  }
  t.equal(upstreamChats(emulator).length, before, 'nothing reached the upstream')
})

t.test('cost 16: a doubtful end of the body is refused in every spelling', async t => {
  for (const fields of [
    'transfer-encoding: chunked, chunked',
    'transfer-encoding: chunked,',
    'transfer-encoding: chunked\r\ntransfer-encoding: chunked',
    'transfer-encoding: chunked\r\ntransfer-encoding: identity',
    'transfer-encoding: chunked, gzip',
    'transfer-encoding: \x0bchunked',
    'transfer-encoding : chunked',
    'transfer-encoding: chunked\r\ncontent-length: 5',
    'content-length: 5\r\ntransfer-encoding: chunked',
    'content-length: 5\r\ntransfer-encoding: gzip, chunked',
    'content-length: 5\r\ncontent-length: 6',
    'content-length: +5'
  ]) {
    const text = await sendRaw(
      t,
      `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n${fields}\r\n\r\n${chunked('{}')}`
    )
    const response = readRaw(text)
    t.equal(response.status, 400, fields)
    t.equal(response.headers.get('connection'), 'close', fields)
    t.equal(response.rest, '')
  }
  const old = `POST /v1/chat/completions HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n${chunked('{}')}`
  const refused = readRaw(await sendRaw(t, old))
  t.equal(refused.status, 400, 'HTTP 1.0 has no transfer codings')
  t.match(readError('completions', refused), { message: /Transfer-Encoding/ })
})

t.test('cost 16: chunked alone is accepted, in any case and with blanks', async t => {
  const body = JSON.stringify(bodyOf('completions', '[[text:arrived]]'))
  for (const header of ['chunked', 'Chunked', '  CHUNKED ']) {
    const { socket, waitFor } = await openConnection(t, port)
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: ${header}\r\n\r\n`
    socket.write(head + chunked(body))
    t.match(await waitFor(/arrived/), /^HTTP\/1.1 200/)
    socket.destroy()
  }
})

t.test('cost 22: CONNECT gets 405 with the methods that are served, and the connection is closed', async t => {
  const response = readRaw(
    await sendRaw(t, 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n\x16\x03\x01')
  )
  t.equal(response.status, 405)
  t.match(response.json, { error: { code: 'method_not_allowed', message: 'Method Not Allowed' } })
  t.equal(response.headers.get('allow'), 'GET, POST')
  t.equal(response.headers.get('connection'), 'close')
  const requestId = response.headers.get('x-request-id')
  t.match(requestId, /^[0-9a-f-]{36}$/)
  t.equal((await get(`${gateway.url}/health`)).status, 200)
})

t.test('cost 22: a request for an upgrade is served as it is, and its connection stays usable', async t => {
  const body = JSON.stringify(bodyOf('completions', '[[text:first]]'))
  for (const upgrade of [
    'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c',
    'connection: upgrade\r\nupgrade: websocket'
  ]) {
    const { socket, waitFor } = await openConnection(t, port)
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n${upgrade}\r\ncontent-length: ${body.length}\r\n\r\n`
    socket.write(head + body)
    t.match(await waitFor(/first/), /^HTTP\/1.1 200/)
    socket.write(`GET /health HTTP/1.1\r\nhost: localhost\r\n${upgrade}\r\n\r\n`)
    await waitFor(/HTTP\/1.1 200 [\s\S]*HTTP\/1.1 200 /)
    socket.destroy()
  }
})

t.test(
  'cost 17: of many pipelined requests a few are at the upstream, and all get their response in order',
  async t => {
    const count = 150
    const requests = Array.from({ length: count }, (_, index) => {
      const body = JSON.stringify(bodyOf('completions', `[[slow:300]][[text:<${index}>]]`))
      return `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    })
    const { socket, waitFor } = await openConnection(t, port)
    let mostAtOnce = 0
    const watch = setInterval(() => {
      mostAtOnce = Math.max(mostAtOnce, emulator.stats.activeRequests)
    }, 2)
    t.teardown(() => clearInterval(watch))
    socket.write(requests.join(''))
    const text = await waitFor(new RegExp(`<${count - 1}>`))
    const order = [...text.matchAll(/<(\d+)>/g)].map(match => Number(match[1]))
    t.same(
      order,
      Array.from({ length: count }, (_, index) => index)
    )
    t.ok(mostAtOnce > 1 && mostAtOnce <= 32, `${mostAtOnce} at once`)
  }
)

t.test('cost 17: 100,000 pipelined requests whose responses are not read harm no other client', async t => {
  const body = JSON.stringify(bodyOf('completions', '[[hang]]'))
  for (const [name, request] of [
    ['liveness', 'GET /health?flood HTTP/1.1\r\nhost: localhost\r\n\r\n'],
    ['unknown', 'GET /flood HTTP/1.1\r\nhost: localhost\r\n\r\n'],
    ['chat', `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`]
  ] as const) {
    const before = upstreamChats(emulator).length
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    const head = request.repeat(100_000)
    socket.write(head)
    for (let round = 0; round < 20; round += 1) t.equal((await get(`${gateway.url}/health`)).status, 200, name)
    if (name === 'chat') {
      await waitUntil(() => emulator.stats.activeRequests === 32, 'the upstream has the first requests')
      for (let round = 0; round < 20; round += 1) t.equal((await get(`${gateway.url}/health`)).status, 200, name)
      t.equal(upstreamChats(emulator).length - before, 32, 'and no other')
    }
    socket.destroy()
  }
  await gateway.stop()
  const served = readLog(gateway).filter(({ path, route }) => path === '/flood' || route === 'unmatched')
  t.ok(served.length <= 600, `${served.length} requests of the flood were served`)
})
