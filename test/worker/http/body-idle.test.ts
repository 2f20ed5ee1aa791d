import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { mock } from 'node:test'
import t from 'tap'
import { readBody } from '../../../worker/http/request/body.ts'
import type { GatewayError } from '../../../worker/normalized/index.ts'
import { PAUSE_MS } from '../../../worker/performance/pacer.ts'
import { signalled } from './support.ts'

/** The members of a request that the reading of its body uses. */
function createRequest(headers: Record<string, string> = {}) {
  return Object.assign(new PassThrough(), { headers, complete: false }) as unknown as PassThrough & IncomingMessage
}

/** A request whose body is in memory. */
function createWholeRequest(): IncomingMessage {
  return { headers: {}, complete: true, readableLength: 0, read: () => Buffer.from('{}') } as unknown as IncomingMessage
}

t.test('a client that stops sending within its body gets a 408', async t => {
  const { promise, resolve } = signalled<GatewayError | undefined>()
  const request = createRequest()
  request.write('{')
  readBody(request, { limitBytes: 100, idleTimeoutMs: 20, isKept: true }, resolve)
  const error = await promise
  t.equal(error?.code, 'request_timeout')
  t.equal(error?.status, 408)
})

t.test('every piece restarts the idle timeout', async t => {
  const { promise, resolve } = signalled<Buffer>()
  const request = createRequest()
  readBody(request, { limitBytes: 100, idleTimeoutMs: 1000, isKept: true }, (_error, body) => resolve(body))
  for (const piece of ['a', 'b', 'c']) {
    request.write(piece)
    await new Promise(next => setImmediate(next))
  }
  request.end()
  t.equal((await promise).toString(), 'abc')
})

t.test('a large body gives way to other requests, arrives whole, and its wait is no silence of the client', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const request = createRequest()
  // Each wait is longer than this; what is in memory already follows at once.
  const reading = { limitBytes: 10e6, idleTimeoutMs: 1, isKept: true }
  const pieces = Array.from({ length: 80 }, (_, index) => Buffer.alloc(64 * 1024, index))
  // The memory of the pieces themselves is released.
  const whole = Buffer.concat(pieces)
  let receivedBytes = 0
  request.on('data', (piece: Buffer) => {
    receivedBytes += piece.length
    // Another request is served meanwhile.
    readBody(createWholeRequest(), reading, () => undefined)
  })
  const results: Array<[GatewayError | undefined, Buffer]> = []
  readBody(request, reading, (error, body) => results.push([error, body]))
  for (const piece of pieces) request.write(piece)
  request.end()

  await takeTurns()
  t.ok(receivedBytes > 2e6 && receivedBytes < 3e6, `${receivedBytes} bytes before the first wait`)
  let waits = 0
  for (; results.length === 0; waits++) {
    const before = receivedBytes
    mock.timers.tick(PAUSE_MS)
    await takeTurns()
    t.ok(receivedBytes - before <= 512 * 1024, `${receivedBytes - before} bytes after a wait`)
  }
  t.equal(waits, 12)
  const [[error, body = Buffer.alloc(0)] = []] = results
  t.equal(error, undefined)
  t.ok(body.equals(whole))
})

/** Enough for everything that does not wait for a timer. */
async function takeTurns(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise(next => setImmediate(next))
}

t.test('the limit also applies to a body that is not kept', async t => {
  const { promise, resolve } = signalled<[GatewayError | undefined, Buffer]>()
  const request = createRequest()
  readBody(request, { limitBytes: 3, idleTimeoutMs: 1000, isKept: false }, (error, body) => resolve([error, body]))
  request.end('abc')
  const [error, body] = await promise
  t.equal(error, undefined)
  t.equal(body.length, 0)
})

t.test('a body of one piece is returned without a copy', async t => {
  const { promise, resolve } = signalled<Buffer>()
  const request = createRequest()
  const piece = Buffer.from('abc')
  readBody(request, { limitBytes: 100, idleTimeoutMs: 1000, isKept: true }, (_error, body) => resolve(body))
  request.end(piece)
  t.equal(await promise, piece)
})

t.test('a body that is in memory in pieces, as since Node 26, is taken whole, and bounded as a whole', async t => {
  const read = (limitBytes: number) => {
    const left = ['ab', 'c', 'def'].map(piece => Buffer.from(piece))
    const request = {
      headers: {},
      complete: true,
      read: () => left.shift() ?? null,
      get readableLength() {
        return Buffer.concat(left).length
      }
    } as unknown as IncomingMessage
    const results: Array<[string | undefined, string]> = []
    readBody(request, { limitBytes, idleTimeoutMs: 1000, isKept: true }, (error, body) =>
      results.push([error?.code, body.toString()])
    )
    return results
  }
  t.same(read(6), [[undefined, 'abcdef']])
  t.same(read(5), [['request_entity_too_large', '']])
})
