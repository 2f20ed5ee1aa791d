// Responses that run in the background, with a store in memory and without a provider: what a worker owes to their clients.

import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { GatewayError, type NormalizedEvent } from '../../../worker/normalized/index.ts'
import type { ClosedFacts } from '../../../worker/observation/observer.ts'
import { responsesFace } from '../../../worker/protocols/responses/client/face.ts'
import { createBackgroundRuns } from '../../../worker/routes/background-runs.ts'
import type { ClientSink } from '../../../worker/routes/response-sink.ts'
import { messagesRoute, startApplication } from '../http/support.ts'
import { FakeStore } from '../memory/fake-store.ts'
import { responseContext } from '../protocols/responses/client/support.ts'

const ID = 'resp_1'
const OWNER = { name: '' }
const START: NormalizedEvent = { type: 'start', providerModel: null, metadata: {} }
const TEXT: NormalizedEvent = { type: 'text-start' }
const FINISH: NormalizedEvent = { type: 'finish', reason: 'stop', providerReason: null, metadata: {} }

function delta(text: string): NormalizedEvent {
  return { type: 'text-delta', text }
}

/** A worker whose only operation runs `provide` in the background. */
async function start(t: Test, provide: (sink: ClientSink, signal: AbortSignal) => Promise<void>, heldBytes = 10) {
  const store = new FakeStore()
  const ends: ClosedFacts[] = []
  const runs = createBackgroundRuns({ store: store as never, log: pino({ level: 'silent' }) })
  let closed = 0
  const worker = await startApplication(t, {
    observers: [{ name: 'test', closed: (_request, facts) => void ends.push(facts) }],
    routes: messagesRoute((request, reply) => {
      const { signal } = request.context
      return runs.start({
        reply,
        face: responsesFace,
        responseContext: responseContext(),
        turn: {
          owner: OWNER,
          id: ID,
          isStream: request.headers['x-stream'] !== undefined,
          heldBytes,
          noteEvents: () => undefined,
          createRecord: ({ status, json, lastSequenceNumber }) =>
            ({ id: ID, status, body: json, lastSequenceNumber }) as never
        },
        async chat(createSink) {
          const sink = createSink()
          await provide(sink, signal)
          await sink.finish()
        },
        close: async () => {
          closed += 1
        }
      })
    })
  })
  const ask = (headers: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(`${worker.url}/v1/messages`, { method: 'POST', headers, body: '{}', ...(signal && { signal }) })
  const end = async () => {
    await worker.drainGate.whenIdle()
    return ends.at(-1)
  }
  const body = () => JSON.parse(Buffer.from(store.records.get(ID)?.body ?? '{}').toString())
  return { ...worker, store, ask, end, body, countClosed: () => closed }
}

/** Waits until the store has an event of this type. */
async function whenStored(store: FakeStore, type: string): Promise<void> {
  while (!store.parsed().some(event => event.type === type)) await sleep(5)
}

t.test('a response is queued at once and runs to its end (memory.md 4)', async t => {
  const gate = Promise.withResolvers<void>()
  const { ask, store, end, body, countClosed, drainGate } = await start(t, async sink => {
    sink.push([START, TEXT, delta('Hel')])
    await gate.promise
    sink.push([delta('lo'), FINISH])
  })
  const answer = await ask()
  t.match(await answer.json(), { object: 'response', status: 'queued', output: [] })
  await whenStored(store, 'response.output_text.delta')
  t.equal(store.records.get(ID)?.status, 'in_progress')
  t.equal(drainGate.activeRequests, 1, 'a drain waits for it')
  await sleep(50)
  gate.resolve()
  t.match(await end(), { status: 200, lifecycle: 'request_completed' })
  t.ok(((await end())?.durationMs ?? 0) >= 50, 'its record has the duration of the work')
  t.match(body(), { status: 'completed', output: [{ content: [{ text: 'Hello' }] }] })
  t.match(store.parsed().at(-1), { type: 'response.completed', response: body() })
  t.equal(countClosed(), 1)
})

t.test('a stream has the events as they are stored, and its client may leave', async t => {
  const gate = Promise.withResolvers<void>()
  const { ask, store, end, body } = await start(t, async sink => {
    sink.push([START, TEXT, delta('Hel')])
    await gate.promise
    sink.push([delta('lo'), FINISH])
  })
  const leave = new AbortController()
  const answer = await ask({ 'x-stream': '1' }, leave.signal)
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('output_text.delta')) text += (await reader?.read())?.value ?? ''
  t.match(
    text,
    /^event: response\.created\ndata: .*\n\nevent: response\.queued\ndata: .*\n\nevent: response\.in_progress\n/
  )
  leave.abort()
  await sleep(20)
  gate.resolve()
  t.match(await end(), { status: 200, lifecycle: 'streaming_completed' })
  t.match(body(), { status: 'completed' })
  const [, , , added] = store.parsed()
  t.match(added, { type: 'response.output_item.added', sequence_number: 3 })
})

