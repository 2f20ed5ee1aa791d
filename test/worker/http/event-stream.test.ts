import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { isFull } from '../../../worker/http/connections/client-writes.ts'
import { type EventStreamOptions, type EventStreamWriter, startEventStream } from '../../../worker/http/event-stream.ts'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { messagesRoute, openConnection, type RawConnection, signalled, startApplication } from './support.ts'

const POST_CHAT =
  'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost:3000\r\ncontent-length: 0\r\n\r\n'

/** A streamed response that the test writes, and the raw connection that receives it. */
async function openStream(t: Test, options: EventStreamOptions = {}) {
  const { promise, resolve } = signalled<{ stream: EventStreamWriter; reply: FastifyReply }>()
  const { port } = await startApplication(t, {
    routes: messagesRoute((_request, reply) => resolve({ stream: startEventStream(reply, options), reply }))
  })
  const connection = await openConnection(t, port)
  connection.socket.write(POST_CHAT)
  return { ...connection, ...(await promise) }
}

t.test('the head is sent at once, with the headers of every response and of every stream', async t => {
  const { waitFor, stream } = await openStream(t)
  const head = await waitFor(/\r\n\r\n/)
  t.match(head, /^HTTP\/1.1 200 OK\r\n/)
  for (const line of [
    'content-type: text/event-stream; charset=utf-8',
    'cache-control: no-cache',
    'x-accel-buffering: no',
    'transfer-encoding: chunked',
    'access-control-allow-origin: http://localhost:3000'
  ]) {
    t.ok(head.toLowerCase().includes(`\r\n${line}\r\n`), line)
  }
  const id = /x-request-id: (.*)\r\n/.exec(head)?.[1]
  t.ok(id)
  t.ok(head.includes(`\r\nrequest-id: ${id}\r\n`))
  stream.end()
})

t.test('the texts are on the wire in order, as soon as their turn ends, and an empty one is not written', async t => {
  const { waitFor, stream } = await openStream(t)
  t.ok(stream.write('data: 1\n\ndata: 2\n\n'))
  t.ok(stream.write(''))
  t.notOk(stream.isClosed)
  t.match(await waitFor(/data: 2\n\n\r\n$/), /\r\n\r\n12\r\ndata: 1\n\ndata: 2\n\n\r\n$/)
  stream.end('data: [DONE]\n\n')
  t.ok(stream.isClosed)
  t.match(await waitFor(/0\r\n\r\n$/), /data: 2\n\n\r\ne\r\ndata: \[DONE\]\n\n\r\n0\r\n\r\n$/)
  stream.write('late')
  stream.end('late')
})

t.test('frames in pieces are one chunk, also the last ones', async t => {
  const { waitFor, stream } = await openStream(t)
  t.ok(stream.write(['data: ', Buffer.from('1'), '\n\n']))
  t.match(await waitFor(/\n\n\r\n$/), /\r\n\r\n9\r\ndata: 1\n\n\r\n$/)
  stream.end(['data: ', Buffer.from('2'), '', '\n\n'])
  t.ok(stream.isClosed)
  t.match(await waitFor(/0\r\n\r\n$/), /\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n$/)
})

t.test('frames in pieces wait for a slow client as well', async t => {
  const { socket, stream, reply } = await openStream(t)
  socket.pause()
  const pieces = ['x', Buffer.alloc(64 * 1024, 'x')]
  let written = 0
  while (stream.write(pieces)) written += 64 * 1024
  t.ok(written < 64 * 1024 * 1024)
  const drained = stream.whenDrained()
  socket.resume()
  await drained
  t.notOk(isFull(reply.raw))
  stream.end()
})

t.test('large frames in pieces are no reason to wait for a client that has read all', async t => {
  const { socket, stream, reply } = await openStream(t)
  socket.resume()
  // Above the bound at which a corked response calls itself full.
  for (let count = 0; count < 3; count++) {
    stream.write(['x', Buffer.alloc(70 * 1024, 'x')])
    await stream.whenDrained()
    t.notOk(isFull(reply.raw))
  }
  stream.end()
})

const MEBIBYTE = 1024 * 1024

/** The body of a chunked response, once its end has arrived. */
async function receiveBody({ socket, received }: RawConnection): Promise<string> {
  while (!received().endsWith('\r\n0\r\n\r\n')) await once(socket, 'data')
  let body = ''
  for (let at = received().indexOf('\r\n\r\n') + 4; ; ) {
    const end = received().indexOf('\r\n', at)
    const length = Number.parseInt(received().slice(at, end), 16)
    if (length === 0) return body
    body += received().slice(end + 2, end + 2 + length)
    at = end + 4 + length
  }
}

