// The `retries` of a profile: how often, after how long, and when not (decisions.md 112).

import t, { type Test } from 'tap'
import { stepTimers } from '../../../support/stepped-timers.ts'
import { compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { type StubHandler, sendJson, startStub } from '../support/stub-upstream.ts'

const WAYS = [false, true]

const sendWords: StubHandler = ({ headers }, response) => {
  if (headers['accept-encoding'] !== undefined) return sendJson(response, 200, { words: ['a'] })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end('data: BEGIN\n\ndata: a\n\n')
}

const sendStatus = (status: number, headers: Record<string, string> = {}): StubHandler => {
  return (_request, response) => sendJson(response, status, { message: 'no' }, headers)
}

/** A provider that answers as the list says, one after the other, and well behind its end. */
async function start(t: Test, handlers: readonly StubHandler[], retries: number, draining?: AbortSignal) {
  const rest = [...handlers]
  const stub = await startStub((request, response) => (rest.shift() ?? sendWords)(request, response))
  t.teardown(() => stub.close())
  const { executorOf, memory, destroy } = startCompatible(
    t,
    { p1: { baseUrl: stub.origin, more: { retries } } },
    { draining, clocks: { random: () => 0 } }
  )
  const attempts: number[] = []
  const ask = async (isStream: boolean) => {
    const sink = createSink()
    const context = contextOf({ onUpstreamCall: ({ attempt }) => attempts.push(attempt) })
    await executorOf('p1').chat(compatibleCall({ isStream }), context, sink)
    return sink
  }
  const failures = () => memory.lines.filter(line => line.event === 'upstream_call_failed')
  return { stub, ask, attempts, failures, destroy }
}

t.test('a call is repeated as often as the profile says, and its reports count the attempts', async t => {
  for (const isStream of WAYS) {
    const { stub, ask, attempts, failures } = await start(t, [sendStatus(503), sendStatus(529)], 2)
    t.equal((await ask(isStream)).text(), 'a')
    t.strictSame(attempts, [0, 1, 2])
    t.equal(stub.requests.length, 3)
    t.strictSame(failures(), [])
  }
  for (const isStream of WAYS) {
    const { stub, ask, failures } = await start(t, Array(4).fill(sendStatus(502)), 1)
    t.match(await rejection(ask(isStream)), { status: 502 })
    t.equal(stub.requests.length, 2)
    t.match(failures(), [{ status: 502, attempts: 2 }])
  }
})

t.test('without the member a call has one attempt', async t => {
  const { stub, ask, failures } = await start(t, [sendStatus(503)], 0)
  t.match(await rejection(ask(false)), { status: 503 })
  t.equal(stub.requests.length, 1)
  t.notHas(failures()[0], { attempts: 1 })
})

t.test("the provider's wait is kept, and one of more than 5 s is the client's", async t => {
  const pass = stepTimers(t)
  const { stub, ask } = await start(t, [sendStatus(429, { 'retry-after': '5' })], 1)
  const asked = ask(false)
  await stub.arrived(1)
  await t.resolves(new Promise(setImmediate))
  pass(4_999)
  await new Promise(setImmediate)
  t.equal(stub.requests.length, 1)
  pass(2)
  t.equal((await asked).text(), 'a')
  const far = await start(t, [sendStatus(429, { 'retry-after': '6' })], 1)
  t.match(await rejection(far.ask(false)), { status: 429 })
  t.equal(far.stub.requests.length, 1)
})

t.test('nothing is repeated once the client has seen a part of the response', async t => {
  const breakOff: StubHandler = (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: BEGIN\n\ndata: one\n\n', () => request.socket.end())
  }
  const { stub, ask } = await start(t, [breakOff], 3)
  const sink = await ask(true)
  t.equal(sink.text(), 'one')
  t.match(sink.events().at(-1), { type: 'error', error: { code: 'provider_failure' } })
  t.equal(stub.requests.length, 1)
})

t.test('a whole response that breaks off is repeated: the client has seen nothing of it', async t => {
  const breakOff: StubHandler = (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{"words":', () => request.socket.end())
  }
  const { stub, ask } = await start(t, [breakOff], 1)
  t.equal((await ask(false)).text(), 'a')
  t.equal(stub.requests.length, 2)
})

t.test('no attempt begins during a shutdown', async t => {
  const { stub, ask } = await start(t, [sendStatus(503)], 3, AbortSignal.abort())
  t.match(await rejection(ask(false)), { status: 503 })
  t.equal(stub.requests.length, 1)
})

t.test('a shutdown during the delay ends the call at once', async t => {
  // The timers stand still: only the shutdown can end the delay.
  const pass = stepTimers(t)
  const shutdown = new AbortController()
  const { stub, ask } = await start(t, [sendStatus(503, { 'retry-after': '5' })], 3, shutdown.signal)
  const asked = rejection(ask(false))
  await stub.arrived(1)
  pass(1)
  await new Promise(setImmediate)
  shutdown.abort()
  t.match(await asked, { status: 503 })
  t.equal(stub.requests.length, 1)
})

t.test('the call without a refused member has the retries that are left, and no more', async t => {
  const refuse: StubHandler = (_request, response) =>
    sendJson(response, 400, { error: { message: "Unsupported parameter: 'metadata'" } })
  const { stub, executorOf } = await startRefusing(t, [sendStatus(503), refuse, sendStatus(503), sendStatus(503)])
  const call = { ...compatibleCall(), body: Buffer.from(JSON.stringify({ say: 'x', metadata: { a: 'b' } })) }
  t.match(await rejection(executorOf('p1').chat(call, contextOf(), createSink())), { status: 503 })
  t.equal(stub.requests.length, 4, 'one attempt, two retries, and the one without the member')
  t.match(stub.requests[3]?.body.toString(), /^\{"say":"x"\}$/)
})

async function startRefusing(t: Test, handlers: StubHandler[]) {
  const stub = await startStub((request, response) => (handlers.shift() ?? sendWords)(request, response))
  t.teardown(() => stub.close())
  const { executorOf } = startCompatible(
    t,
    { p1: { baseUrl: stub.origin, more: { retries: 2 } } },
    { clocks: { random: () => 0 } }
  )
  return { stub, executorOf }
}
