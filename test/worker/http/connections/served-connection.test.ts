import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { SERVED_MAX, UNREAD_TIMEOUT_MS, WAITING_MAX } from '../../../../worker/http/connections/served-connection.ts'
import { createListener } from '../../../../worker/http/listener.ts'
import { sendWhole } from '../../../../worker/http/respond.ts'
import { waitUntil } from '../../../support/processes.ts'
import { openConnection, signalled, startApplication } from '../support.ts'

/** A listener whose requests are complete when the test ends their responses. */
async function startHolding(t: Test) {
  const served: ServerResponse[] = []
  const skipped: ServerResponse[] = []
  const listener = createListener((_incoming, outgoing) => served.push(outgoing), {
    refuse: () => 'id',
    skip: outgoing => skipped.push(outgoing)
  })
  t.teardown(() => listener.close())
  const { port } = await listener.listen({ host: '127.0.0.1', port: 0, reusePort: false })
  return { served, skipped, port }
}

const gets = (count: number) =>
  Array.from({ length: count }, (_, index) => `GET /${index} HTTP/1.1\r\nhost: localhost\r\n\r\n`).join('')

/** The bodies of the responses so far: each is the path of its request. */
const bodiesIn = (text: string) => [...text.matchAll(/\r\n\r\n\/(\d+)/g)].map(match => Number(match[1]))
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)
const respond = (outgoing: ServerResponse | undefined) => outgoing?.end(outgoing.req.url)

/** Resolves when everything that was sent before on any connection has been read. */
async function settle(t: Test, port: number, served: ServerResponse[]): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const { socket, waitFor } = await openConnection(t, port)
    socket.write('GET /settled HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await waitUntil(() => served.some(({ req }) => req.url === '/settled'), 'the request was served')
    const at = served.findIndex(({ req }) => req.url === '/settled')
    respond(served.splice(at, 1)[0])
    await waitFor(/\r\n\r\n/)
    socket.destroy()
  }
}

t.test('cost 17: pipelined requests are served a few at a time, and responded to in order', async t => {
  const { served, skipped, port } = await startHolding(t)
  const { socket, waitFor, received } = await openConnection(t, port)
  const count = SERVED_MAX + WAITING_MAX - 1
  socket.write(gets(count))
  await waitUntil(() => served.length === SERVED_MAX, 'the first requests are served')
  await settle(t, port, served)
  t.equal(served.length, SERVED_MAX)
  respond(served[1])
  await settle(t, port, served)
  t.equal(served.length, SERVED_MAX, 'a response that waits for the one before it is not complete')
  for (let index = 0; index < count; index += 1) {
    await waitUntil(() => served.length > index, `request ${index} is served`)
    t.ok(served.length <= index + SERVED_MAX + 1)
    if (index !== 1) respond(served[index])
  }
  await waitFor(new RegExp(`\r\n\r\n/${count - 1}$`))
  t.same(bodiesIn(received()), upTo(count))
  t.notMatch(received(), /connection: close/i)
  t.equal(skipped.length, 0)
  socket.write(gets(1))
  await waitUntil(() => served.length > count, 'the connection stays usable')
})

t.test('cost 17: the connection ends after the responses to as many requests as may wait', async t => {
  const { served, skipped, port } = await startHolding(t)
  const { socket, closed, received } = await openConnection(t, port)
  const count = SERVED_MAX + WAITING_MAX
  // One read brings them all: bytes that are never read would make the kernel reset the connection before its last response is read.
  socket.write(gets(count + 100))
  for (let index = 0; index < count; index += 1) {
    await waitUntil(() => served.length > index, `request ${index} is served`)
    respond(served[index])
  }
  await closed
  t.equal(served.length, count)
  t.same(bodiesIn(received()), upTo(count))
  t.equal(received().match(/connection: close/gi)?.length, 1)
  t.match(received(), new RegExp(`connection: close\r\n(.+\r\n)*\r\n/${count - 1}$`, 'i'))
  t.equal(skipped.length, 1, 'observers learn of the first request behind them')
})

t.test('cost 17: requests that wait when their connection closes are reported, not served', async t => {
  const { served, skipped, port } = await startHolding(t)
  const { socket } = await openConnection(t, port)
  socket.write(gets(SERVED_MAX + 10))
  await waitUntil(() => served.length === SERVED_MAX, 'the first requests are served')
  await settle(t, port, served)
  socket.resetAndDestroy()
  // Nothing is read from the connection while requests wait: its end is noticed when something is written.
  for (const outgoing of served.splice(0)) outgoing.end('x'.repeat(100_000))
  await waitUntil(() => skipped.length === 10, 'the waiting requests are skipped')
  t.equal(served.length, 0)
})

t.test('cost 17: a body behind waiting requests is read when its turn comes', async t => {
  const { served, port } = await startHolding(t)
  const { socket, waitFor } = await openConnection(t, port)
  const body = 'y'.repeat(300_000)
  socket.write(
    `${gets(SERVED_MAX)}POST /body HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
  await waitUntil(() => served.length === SERVED_MAX, 'the first requests are served')
  for (const outgoing of [...served]) respond(outgoing)
  await waitUntil(() => served.length > SERVED_MAX, 'the request with the body is served')
  const last = served.at(-1)
  let length = 0
  last?.req.on('data', chunk => {
    length += chunk.length
  })
  last?.req.on('end', () => last.end(`read ${length}`))
  await waitFor(/read 300000$/)
})

t.test('cost 17: a connection that is not read is closed, one that waits for a provider is not', async t => {
  const { promise: finished, resolve: finish } = signalled<void>()
  const served: ServerResponse[] = []
  const { port } = await startApplication(t, {
    routes: app =>
      app.get('/large', async (request, reply) => {
        served.push(reply.raw)
        const isWaiting = request.headers['x-wait'] !== undefined
        if (isWaiting) await finished
        sendWhole(reply, { status: 200, body: 'z'.repeat(isWaiting ? 1 : 20_000_000) })
      })
  })
  const unread = await openConnection(t, port)
  unread.socket.pause()
  unread.socket.write('GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await waitUntil(() => served[0]?.headersSent === true, 'the response was written')
  t.equal(served[0]?.socket?.timeout, UNREAD_TIMEOUT_MS)
  const { promise: ended, resolve: end } = signalled<void>()
  served[0]?.once('close', end)
  served[0]?.socket?.emit('timeout')
  await ended

  const waiting = await openConnection(t, port)
  waiting.socket.write(
    'GET /large HTTP/1.1\r\nhost: localhost\r\nx-wait: 1\r\n\r\nGET /health HTTP/1.1\r\nhost: localhost\r\n\r\n'
  )
  await waitUntil(() => served[1]?.socket?.timeout === UNREAD_TIMEOUT_MS, 'the second request was read')
  served[1]?.socket?.emit('timeout')
  finish()
  t.match(await waiting.waitFor(/zHTTP\/1.1 200 OK/), /^HTTP\/1.1 200 OK/)
})
