import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startEventStream } from '../../../worker/http/event-stream.ts'
import { createListener } from '../../../worker/http/listener.ts'
import { sendJson } from '../../../worker/http/respond.ts'
import { waitUntil } from '../../support/processes.ts'
import { messagesRoute, openConnection, signalled, startApplication, unrecorded } from './support.ts'

const loopback = { host: '127.0.0.1', port: 0, reusePort: false }

t.test('a free port is chosen and reported, and a taken one rejects with the error of the system', async t => {
  const first = createListener((_incoming, outgoing) => outgoing.end(), unrecorded)
  t.teardown(() => first.close())
  const { host, port } = await first.listen(loopback)
  t.equal(host, '127.0.0.1')
  t.ok(port > 0)
  const second = createListener((_incoming, outgoing) => outgoing.end(), unrecorded)
  await t.rejects(second.listen({ ...loopback, port }), { code: 'EADDRINUSE' })
  await second.close()
})

t.test(
  'two listeners can share a port when both ask for it',
  { skip: process.platform !== 'linux' && 'Linux' },
  async t => {
    const first = createListener((_incoming, outgoing) => outgoing.end(), unrecorded)
    const second = createListener((_incoming, outgoing) => outgoing.end(), unrecorded)
    t.teardown(() => Promise.all([first.close(), second.close()]))
    const { port } = await first.listen({ ...loopback, reusePort: true })
    t.equal((await second.listen({ ...loopback, port, reusePort: true })).port, port)
  }
)

t.test('localhost is served on every address that the name has', async t => {
  const listener = createListener((_incoming, outgoing) => outgoing.end('here'), unrecorded)
  t.teardown(() => listener.close())
  const { port } = await listener.listen({ ...loopback, host: 'localhost' })
  t.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), 'here')
  t.equal(await (await fetch(`http://localhost:${port}`)).text(), 'here')
})

t.test('with a key and a certificate it speaks TLS', async t => {
  const fixtures = join(import.meta.dirname, '../../ops/emulator/fixtures')
  const read = (name: string) => readFileSync(join(fixtures, name), 'utf8')
  const listener = createListener((_incoming, outgoing) => outgoing.end('secret'), unrecorded)
  t.teardown(() => listener.close())
  const { port } = await listener.listen({ ...loopback, tls: { key: read('server.key'), cert: read('server.pem') } })
  const request = httpsRequest({ host: '127.0.0.1', port, ca: read('ca.pem'), agent: false }).end()
  const [response] = await once(request, 'response')
  t.equal(response.statusCode, 200)
  t.ok(response.socket.encrypted)
  response.resume()
})

t.test(
  'decisions.md 44: open connections stay usable after the worker stopped accepting, until it closes (I5)',
  async t => {
    const { promise: arrived, resolve: arrive } = signalled<void>()
    const { promise: finished, resolve: finish } = signalled<void>()
    const { listener, port, drainGate } = await startApplication(t, {
      routes: messagesRoute(async (_request, reply) => {
        arrive()
        await finished
        sendJson(reply, 200, {}, '{"done":true}')
      })
    })
    const health = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n'
    const [used, idle] = await Promise.all(
      [1, 2].map(async () => {
        const connection = await openConnection(t, port)
        connection.socket.write(health)
        t.match(await connection.waitFor(/\r\n\r\n/), /connection: keep-alive/i)
        return connection
      })
    )
    const fresh = await openConnection(t, port)
    const busy = await openConnection(t, port)
    busy.socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
    await arrived

    drainGate.startDraining()
    await listener.stopAccepting()
    await t.rejects(fetch(`http://127.0.0.1:${port}/health`), 'no connection is accepted any more')
    for (const connection of [used, fresh]) {
      connection?.socket.write(health)
      t.match(await connection?.waitFor(/connection: close\r\n/i), /HTTP\/1.1 200 OK/)
      await connection?.closed
    }
    finish()
    t.match(await busy.waitFor(/\{"done":true\}/), /connection: close/)
    await busy.closed
    t.notOk(idle?.socket.destroyed, 'an idle connection stays open')
    await listener.close()
    await idle?.closed
  }
)

t.test(
  'a request behind a stream that began before the drain is refused, not reset, while the worker closes (I5)',
  async t => {
    const { promise: began, resolve: begin } = signalled<ReturnType<typeof startEventStream>>()
    const { listener, port, drainGate } = await startApplication(t, {
      routes: messagesRoute((_request, reply) => begin(startEventStream(reply)))
    })
    const post = 'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n'
    const { socket, waitFor, closed } = await openConnection(t, port)
    socket.write(post)
    const stream = await began
    t.match(await waitFor(/\r\n\r\n/), /connection: keep-alive/i)
    drainGate.startDraining()
    stream.end()
    await drainGate.whenIdle()
    const closing = listener.close()
    await waitFor(/\r\n0\r\n\r\n/)
    // The connection is idle for some turns of the event loop before the client sends.
    for (let turn = 0; turn < 5; turn += 1) await new Promise(resolve => setImmediate(resolve))
    socket.write(post)
    t.match(await waitFor(/gateway_shutting_down/), /HTTP\/1.1 503 .*connection: close/is)
    await closed
    await closing
  }
)

t.test('a connection that becomes idle while the worker closes is closed as well (I5)', async t => {
  const { listener, port } = await startApplication(t)
  const { socket, waitFor, closed } = await openConnection(t, port)
  socket.write('GET /health HTTP/1.1\r\n')
  await new Promise(resolve => setImmediate(resolve))
  const closing = listener.close()
  socket.write('host: localhost\r\n\r\n')
  t.match(await waitFor(/\r\n\r\n/), /^HTTP\/1.1 200/)
  await closed
  await closing
})

