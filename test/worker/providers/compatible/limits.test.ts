// The bounds of a profile, with every time run by a clock of the test: the provider answers when the test says so.

import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ProviderProfile } from '../../../../shared/profile/profile.ts'
import { readLimits } from '../../../../worker/providers/compatible/limits.ts'
import { edgeProfile } from '../../../support/profile-sets.ts'
import { stepTimers } from '../../../support/stepped-timers.ts'
import { compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { type StubHandler, sendJson, startStub } from '../support/stub-upstream.ts'

const WAYS = [false, true]
const TIMEOUT = { code: 'provider_timeout', status: 504 }

t.test('a profile without limits has the defaults, and 0 seconds set no limit', t => {
  t.match(readLimits(edgeProfile([])), {
    connectMs: 10_000,
    firstByteMs: 300_000,
    idleMs: 300_000,
    totalMs: 0,
    connectionsMax: 1024,
    connectionWaitMs: 1_000,
    responseBytesMax: 64 * 1024 * 1024
  })
  const timeouts = { connectSeconds: 3, firstByteSeconds: 0, idleSeconds: 0, totalSeconds: 20 }
  const written = readLimits(edgeProfile([], { timeouts, connections: 7, responseBytesMax: 2_000_000 }))
  t.match(written, {
    connectMs: 3_000,
    firstByteMs: 0,
    idleMs: 0,
    totalMs: 20_000,
    connectionsMax: 7,
    responseBytesMax: 2_000_000
  })
  t.end()
})

/** A provider that leaves every response to the test, and a profile that leads to it. The clock runs when the test says so. */
async function start(t: Test, more: Partial<ProviderProfile> = {}) {
  const responses: Parameters<StubHandler>[1][] = []
  const stub = await startStub((_request, response) => void responses.push(response))
  t.teardown(() => stub.close())
  const { executorOf } = startCompatible(t, { p1: { baseUrl: stub.origin, more } })
  const pass = stepTimers(t)
  async function begin(isStream: boolean) {
    const sink = createSink()
    const settled = { isSettled: false }
    const chat = executorOf('p1').chat(compatibleCall({ isStream }), contextOf(), sink)
    const end = () => {
      settled.isSettled = true
    }
    chat.then(end, end)
    await stub.arrived(responses.length + 1)
    const response = responses.at(-1)
    if (response === undefined) throw new Error('The provider has no request.')
    return { chat, sink, response, settled }
  }
  return { stub, begin, pass }
}

type Begun = Awaited<ReturnType<Awaited<ReturnType<typeof start>>['begin']>>

/** Sends a piece, and waits until the gateway has read it: the response of the stub is paced by what arrived. */
async function send({ response }: Begun, text: string): Promise<void> {
  await new Promise<void>(resolve => response.write(text, () => resolve()))
  // The other end of the loopback reads in one of the next turns.
  for (let turn = 0; turn < 20; turn++) await setImmediate()
}

const STREAM = { 'content-type': 'text/event-stream' }
const JSON_BODY = { 'content-type': 'application/json' }

t.test('providers 10: chat-slow-head, a head after 40 s is served by default, one after 300 s is not', async t => {
  const { begin, pass } = await start(t)
  for (const isStream of WAYS) {
    const served = await begin(isStream)
    pass(40_000)
    if (isStream) served.response.writeHead(200, STREAM).end('data: BEGIN\n\ndata: late\n\n')
    else sendJson(served.response, 200, { words: ['late'] })
    await served.chat
    t.equal(served.sink.text(), 'late')
    const silent = await begin(isStream)
    pass(299_000)
    t.notOk(silent.settled.isSettled)
    pass(1_001)
    t.match(await rejection(silent.chat), TIMEOUT)
  }
})

t.test('providers 10: every byte of the provider ends its silence: comments and blanks too', async t => {
  const { begin, pass } = await start(t, { timeouts: { idleSeconds: 30 } })
  for (const isStream of WAYS) {
    const begun = await begin(isStream)
    begun.response.writeHead(200, isStream ? STREAM : JSON_BODY)
    await send(begun, isStream ? 'data: BEGIN\n\n' : '{"words":')
    for (let times = 0; times < 4; times++) {
      pass(20_000)
      await send(begun, isStream ? 'data: .\n\n' : '\n')
      t.notOk(begun.settled.isSettled)
    }
    pass(30_001)
    if (isStream) {
      await begun.chat
      t.match(begun.sink.events().at(-1), { type: 'error', error: TIMEOUT })
    } else t.match(await rejection(begun.chat), TIMEOUT)
  }
})

t.test('providers 10: 0 seconds are no limit, neither for the first byte nor for silence', async t => {
  const { begin, pass } = await start(t, { timeouts: { firstByteSeconds: 0, idleSeconds: 0 } })
  for (const isStream of WAYS) {
    const begun = await begin(isStream)
    pass(86_400_000)
    begun.response.writeHead(200, isStream ? STREAM : JSON_BODY)
    await send(begun, isStream ? 'data: BEGIN\n\n' : '{"words":')
    pass(86_400_000)
    begun.response.end(isStream ? 'data: a\n\n' : '["a"]}')
    await begun.chat
    t.equal(begun.sink.text(), 'a')
  }
})

t.test('providers 10: a total ends a call while its provider still sends, with provider_timeout', async t => {
  const { begin, pass, stub } = await start(t, { retries: 3, timeouts: { totalSeconds: 60 } })
  for (const isStream of WAYS) {
    const begun = await begin(isStream)
    begun.response.writeHead(200, isStream ? STREAM : JSON_BODY)
    await send(begun, isStream ? 'data: BEGIN\n\n' : '{"words":')
    for (let times = 0; times < 5; times++) {
      pass(11_000)
      await send(begun, isStream ? 'data: .\n\n' : '\n')
    }
    t.notOk(begun.settled.isSettled)
    pass(5_001)
    if (isStream) {
      await begun.chat
      t.match(begun.sink.events().at(-1), { type: 'error', error: TIMEOUT })
    } else t.match(await rejection(begun.chat), TIMEOUT)
  }
  t.equal(stub.requests.length, WAYS.length, 'nothing is repeated')
})

t.test('a total ends a call without a head as well, and one whose time the attempts have used up', async t => {
  const { begin, pass } = await start(t, { timeouts: { totalSeconds: 60 } })
  const begun = await begin(false)
  pass(60_001)
  t.match(await rejection(begun.chat), TIMEOUT)
})
