import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import {
  type ExchangeObservation,
  type ExchangeOptions,
  type ExchangeRequest,
  runExchange
} from '../../../../worker/providers/http/exchange.ts'
import type { ExchangeControl, ExchangeReceiver } from '../../../../worker/providers/http/exchange-receiver.ts'
import { ResponseCollector } from '../../../../worker/providers/http/whole-response.ts'
import { rejection } from '../support/rejection.ts'
import { slowDownClock } from '../support/slow-clock.ts'
import { startStub } from '../support/stub-upstream.ts'

const never = new AbortController().signal

/** A server whose sockets the test plays byte by byte, and a pool to it; both end with the test. */
async function startSocketServer(
  t: Test,
  onSocket: (socket: Socket) => void,
  poolOptions?: Pool.Options
): Promise<{ server: Server; pool: Pool; origin: string }> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    onSocket(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const pool = new Pool(origin, poolOptions)
  t.teardown(async () => {
    await pool.destroy()
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { server, pool, origin }
}
const patient = { connectMs: 5_000, writeMs: 5_000, headMs: 5_000, idleMs: 5_000 }

function options(dispatcher: Pool, origin: string, more: Partial<ExchangeOptions> = {}): ExchangeOptions {
  return {
    dispatcher,
    origin,
    request: { method: 'GET', path: '/', headers: [] },
    receiver: new ResponseCollector(),
    timeouts: patient,
    signal: never,
    ...more
  }
}

t.test('an exchange gives the response to its receiver and reports how it ended', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200, { 'x-request-id': 'u1' })
    response.write('one ')
    response.end('two')
  })
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  const collector = new ResponseCollector()
  const observations: ExchangeObservation[] = []
  const outcome = await runExchange(
    options(pool, stub.origin, { receiver: collector, onSettled: observation => observations.push(observation) })
  )
  const response = collector.take()
  t.equal(outcome, 'ended')
  t.equal(response?.bytes.toString(), 'one two')
  t.equal(response?.headers['x-request-id'], 'u1')
  t.equal(observations.length, 1)
  t.match(observations[0], { status: '200', httpStatus: 200 })
})

t.test('a body larger than one piece arrives whole and with its length', async t => {
  const stub = await startStub((_request, response) => void response.end())
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  const body = Buffer.alloc(3_000_001, 'x')
  body[2_999_999] = 0x79
  await runExchange(options(pool, stub.origin, { request: { method: 'POST', path: '/', headers: [], body } }))
  const [request] = stub.requests
  t.equal(request?.headers['content-length'], '3000001')
  t.equal(request?.headers['transfer-encoding'], undefined)
  t.ok(request?.body.equals(body))
})

t.test('a body in pieces of any size arrives whole', async t => {
  const stub = await startStub((_request, response) => void response.end())
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  const body = ['before ', '', 'in between', ' after'.repeat(100_000)].map(text => Buffer.from(text))
  await runExchange(options(pool, stub.origin, { request: { method: 'POST', path: '/', headers: [], body } }))
  const [request] = stub.requests
  t.equal(request?.headers['content-length'], '600017')
  t.equal(request?.headers['transfer-encoding'], undefined)
  t.ok(request?.body.equals(Buffer.concat(body)))
})

t.test('a body counts as taken once the connection has all of it', async t => {
  const stub = await startStub((_request, response) => void response.end())
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  for (const bytes of [1_000_000, 1_048_577]) {
    let taken = 0
    const body = Buffer.alloc(bytes, 'x')
    const onBodyTaken = () => {
      taken += 1
    }
    const request = { method: 'POST', path: '/', headers: [], body, onBodyTaken } as const
    await runExchange(options(pool, stub.origin, { request: { ...request, headers: [] } }))
    t.equal(taken, 1)
    t.ok(stub.requests.at(-1)?.body.equals(body))
  }
})

