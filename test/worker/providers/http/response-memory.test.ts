import t from 'tap'
import { ResponseMemory, responseMemory } from '../../../../worker/providers/http/response-memory.ts'
import { ResponseCollector } from '../../../../worker/providers/http/whole-response.ts'
import { waitUntil } from '../../../support/processes.ts'
import { compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { type StubHandler, startStub } from '../support/stub-upstream.ts'

const MEBIBYTE = 1024 * 1024
const OVERLOADED = { code: 'gateway_overloaded', status: 503, retryAfter: '1' }

t.test('responses hold a bounded sum beyond their first mebibyte; a lone one may hold more', async t => {
  const memory = new ResponseMemory(4 * MEBIBYTE)
  const [first, second] = [memory.open(), memory.open()]
  first.hold(MEBIBYTE)
  t.equal(memory.heldBytes, 0)
  first.hold(9 * MEBIBYTE)
  t.equal(memory.heldBytes, 8 * MEBIBYTE)
  second.hold(MEBIBYTE)
  t.throws(() => second.hold(2 * MEBIBYTE), OVERLOADED)
  first.hold(3 * MEBIBYTE)
  second.hold(3 * MEBIBYTE)
  t.equal(memory.heldBytes, 4 * MEBIBYTE)
  t.throws(() => first.hold(3 * MEBIBYTE + 1), OVERLOADED)
  second.hold(0)
  first.hold(6 * MEBIBYTE)
  first.hold(0)
  t.equal(memory.heldBytes, 0)
})

t.test('a whole response is refused where others hold all of the memory', async t => {
  const memory = new ResponseMemory(2 * MEBIBYTE)
  const other = memory.open()
  other.hold(3 * MEBIBYTE)
  const collector = new ResponseCollector(64 * MEBIBYTE, memory)
  const ignore = () => undefined
  const control = { pause: ignore, resume: ignore, cancel: ignore }
  collector.onHead({ status: 200, headers: {} }, control)
  collector.onData([Buffer.alloc(MEBIBYTE)])
  t.throws(() => collector.onData([Buffer.alloc(1)]), OVERLOADED)
  collector.onClosed()
  t.equal(memory.heldBytes, 2 * MEBIBYTE)
})

t.test('what arrives of whole responses and of long events is counted, and released at every end', async t => {
  for (const isStream of [false, true]) {
    for (const end of ['whole', 'broken', 'large']) {
      const begin: StubHandler = (request, response) => {
        response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
        response.write(isStream ? 'data: BEGIN\n\n: ' : `{"words":["a"],"x":"`)
        response.write('x'.repeat(3 * MEBIBYTE))
        finish = () => {
          if (end === 'broken') request.socket.destroy()
          else if (end === 'large') response.write('x'.repeat(9 * MEBIBYTE))
          else response.end(isStream ? '\n\ndata: a\n\n' : '"}')
        }
      }
      let finish: () => void = () => undefined
      const stub = await startStub(begin)
      t.teardown(() => stub.close())
      const { executorOf } = startCompatible(t, {
        p1: { baseUrl: stub.origin, more: { responseBytesMax: 8 * MEBIBYTE } }
      })
      const chat = executorOf('p1').chat(compatibleCall({ isStream }), contextOf(), createSink())
      const ended = chat.then(
        () => undefined,
        () => undefined
      )
      if (!isStream) await waitUntil(() => responseMemory.heldBytes > MEBIBYTE, 'it is counted')
      else await stub.arrived(1)
      finish()
      await (end === 'whole' && !isStream ? chat : ended)
      t.equal(responseMemory.heldBytes, 0, `${end} ${isStream}`)
    }
  }
})

t.test('a response that is refused ends its call with 503, and the provider is not blamed', async t => {
  const hoard = responseMemory.open()
  hoard.hold(600 * MEBIBYTE)
  t.teardown(() => hoard.hold(0))
  const stub = await startStub((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ words: ['x'.repeat(3 * MEBIBYTE)] }))
  })
  t.teardown(() => stub.close())
  const { executorOf, memory } = startCompatible(t, { p1: { baseUrl: stub.origin, more: { retries: 3 } } })
  const statuses: string[] = []
  const context = contextOf({ onUpstreamCall: ({ status }) => statuses.push(status) })
  t.match(await rejection(executorOf('p1').chat(compatibleCall(), context, createSink())), OVERLOADED)
  t.strictSame(statuses, ['cancelled'])
  t.equal(stub.requests.length, 1)
  t.notOk(memory.lines.some(line => line.event === 'upstream_call_failed'))
})
