import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { sendJson } from '../../../worker/http/respond.ts'
import { messagesRoute, openConnection, type RawConnection, signalled, startApplication } from './support.ts'

const PIECE_BYTES = 512 * 1024
const body = Buffer.from(JSON.stringify(Array.from({ length: 2_000_000 }, (_, index) => index)))
const REQUEST = 'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n'

/** An application whose responses are large, and a raw connection to it that has sent requests. */
async function openLarge(t: Test, requests = 1, watch: (response: ServerResponse) => void = () => undefined) {
  const { port } = await startApplication(t, {
    routes: messagesRoute((_request, reply) => {
      watch(reply.raw)
      sendJson(reply, 200, {}, body)
    })
  })
  const connection = await openConnection(t, port)
  connection.socket.write(REQUEST.repeat(requests))
  return connection
}

/** Everything received once these are so many bytes; a pattern would be searched for in all of them with each piece. */
async function receive({ socket, received }: RawConnection, bytes: number): Promise<string> {
  while (received().length < bytes) await once(socket, 'data')
  return received()
}

t.test('a large response goes out in pieces, each in a turn of its own, and arrives whole', async t => {
  const sizes: number[] = []
  const turns: number[] = []
  let turn = 0
  const connection = await openLarge(t, 1, response => {
    function countTurn(): void {
      turn += 1
      if (!response.writableEnded) setImmediate(countTurn)
    }
    setImmediate(countTurn)
    const write: ServerResponse['write'] = response.write.bind(response)
    response.write = (bytes: Uint8Array) => {
      sizes.push(bytes.byteLength)
      turns.push(turn)
      return write(bytes)
    }
  })
  const received = await receive(connection, body.length)
  const headBytes = received.indexOf('\r\n\r\n') + 4
  t.match(received.slice(0, headBytes), `content-length: ${body.length}\r\n`)
  t.ok((await receive(connection, headBytes + body.length)).slice(headBytes) === body.toString())
  t.same(new Set(sizes.slice(0, -1)), new Set([PIECE_BYTES]))
  t.equal(new Set(turns).size, turns.length)
})

t.test('a large response waits for a slow client, and ends with a client that leaves', async t => {
  const { promise, resolve } = signalled<ServerResponse>()
  const { socket } = await openLarge(t, 1, resolve)
  socket.pause()
  const response = await promise
  t.notOk(response.writableFinished)
  while (!response.writableNeedDrain) await new Promise(next => setImmediate(next))
  t.ok(response.writableLength <= 2 * PIECE_BYTES, `${response.writableLength} bytes are buffered`)
  socket.destroy()
  if (!response.destroyed) await once(response, 'close')
  await new Promise(next => setImmediate(next))
  t.equal(response.listenerCount('drain'), 0)
  t.notOk(response.writableEnded)
})

t.test('large responses of one connection arrive in order, also while those behind wait for it', async t => {
  const connection = await openLarge(t, 3)
  await receive(connection, 3 * body.length)
  while (!connection.received().endsWith('1999999]')) await once(connection.socket, 'data')
  const received = connection.received()
  t.equal(received.split('HTTP/1.1 200 OK').length - 1, 3)
  t.equal(received.split(body.toString()).length - 1, 3)
})

const BODY_BYTES = 4_000_000

for (const [what, head] of [
  ['that asks for the end of its connection', 'HTTP/1.1\r\nhost: localhost\r\nconnection: close'],
  ['of HTTP 1.0', 'HTTP/1.0'],
  ['whose worker drains', 'HTTP/1.1\r\nhost: localhost']
] as const) {
  t.test(`a client ${what} is not reset while it sends a body that is refused by its head`, async t => {
    const { port, drainGate } = await startApplication(t, {
      env: { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'a key' },
      routes: messagesRoute((_request, reply) => sendJson(reply, 200, {}, '{}'))
    })
    if (what.includes('drains')) drainGate.startDraining()
    const { socket, waitFor, closed } = await openConnection(t, port)
    const errors: unknown[] = []
    socket.on('error', error => errors.push(error))
    socket.write(`POST /v1/messages ${head}\r\ncontent-length: ${BODY_BYTES}\r\n\r\n`)
    t.match(await waitFor(/\}$/), /^HTTP\/1.1 (401|503) /)
    socket.end(Buffer.alloc(BODY_BYTES))
    await closed
    t.strictSame(errors, [])
  })
}