t.test('the stream of a client that stays ends with the stored end', async t => {
  const { ask, store } = await start(t, async sink => void sink.push([START, TEXT, delta('Hello'), FINISH]))
  const text = await (await ask({ 'x-stream': '1' })).text()
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(match => Number(match[1]))
  t.same(
    numbers,
    store.events.map(({ sequenceNumber }) => sequenceNumber)
  )
  t.match(text, /event: response\.completed\n/)
})

t.test('a cancelled response ends its provider call and keeps what was generated', async t => {
  const { ask, store, end, body } = await start(t, async (sink, signal) => {
    sink.push([START, TEXT, delta('Hel')])
    await new Promise(resolve => signal.addEventListener('abort', resolve))
  })
  await ask()
  await whenStored(store, 'response.output_text.delta')
  t.equal(await store.cancelResponse({ owner: OWNER, id: ID }), 'marked')
  t.match(await end(), { status: 499, lifecycle: 'request_aborted', errorType: 'request_cancelled' })
  t.match(body(), { status: 'cancelled', error: null, output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }] })
})

t.test('a failure before and after the first event is a failed response', async t => {
  for (const isBegun of [false, true]) {
    const { ask, end, body } = await start(t, async sink => {
      if (isBegun) sink.push([START, TEXT, delta('Hel')])
      throw new GatewayError('rate_limited')
    })
    t.equal((await ask()).status, 200)
    t.match(await end(), { status: 200, lifecycle: 'request_error', errorType: 'http_429' })
    t.match(body(), { status: 'failed', error: { code: 'rate_limit_exceeded' } })
    t.equal(body().output.length, isBegun ? 1 : 0)
  }
})

t.test('a drain waits for a response, and at its deadline stores it as failed', async t => {
  const { ask, store, end, body, drainGate } = await start(t, async (sink, signal) => {
    sink.push([START, TEXT, delta('Hel')])
    await new Promise(resolve => signal.addEventListener('abort', resolve))
  })
  const stream = await ask({ 'x-stream': '1' })
  await whenStored(store, 'response.output_text.delta')
  drainGate.startDraining()
  await sleep(20)
  t.equal(drainGate.activeRequests, 1)
  drainGate.cancelActive()
  t.match(await stream.text(), /event: response\.failed\n/, 'its stream has the end')
  t.match(await end(), { status: 499 })
  t.match(body(), { status: 'failed', error: { code: 'server_error' }, output: [{ content: [{ text: 'Hel' }] }] })
  t.equal(body().error.message, 'The gateway was stopped before the response had ended.')
})

t.test('a worker runs a bounded number of responses, of a bounded size', async t => {
  const gate = Promise.withResolvers<void>()
  const many = await start(t, () => gate.promise)
  const answers = await Promise.all(Array.from({ length: 256 }, () => many.ask()))
  t.ok(answers.every(({ status }) => status === 200))
  const refused = await many.ask()
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '1')
  const large = await start(t, () => gate.promise, 200 * 1024 * 1024)
  t.equal((await large.ask()).status, 200)
  t.equal((await large.ask()).status, 503)
  gate.resolve()
  await many.drainGate.whenIdle()
  t.equal((await many.ask()).status, 200)
})

t.test('what cannot be stored does not run', async t => {
  let calls = 0
  const { ask, store, drainGate } = await start(t, async () => {
    calls += 1
  })
  store.results = ['too_large']
  t.equal((await ask()).status, 413)
  store.isDown = true
  t.equal((await ask()).status, 503)
  t.equal(calls, 0)
  t.equal(drainGate.activeRequests, 0)
})
