import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { readBody } from '../../../worker/http/body.ts'
import type { GatewayError } from '../../../worker/normalized/index.ts'
import { signalled } from './support.ts'

/** The members of a request that the reading of its body uses. */
function createRequest(headers: Record<string, string> = {}) {
  return Object.assign(new PassThrough(), { headers, complete: false }) as unknown as PassThrough & IncomingMessage
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