t.test('a body that an upstream responds to without reading it counts as not taken', async t => {
  const { pool, origin } = await startSocketServer(t, socket => {
    socket.pause()
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  })
  let isTaken = false
  const onBodyTaken = () => {
    isTaken = true
  }
  // More than the buffers of the system hold.
  const request = { method: 'POST' as const, path: '/', headers: [], body: Buffer.alloc(64 * 1024 * 1024), onBodyTaken }
  await runExchange(options(pool, origin, { request }))
  t.equal(isTaken, false)
})

t.test('large bodies together are sent a piece in each turn of the event loop', async t => {
  const mebibyte = 1024 * 1024
  let turn = 0
  let isOver = false
  const countTurns = () => {
    turn += 1
    if (!isOver) setImmediate(countTurns)
  }
  const bytesOfTurns: number[] = []
  async function take(body: AsyncIterable<Uint8Array>, handler: Dispatcher.DispatchHandler): Promise<void> {
    const controller = { abort: () => undefined, pause: () => undefined, resume: () => undefined } as never
    handler.onRequestStart?.(controller, {})
    for await (const { length } of body) bytesOfTurns[turn] = (bytesOfTurns[turn] ?? 0) + length
    handler.onRequestSent?.()
    handler.onResponseStart?.(controller, 200, {})
    handler.onResponseEnd?.(controller, {})
  }
  /** Takes all that it gets at once, as a system does whose peer reads. */
  const dispatcher = {
    dispatch({ body }: { body: AsyncIterable<Uint8Array> }, handler: Dispatcher.DispatchHandler) {
      void take(body, handler)
      return true
    }
  }
  countTurns()
  const request = { method: 'POST', path: '/', headers: [], body: Buffer.alloc(4 * mebibyte) } as const
  await Promise.all(
    [1, 2, 3].map(() =>
      runExchange(
        options(dispatcher as never, 'http://host', { request: { ...request, headers: [] } as ExchangeRequest })
      )
    )
  )
  isOver = true
  t.equal(
    bytesOfTurns.reduce((sum, bytes) => sum + bytes, 0),
    12 * mebibyte
  )
  const most = Math.max(...bytesOfTurns.filter(bytes => bytes > 0))
  t.ok(most <= mebibyte / 2, `${most} bytes in one turn`)
})

t.test('a refused connection is a transport failure, not a timeout', async t => {
  const stub = await startStub(() => undefined)
  await stub.close()
  const pool = new Pool(stub.origin)
  t.teardown(() => pool.destroy())
  const observations: ExchangeObservation[] = []
  t.match(
    await rejection(
      runExchange(options(pool, stub.origin, { onSettled: observation => observations.push(observation) }))
    ),
    { name: 'CallFailure', outcome: 'connect_error', status: null, error: { code: 'provider_failure', status: 502 } }
  )
  t.match(observations[0], { status: 'connect_error', httpStatus: undefined })
})

t.test('an attempt to connect ends after its own limit (H5)', async t => {
  const pool = new Pool('http://127.0.0.1:9', {
    // A connector that never calls back: what a host does that drops packets.
    connect: () => undefined
  })
  t.teardown(() => pool.destroy())
  t.match(
    await rejection(runExchange(options(pool, 'http://127.0.0.1:9', { timeouts: { ...patient, connectMs: 5 } }))),
    {
      outcome: 'timeout',
      error: { code: 'provider_timeout', status: 504 }
    }
  )
})

t.test('an upstream that takes the request and stays silent ends after the limit for the head (H5)', async t => {
  const stub = await startStub(() => undefined)
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  const aborted = stub.nextAbort()
  t.match(await rejection(runExchange(options(pool, stub.origin, { timeouts: { ...patient, headMs: 20 } }))), {
    outcome: 'timeout',
    error: { code: 'provider_timeout' }
  })
  await aborted
})