t.test('a client that disconnects right behind its head is not handled, or its response emits close (H1)', async t => {
  let handled = 0
  let closed = 0
  const listener = createListener((_incoming, outgoing) => {
    handled++
    outgoing.on('close', () => closed++)
  }, unrecorded)
  t.teardown(() => listener.close())
  const { port } = await listener.listen(loopback)
  await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      const disconnected = once(socket, 'close')
      socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
      // Some disconnect in the turn of the head, some later.
      if (index % 3 === 0) await new Promise(setImmediate)
      if (index % 2 === 0) socket.resetAndDestroy()
      else socket.destroy()
      await disconnected
    })
  )
  t.equal(await (await fetchAfter(port)).text(), '')
  await waitUntil(() => closed === handled, 'every handled request has closed')
  t.ok(handled > 0)

  /** Sends a request that waits: when it is handled, all requests before it have been handled or skipped. */
  async function fetchAfter(port: number): Promise<Response> {
    const controller = new AbortController()
    const before = handled
    const pending = fetch(`http://127.0.0.1:${port}`, { method: 'POST', signal: controller.signal }).catch(
      () => new Response('')
    )
    await waitUntil(() => handled > before, 'it is handled')
    controller.abort()
    return pending
  }
})

t.test('a client that closes its sending side with a request without a body gets its response', async t => {
  const listener = createListener((_incoming, outgoing) => outgoing.end('here'), unrecorded)
  t.teardown(() => listener.close())
  const { port } = await listener.listen(loopback)
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', bytes => {
    received += bytes
  })
  const closed = once(socket, 'close')
  socket.end('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await closed
  t.match(received, /^HTTP\/1.1 200 OK.*here$/s)
})

t.test('the refusal of malformed bytes is not written into the responses before it (A1)', async t => {
  const listener = createListener((incoming, outgoing) => {
    if (incoming.url !== '/stream') return
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write('data: 1\n\n')
  }, unrecorded)
  t.teardown(() => listener.close())
  const { port } = await listener.listen(loopback)
  const { socket, waitFor, closed, received } = await openConnection(t, port)
  const post = (path: string) => `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`
  socket.write(post('/stream') + post('/waits'))
  await waitFor(/data: 1/)
  socket.write('no request\r\n\r\n')
  await closed
  t.notMatch(received(), /HTTP\/1.1 400/)
})

t.test(
  'malformed bytes behind a running request end it with its own error, whatever the client still sends',
  async t => {
    const { port } = await startApplication(t, {
      routes: messagesRoute(
        ({ context }) =>
          new Promise((_resolve, reject) => {
            context.signal.addEventListener('abort', () => reject(context.signal.reason))
          })
      )
    })
    const { socket, waitFor, closed, received } = await openConnection(t, port)
    socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n')
    await waitFor(/100 Continue/)
    socket.write('{}no request\r\n\r\n')
    await waitFor(/does not match its head/)
    socket.write(Buffer.alloc(1_000_000, 'x'))
    await closed
    t.equal(received().match(/HTTP\/1\.1 400/g)?.length, 1)
    t.match(received(), /"type":"error".*"request_id"/)
  }
)

t.test('a client that gives up a refused body is no malformed request; one behind a whole body is', async t => {
  const refused: number[] = []
  const unserved = {
    ...unrecorded,
    refuse(status: number) {
      refused.push(status)
      return 'an id'
    }
  }
  const listener = createListener((incoming, outgoing) => {
    incoming.resume()
    outgoing.writeHead(503, { 'content-length': 0 }).end()
  }, unserved)
  t.teardown(() => listener.close())
  const { port } = await listener.listen(loopback)
  const head = 'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n'

  const leaving = await openConnection(t, port)
  leaving.socket.write(`${head}the beginning`)
  await leaving.waitFor(/503/)
  leaving.socket.end()
  await leaving.closed
  t.same(refused, [])
  t.equal(leaving.received().match(/HTTP\/1\.1/g)?.length, 1)

  const malformed = await openConnection(t, port)
  malformed.socket.write(head)
  await malformed.waitFor(/503/)
  malformed.socket.write(`${'x'.repeat(1000)}no request\r\n\r\n`)
  await malformed.closed
  t.same(refused, [400])
})

t.test('closing ends requests that do not end by themselves, and may be called again', async t => {
  const { listener, port } = await startApplication(t, {
    routes: messagesRoute((_request, reply) => {
      reply.hijack()
    })
  })
  const request = httpRequest({ host: '127.0.0.1', port, path: '/v1/messages', method: 'POST', agent: false }).end()
  const failed = once(request, 'error')
  await once(request, 'socket')
  await once(request, 'finish')
  await listener.close()
  await failed
  await listener.close()
})

t.test(
  'a listener that another one has replaced keeps its idle connections a moment longer when it is told to',
  async t => {
    const listener = createListener((_incoming, outgoing) => outgoing.end(), unrecorded, { keepAliveMs: 100 })
    t.teardown(() => listener.close())
    const { port } = await listener.listen(loopback)
    const { socket, closed } = await openConnection(t, port)
    const kept = [20, 0]
    const wasOpen: boolean[] = []
    await listener.whenEmpty(() => {
      wasOpen.push(!socket.destroyed)
      return kept.shift() ?? 0
    })
    await closed
    t.same(wasOpen, [true, true])
  }
)