t.test('large frames go out in pieces, each in a turn of its own, and what follows them keeps its order', async t => {
  const opened = await openStream(t, { keepAliveText: ': keep-alive\n\n', keepAliveIntervalMs: 1 })
  const { stream, reply } = opened
  const response = reply.raw
  let turn = 0
  const countTurn = () => {
    turn++
    if (!response.writableEnded) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const bytesOfTurns: number[] = []
  const write: ServerResponse['write'] = response.write.bind(response)
  response.write = (bytes: Uint8Array) => {
    bytesOfTurns[turn] = (bytesOfTurns[turn] ?? 0) + bytes.length
    return write(bytes)
  }
  const large = 'я'.repeat(MEBIBYTE)
  t.notOk(stream.write(['data: ', Buffer.from(large), '', '\n\n']), 'the writer has to wait')
  t.notOk(stream.write('data: next\n\n'))
  stream.end(`data: ${large}\n\n`)
  t.ok(stream.isClosed)
  const drained = stream.whenDrained()
  const expected = Buffer.from(`data: ${large}\n\ndata: next\n\ndata: ${large}\n\n`).toString('latin1')
  t.ok((await receiveBody(opened)) === expected)
  await drained
  t.ok(Math.max(...bytesOfTurns.filter(bytes => bytes > 0)) <= MEBIBYTE / 2 + 100, `${bytesOfTurns}`)
})

t.test('large frames of two streams arrive whole, although they take turns', async t => {
  const streams = await Promise.all([openStream(t), openStream(t)])
  for (const { stream } of streams) stream.end('x'.repeat(4 * MEBIBYTE))
  for (const opened of streams) t.equal((await receiveBody(opened)).length, 4 * MEBIBYTE)
})

t.test('a large frame waits for a slow client, and ends with a client that leaves', async t => {
  const { socket, stream, reply } = await openStream(t)
  socket.pause()
  stream.write('x'.repeat(64 * MEBIBYTE))
  const drained = stream.whenDrained()
  while (!reply.raw.writableNeedDrain) await nextTurn()
  t.ok(reply.raw.writableLength <= MEBIBYTE, 'one piece is buffered')
  socket.destroy()
  await drained
  t.ok(stream.isClosed)
  stream.end('late')
})

t.test('a response that is cut behind a large frame ends with all of it and the last chunk', async t => {
  const { closed, received, stream } = await openStream(t)
  stream.write('x'.repeat(2 * MEBIBYTE))
  stream.cut('failed\n\n')
  await closed
  t.ok(received().endsWith('xxx\r\n8\r\nfailed\n\n\r\n'))
  const body = received().slice(received().indexOf('\r\n\r\n'))
  t.equal(body.split('x').length - 1, 2 * MEBIBYTE)
})

t.test('another content type can be streamed', async t => {
  const { waitFor, stream } = await openStream(t, { contentType: 'application/json' })
  stream.end('[]')
  t.match(await waitFor(/\[\]/), /\r\ncontent-type: application\/json\r\n/)
})

t.test('a writer waits for a slow client until it reads again (H6)', async t => {
  const { socket, stream, reply } = await openStream(t)
  socket.pause()
  const piece = 'x'.repeat(64 * 1024)
  let written = 0
  while (stream.write(piece)) written += piece.length
  t.ok(reply.raw.writableLength < 1024 * 1024, 'what is buffered stays under 1 MiB')
  t.ok(written < 64 * 1024 * 1024)
  const drained = stream.whenDrained()
  socket.resume()
  await drained
  t.equal(reply.raw.listenerCount('drain'), 0)
  stream.end()
})

t.test('waiting ends at the disconnect of a client that never reads (H7)', async t => {
  const { socket, stream, reply } = await openStream(t)
  socket.pause()
  const piece = 'x'.repeat(64 * 1024)
  // The system takes what its own buffers have room for, although the client reads nothing.
  do {
    stream.write(piece)
    for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
  } while (!reply.raw.writableNeedDrain)
  const listenersBefore = reply.raw.listenerCount('close')
  const drained = stream.whenDrained()
  socket.destroy()
  await drained
  t.ok(stream.isClosed)
  t.equal(reply.raw.listenerCount('drain'), 0)
  t.ok(reply.raw.listenerCount('close') <= listenersBefore)
  await stream.whenDrained()
})

t.test('the connection of a client that reads nothing is closed after the stall time', async t => {
  const { socket, stream, reply } = await openStream(t, { stallTimeoutMs: 50 })
  socket.pause()
  const piece = 'x'.repeat(64 * 1024)
  while (!stream.isClosed) if (!stream.write(piece)) await stream.whenDrained()
  t.ok(reply.request.context.isAborted, 'what the request has running is ended')
})

t.test('a connection that is gone has no room, also before its response is known to be closed', async t => {
  const { stream, reply } = await openStream(t)
  reply.raw.socket?.destroy()
  const piece = 'x'.repeat(64 * 1024)
  let writes = 0
  while (!stream.isClosed && writes < 100) {
    writes += 1
    if (!stream.write(piece)) await stream.whenDrained()
  }
  t.ok(stream.isClosed, `after ${writes} writes`)
})

t.test('an idle stream gets keep-alive comments, and one that is written to gets none', async t => {
  const { waitFor, stream, received } = await openStream(t, {
    keepAliveText: ': keep-alive\n\n',
    keepAliveIntervalMs: 20
  })
  await waitFor(/(: keep-alive\n\n[\s\S]*){2}/)
  stream.end('data: [DONE]\n\n')
  await waitFor(/0\r\n\r\n$/)
  t.match(received(), /\[DONE\]\n\n\r\n0\r\n\r\n$/)
})

t.test('an idle stream may begin its next frame, which goes on behind the beginning', async t => {
  const keepAliveText = { start: 'data: ', more: ' ', rest: '{}\n\n' }
  const cases: ReadonlyArray<[last: string | Array<string | Buffer>, body: string]> = [
    ['data: 1\n\n', 'data:  1\n\n'],
    [['data: ', Buffer.from('1\n\n')], 'data:  1\n\n'],
    [[Buffer.from('data: 1\n\n'), 'data: 2\n\n'], 'data:  1\n\ndata: 2\n\n'],
    ['data:1\n\n', 'data:  {}\n\ndata:1\n\n'],
    ['', 'data:  {}\n\n']
  ]
  for (const [last, body] of cases) {
    for (const isEnd of [true, false]) {
      const opened = await openStream(t, { keepAliveText })
      const { stream } = opened
      stream.keepAlive()
      stream.keepAlive()
      if (isEnd || last === '') stream.end(last)
      else {
        stream.write(last)
        stream.keepAlive()
        stream.write('data: 3\n\n')
        stream.end()
      }
      t.equal(await receiveBody(opened), isEnd || last === '' ? body : `${body}data: 3\n\n`)
    }
  }
  const { closed, received, stream } = await openStream(t, { keepAliveText })
  stream.keepAlive()
  stream.cut('data: failed\n\n')
  stream.keepAlive()
  await closed
  t.match(received(), /\r\n6\r\ndata: \r\n8\r\nfailed\n\n\r\n$/)
})

t.test(
  'a response that is cut ends with its last chunk and a closed connection, and is no client disconnect',
  async t => {
    const { closed, received, stream, reply } = await openStream(t)
    const { context } = reply.request
    stream.write('data: 1\n\n')
    stream.cut('failed\n\n')
    t.ok(stream.isClosed)
    stream.write('data: 2\n\n')
    stream.cut('twice')
    stream.end('late')
    context.failed(new GatewayError('provider_failure'))
    await closed
    t.match(received(), /\r\n9\r\ndata: 1\n\n\r\n8\r\nfailed\n\n\r\n$/, 'there is no end mark of the chunks')
    t.notOk(context.isAborted)
    t.strictSame(context.outcome(), { status: 200, lifecycle: 'streaming_aborted', errorType: 'http_502' })
  }
)

t.test('a response is cut without a last chunk as well, and a client that still sends is not reset', async t => {
  const { closed, received, stream, socket } = await openStream(t)
  socket.allowHalfOpen = true
  const errors: unknown[] = []
  socket.on('error', error => errors.push(error))
  stream.write('data: 1\n\n')
  stream.cut()
  await once(socket, 'end')
  t.match(received(), /\r\n9\r\ndata: 1\n\n\r\n$/)
  socket.end(POST_CHAT)
  await closed
  t.strictSame(errors, [])
  t.notMatch(received(), /HTTP.*HTTP/s, 'the next request is not served')
})

t.test('a client that leaves behind the error ends the response at once', async t => {
  const { socket, stream, reply, waitFor } = await openStream(t)
  stream.write('data: 1\n\n')
  stream.cut()
  await waitFor(/data: 1/)
  socket.end()
  await once(reply.raw, 'close')
  t.notOk(reply.request.context.isAborted)
})

t.test('a cut response whose client disconnects meanwhile leaves nothing behind', async t => {
  const { socket, stream, reply } = await openStream(t)
  stream.cut('failed\n\n')
  socket.destroy()
  await once(reply.raw, 'close')
  t.notOk(reply.request.context.isAborted)
})

t.test('a stream that starts after a client disconnect is closed from the start', async t => {
  const { promise, resolve } = signalled<{ reply: FastifyReply }>()
  const { port, drainGate } = await startApplication(t, {
    routes: messagesRoute((_request, reply) => {
      reply.hijack()
      // A reply is thenable: resolved with it directly, the promise would wait for the response.
      resolve({ reply })
    })
  })
  const { socket } = await openConnection(t, port)
  socket.write(POST_CHAT)
  const { reply } = await promise
  socket.destroy()
  await drainGate.whenIdle()
  const stream = startEventStream(reply)
  t.ok(stream.isClosed)
  t.ok(stream.write('x'))
  await stream.whenDrained()
  stream.end('x')
})