t.test('a gap in the body longer than the idle limit ends it, and shorter gaps do not (H5)', async t => {
  const stub = await startStub((request, response) => {
    response.writeHead(200)
    response.write('first')
    if (request.url === '/ends') setTimeout(() => response.end('last'), 20)
  })
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  const request = { method: 'GET' as const, path: '/ends', headers: [] }
  t.equal(await runExchange(options(pool, stub.origin, { request, timeouts: { ...patient, idleMs: 2_000 } })), 'ended')
  const aborted = stub.nextAbort()
  t.match(await rejection(runExchange(options(pool, stub.origin, { timeouts: { ...patient, idleMs: 20 } }))), {
    outcome: 'timeout'
  })
  await aborted
})

t.test('a pause of the receiver does not count against the idle limit', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200)
    response.write('first')
    setTimeout(() => response.end('last'), 5)
  })
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  let control: ExchangeControl | undefined
  const chunks: string[] = []
  const outcome = await runExchange(
    options(pool, stub.origin, {
      timeouts: { ...patient, idleMs: 30 },
      receiver: {
        onHead(_head, exchange) {
          control = exchange
        },
        onData(pieces) {
          chunks.push(Buffer.concat(pieces).toString())
          if (chunks.length > 1) return undefined
          control?.pause()
          setTimeout(() => control?.resume(), 120)
          return undefined
        }
      }
    })
  )
  t.equal(outcome, 'ended')
  t.equal(chunks.join(''), 'firstlast')
})

t.test('an abort rejects with the reason of the signal and closes the socket (H1, H2)', async t => {
  const stub = await startStub((request, response) => {
    if (request.url === '/silent') return
    response.writeHead(200)
    response.write('first')
  })
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  for (const path of ['/silent', '/talking']) {
    const abort = new AbortController()
    const aborted = stub.nextAbort()
    const observations: ExchangeObservation[] = []
    const before = stub.requests.length
    const running = runExchange(
      options(pool, stub.origin, {
        request: { method: 'GET', path, headers: [] },
        signal: abort.signal,
        onSettled: observation => observations.push(observation)
      })
    )
    await stub.arrived(before + 1)
    const reason = new GatewayError('gateway_not_ready')
    abort.abort(reason)
    t.match(await rejection(running), { code: 'gateway_not_ready' })
    await aborted
    t.equal(observations[0]?.status, 'cancelled')
  }
})

t.test('a request that is aborted while its connection is made is never written', async t => {
  let finishConnecting: (() => void) | undefined
  const connector = buildConnector({ allowH2: false })
  const { server, pool, origin } = await startSocketServer(t, () => undefined, {
    connect: (connectOptions, callback) => {
      finishConnecting = () => connector(connectOptions, callback)
    }
  })
  const abort = new AbortController()
  const running = runExchange(options(pool, origin, { signal: abort.signal }))
  abort.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(running), { code: 'client_disconnected' })
  const connected = once(server, 'connection')
  finishConnecting?.()
  const [socket] = await connected
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  await once(socket, 'close')
  t.same(received, [])
})

t.test('a broken body is a transport failure', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('ten bytes!')
    setImmediate(() => response.destroy())
  })
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  t.match(await rejection(runExchange(options(pool, stub.origin))), {
    error: { code: 'provider_failure' },
    status: null
  })
})

t.test('an error keeps its status when its body breaks off or stalls (decisions.md 6)', async t => {
  for (const end of ['break', 'stall'] as const) {
    const { pool, origin } = await startSocketServer(t, socket =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 429 Slow down\r\nretry-after: 7\r\ncontent-length: 90\r\n\r\n{"mess')
        if (end === 'break') socket.end()
      })
    )
    const receiver = new ResponseCollector()
    const observations: ExchangeObservation[] = []
    const onSettled = (observation: ExchangeObservation) => observations.push(observation)
    await runExchange(options(pool, origin, { receiver, timeouts: { ...patient, idleMs: 30 }, onSettled }))
    t.match(receiver.take(), { status: 429, headers: { 'retry-after': '7' } }, end)
    t.match(observations, [{ status: '429', httpStatus: 429 }], end)
  }
})

