import t, { type Test } from 'tap'
import type { ResponseRecord } from '../../../shared/memory/store.ts'
import { BackgroundResponse, type BackgroundTurn } from '../../../worker/memory/background-response.ts'
import type { JsonObject } from '../../../worker/normalized/index.ts'
import { FakeStore } from './fake-store.ts'

const ID = 'resp_1'
const OPENED = { id: ID, object: 'response', status: 'queued', output: [], usage: null }

const turn: BackgroundTurn = {
  owner: { name: 'key' },
  id: ID,
  isStream: false,
  heldBytes: 0,
  noteEvents: () => undefined,
  createRecord: ({ status, json, lastSequenceNumber }) =>
    ({ id: ID, status, body: json, lastSequenceNumber, isBackground: true, conversationId: 'conv_1' }) as never
}

async function open(t: Test, store = new FakeStore()) {
  let cancelled = 0
  const response = await BackgroundResponse.open({
    store,
    turn,
    response: OPENED,
    times: { intervalMs: 1, heartbeatMs: 5, leaseMs: 1000 },
    onCancelled: () => {
      cancelled += 1
    },
    onFailed: () => undefined
  })
  t.teardown(() => response.end({ isHurried: () => true }))
  return { store, response, countCancelled: () => cancelled }
}

function frame(type: string, members: JsonObject = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...members })}\n\n`
}

const ADDED = frame('response.output_item.added', {
  output_index: 0,
  item: { id: 'msg_1', type: 'message', status: 'in_progress', content: [] }
})
const PART = frame('response.content_part.added', {
  output_index: 0,
  content_index: 0,
  part: { type: 'output_text', text: '' }
})
const DELTA = frame('response.output_text.delta', { output_index: 0, content_index: 0, delta: 'Hel' })
const GENERATED = [
  { id: 'msg_1', type: 'message', status: 'incomplete', content: [{ type: 'output_text', text: 'Hel' }] }
]

function bodyOf(record: ResponseRecord | undefined): JsonObject {
  return JSON.parse(Buffer.from(record?.body ?? '{}').toString())
}

t.test('a response is queued, runs and ends, and its stream says the same (memory.md 4)', async t => {
  const { store, response } = await open(t)
  t.match(store.saved[0], { record: { status: 'queued' }, leaseMs: 1000, owner: { name: 'key' } })
  t.match(store.parsed(), [
    { type: 'response.created', sequence_number: 0, response: { status: 'queued' } },
    { type: 'response.queued', sequence_number: 1 }
  ])
  response.begin()
  response.begin()
  await response.whenStored()
  t.equal(store.records.get(ID)?.status, 'in_progress')
  response.add(ADDED + PART + DELTA)
  await response.whenStored()
  t.equal(store.events.length, 6)
  const completed = { ...OPENED, status: 'completed', output: [{ id: 'msg_1' }] }
  response.add(frame('response.completed', { response: completed }))
  t.equal(store.events.length, 6, 'no reader has the last event before the record')
  t.ok(await response.end())
  t.same(
    store.parsed().map(({ type, sequence_number }) => [sequence_number, type]),
    [
      [0, 'response.created'],
      [1, 'response.queued'],
      [2, 'response.in_progress'],
      [3, 'response.output_item.added'],
      [4, 'response.content_part.added'],
      [5, 'response.output_text.delta'],
      [6, 'response.completed']
    ]
  )
  t.match(store.saved.at(-1), { isUpdate: true, record: { status: 'completed', lastSequenceNumber: 6 } })
  t.same(bodyOf(store.records.get(ID)), completed)
  await response.whenStored()
})

t.test('a cancelled response keeps what was generated', async t => {
  const { store, response, countCancelled } = await open(t)
  response.begin()
  response.add(ADDED + PART + DELTA)
  await store.cancelResponse({ owner: { name: 'key' }, id: ID })
  while (countCancelled() === 0) await response.whenStored()
  response.add(frame('response.incomplete', { response: { ...OPENED, status: 'incomplete', usage: { n: 1 } } }))
  t.ok(await response.end({ isCancelled: true }))
  const expected = {
    ...OPENED,
    status: 'cancelled',
    error: null,
    incomplete_details: null,
    output: GENERATED,
    usage: { n: 1 }
  }
  t.same(bodyOf(store.records.get(ID)), expected)
  t.same(store.parsed().at(-1), { type: 'response.incomplete', sequence_number: 6, response: expected })
})

t.test('a failed response keeps what was generated', async t => {
  const { store, response } = await open(t)
  response.add(ADDED + PART + DELTA)
  const error = { code: 'rate_limit_exceeded', message: 'Slow down.' }
  response.add(frame('response.failed', { response: { ...OPENED, status: 'failed', error } }))
  t.ok(await response.end())
  t.same(bodyOf(store.records.get(ID)), { ...OPENED, status: 'failed', error, output: GENERATED })
  t.match(store.parsed().at(-1), { type: 'response.failed', sequence_number: 5, response: { output: GENERATED } })
})

t.test('a stream without an end is a failure', async t => {
  const { store, response } = await open(t)
  response.add(ADDED)
  t.ok(await response.end())
  t.match(bodyOf(store.records.get(ID)), { status: 'failed', error: { code: 'server_error' } })
  t.match(store.parsed().at(-1), { type: 'response.failed', sequence_number: 3 })
})

t.test('an end that the store does not take is a failure that it takes', async t => {
  for (const [result, message, conversation] of [
    ['too_large', /too large/, 'conv_1'],
    ['conversation_not_found', /conversation/, undefined]
  ] as const) {
    const { store, response } = await open(t)
    response.add(frame('response.completed', { response: { ...OPENED, status: 'completed', output: [{ id: 'm' }] } }))
    store.results = [result]
    t.ok(await response.end(), result)
    const record = store.records.get(ID)
    t.match(bodyOf(record), { status: 'failed', error: { code: 'server_error', message } })
    t.equal(record?.conversationId, conversation)
    t.equal((bodyOf(record).output as unknown[]).length, result === 'too_large' ? 0 : 1)
    t.match(store.parsed().at(-1), { type: 'response.failed', sequence_number: 2 })
  }
})

t.test('a response that was deleted while it ran stays deleted', async t => {
  const { store, response, countCancelled } = await open(t)
  store.records.delete(ID)
  while (countCancelled() === 0) await response.whenStored()
  t.ok(await response.end({ isCancelled: true }))
  t.equal(store.records.size, 0)
})

t.test('an end waits for a store that comes back, and not for one at the exit of the gateway', async t => {
  const { store, response } = await open(t)
  store.isDown = true
  const ended = response.end()
  setTimeout(() => {
    store.isDown = false
  }, 50)
  t.ok(await ended)
  t.equal(store.records.get(ID)?.status, 'failed')
  const hurried = await open(t)
  hurried.store.isDown = true
  t.notOk(await hurried.response.end({ isHurried: () => true }))
})

t.test('what cannot be stored cannot run in the background', async t => {
  for (const [result, code] of [
    ['too_large', 'request_entity_too_large'],
    ['conversation_not_found', 'object_not_found']
  ] as const) {
    const store = new FakeStore()
    store.results = [result]
    await t.rejects(open(t, store), { code })
  }
  const store = new FakeStore()
  store.isDown = true
  await t.rejects(open(t, store), { name: 'StoreUnavailable' })
})