t.test('bytes that are not HTTP are a protocol error, in each place of a response', async t => {
  for (const bytes of [
    'no response\r\n\r\n',
    'HTTP/1.1 200 OK\r\nno header\r\n\r\n',
    'HTTP/1.1 099 Odd\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno chunk\r\n'
  ]) {
    const { pool, origin } = await startSocketServer(t, socket => socket.once('data', () => socket.write(bytes)))
    const failure = await rejection(runExchange(options(pool, origin)))
    t.match(failure, { error: { code: 'provider_failure' }, outcome: 'protocol_error', isRetryable: true }, bytes)
  }
})

t.test('an error of the receiver ends the exchange and closes its connection (H4)', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200)
    response.write('first')
  })
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  const aborted = stub.nextAbort()
  t.match(
    await rejection(
      runExchange(
        options(pool, stub.origin, {
          receiver: {
            onHead() {
              throw new RangeError('not wanted')
            },
            onData: () => undefined
          }
        })
      )
    ),
    { name: 'RangeError' }
  )
  await aborted
})

t.test('a cancelled exchange is a success and its connection is closed', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200)
    response.write('first')
  })
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  const aborted = stub.nextAbort()
  const outcome = await runExchange(
    options(pool, stub.origin, { receiver: { onHead: (_head, control) => control.cancel(), onData: () => undefined } })
  )
  t.equal(outcome, 'cancelled')
  await aborted
})

t.test('an upstream that stops taking a large body ends after the limit for writing', async t => {
  const { pool, origin } = await startSocketServer(t, socket => void socket.pause())
  const request = { method: 'POST' as const, path: '/', headers: [], body: Buffer.alloc(64 * 1024 * 1024) }
  const failure = await rejection(
    runExchange(options(pool, origin, { request, timeouts: { ...patient, writeMs: 200 } }))
  )
  t.match(failure, { outcome: 'timeout', error: { cause: /^sending/ } })
})

t.test('a response that comes before the body is sent is the response', async t => {
  const { pool, origin } = await startSocketServer(t, socket => {
    socket.once('data', () => {
      socket.pause()
      socket.write('HTTP/1.1 413 Payload Too Large\r\ncontent-length: 2\r\n\r\nno')
    })
  })
  const collector = new ResponseCollector()
  const request = { method: 'POST' as const, path: '/', headers: [], body: Buffer.alloc(64 * 1024 * 1024) }
  await runExchange(options(pool, origin, { request, receiver: collector }))
  t.equal(collector.take()?.status, 413)
})

t.test('a request that the client library refuses is a transport failure', async t => {
  const stub = await startStub(() => undefined)
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  const request = { method: 'GET' as const, path: '/', headers: ['x-bad', 'line\nbreak'] }
  t.match(await rejection(runExchange(options(pool, stub.origin, { request }))), {
    error: { code: 'provider_failure' }
  })
  t.equal(stub.requests.length, 0)
})

t.test('the pieces that one read of the connection brings are received together', async t => {
  const pieces = ['data: one\n\n', 'data: two\n\n', 'data: three\n\n']
  const chunks = pieces.map(piece => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')
  const { pool, origin } = await startSocketServer(t, socket => {
    socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`))
  })
  const received: string[][] = []
  const receiver = {
    onHead: () => undefined,
    onData(read: readonly Buffer[]) {
      received.push(read.map(String))
      return undefined
    }
  }
  t.equal(await runExchange(options(pool, origin, { receiver })), 'ended')
  t.same(received, [pieces])
})

t.test('long reads that cost a lot have turns of their own, also those that end a response', async t => {
  let turn = 0
  const turns: number[] = []
  const receiver = {
    onHead: () => undefined,
    onData() {
      turns.push(turn)
      setImmediate(() => turn++)
      return undefined
    }
  }
  slowDownClock(t)
  const controller = { abort: () => undefined, pause: () => undefined, resume: () => undefined } as never
  /** Responds at once, with a read of this size that ends the response. */
  const respondWith = (bytes: number) => ({
    dispatch(_options: unknown, handler: Dispatcher.DispatchHandler) {
      handler.onRequestStart?.(controller, {})
      handler.onRequestSent?.()
      handler.onResponseStart?.(controller, 200, {})
      handler.onResponseData?.(controller, Buffer.alloc(bytes))
      handler.onResponseEnd?.(controller, {})
      return true
    }
  })
  const receive = (bytes: number) =>
    Promise.all([1, 2, 3, 4].map(() => runExchange(options(respondWith(bytes) as never, 'http://host', { receiver }))))
  t.same(await receive(40_000), ['ended', 'ended', 'ended', 'ended'])
  t.equal(turns[0], turns[1], 'two reads are as much as a turn takes')
  t.equal(new Set(turns).size, 3)
  turns.length = 0
  await receive(4_000)
  t.equal(new Set(turns).size, 1, 'short reads wait for nothing')
})

/** Takes one word each time and leaves the others. */
function takeWords(onWord: (word: string) => void): ExchangeReceiver {
  return {
    onHead: () => undefined,
    onData(pieces) {
      const [word = '', ...left] = Buffer.concat(pieces).toString().split(' ')
      onWord(word)
      return left.length === 0 ? undefined : Buffer.from(left.join(' '))
    }
  }
}

/** A server that responds with three words, and a pool to it; both end with the test. */
async function startWordServer(t: Test, isBroken = false): Promise<{ pool: Pool; origin: string }> {
  const stub = await startStub((_request, response) => {
    if (isBroken) response.writeHead(200, { 'content-length': '100' })
    response.write('one two three')
    if (isBroken) setImmediate(() => response.destroy())
    else response.end()
  })
  const pool = new Pool(stub.origin)
  t.teardown(() => Promise.all([pool.destroy(), stub.close()]))
  return { pool, origin: stub.origin }
}

t.test('what a receiver leaves is given to it in other turns, also when the response has ended', async t => {
  const { pool, origin } = await startWordServer(t)
  let turn = 0
  const words: string[] = []
  const turns = new Set<number>()
  const receiver = takeWords(word => {
    words.push(word)
    turns.add(turn)
    setImmediate(() => turn++)
  })
  t.equal(await runExchange(options(pool, origin, { receiver })), 'ended')
  t.same(words, ['one', 'two', 'three'])
  t.equal(turns.size, words.length)
})

t.test('the time in which a receiver works off what it left does not count against the idle limit', async t => {
  const { pool, origin } = await startWordServer(t)
  const words: string[] = []
  const receiver = takeWords(word => {
    words.push(word)
    for (const untilMs = performance.now() + 60; performance.now() < untilMs; );
  })
  t.equal(await runExchange(options(pool, origin, { receiver, timeouts: { ...patient, idleMs: 50 } })), 'ended')
  t.same(words, ['one', 'two', 'three'])
})

t.test('what a receiver has left is given to it before it learns that the body broke off', async t => {
  const { pool, origin } = await startWordServer(t, true)
  const words: string[] = []
  const receiver = takeWords(word => words.push(word))
  t.match(await rejection(runExchange(options(pool, origin, { receiver }))), { error: { code: 'provider_failure' } })
  t.same(words, ['one', 'two', 'three'])
})

t.test('an error over what was left ends the exchange', async t => {
  const { pool, origin } = await startWordServer(t)
  const words: string[] = []
  const receiver = takeWords(word => {
    words.push(word)
    if (word === 'two') throw new GatewayError('provider_protocol_error')
  })
  t.match(await rejection(runExchange(options(pool, origin, { receiver }))), { code: 'provider_protocol_error' })
  t.same(words, ['one', 'two'])
})
