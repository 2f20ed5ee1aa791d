import t, { type Test } from 'tap'
import type { StoredEvent } from '../../../shared/memory/store.ts'
import { EventJournal, JOURNAL_TIMES } from '../../../worker/memory/event-journal.ts'
import { stepTimers } from '../../support/stepped-timers.ts'
import { FakeStore } from './fake-store.ts'

const ID = 'resp_1'
const RECORD = { id: ID, status: 'queued' } as never

function event(sequenceNumber: number, text = '{}'): StoredEvent {
  return { sequenceNumber, json: Buffer.from(text) }
}

function start(t: Test) {
  const pass = stepTimers(t)
  const store = new FakeStore()
  store.records.set(ID, RECORD)
  let cancelled = 0
  let failed = 0
  const journal = new EventJournal({
    store,
    owner: { name: 'key' },
    id: ID,
    times: JOURNAL_TIMES,
    onCancelled: () => {
      cancelled += 1
    },
    onFailed: () => {
      failed += 1
    }
  })
  /** Lets the time pass, and the store answer. */
  async function step(ms: number): Promise<void> {
    pass(ms)
    await new Promise(setImmediate)
  }
  return { store, journal, step, counts: () => ({ cancelled, failed }) }
}

t.test('what came within a tenth of a second is stored in one step', async t => {
  const { store, journal, step } = start(t)
  journal.add([event(0), event(1)])
  journal.add([event(2)])
  t.equal(store.appended.length, 0)
  await step(100)
  t.equal(store.appended.length, 1)
  t.match(store.appended[0], { owner: { name: 'key' }, id: ID, leaseMs: 15_000, events: [{}, {}, {}] })
  await step(100)
  t.equal(store.appended.length, 1, 'nothing new')
  journal.begin()
  await step(100)
  t.match(store.appended[1], { events: [], status: 'in_progress' })
  journal.add([event(3)])
  t.same(await journal.close(), [event(3)], 'the last ones belong to the end')
  await step(10_000)
  t.equal(store.appended.length, 2)
})

t.test('the lease is extended while nothing is generated', async t => {
  const { store, journal, step } = start(t)
  for (let n = 0; n < 30; n++) await step(100)
  t.equal(store.appended.length, 3)
  t.notHas(store.appended[0], { status: 'in_progress' })
  await journal.close()
})

t.test('a wish to cancel is seen once', async t => {
  const { store, journal, step, counts } = start(t)
  store.isCancelled = true
  for (let n = 0; n < 30; n++) await step(100)
  t.equal(counts().cancelled, 1)
  await journal.close()
})

t.test('a store that is away gets the events when it is back, each once', async t => {
  const { store, journal, step, counts } = start(t)
  store.isDown = true
  journal.add([event(0)])
  journal.begin()
  await step(100)
  journal.add([event(1)])
  for (let n = 0; n < 5; n++) await step(100)
  t.equal(counts().failed, 1, 'it is asked again after a second')
  await step(500)
  t.equal(counts().failed, 2)
  store.isDown = false
  await step(1000)
  t.same(
    store.events.map(({ sequenceNumber }) => sequenceNumber),
    [0, 1]
  )
  t.equal(store.appended.at(-1)?.status, 'in_progress')
  await journal.close()
})

t.test('a provider waits for a store that is away, once much is held for it', async t => {
  const { store, journal, step } = start(t)
  store.isDown = true
  journal.add([event(0, 'x'.repeat(1024 * 1024))])
  t.notOk(journal.hasRoom)
  let hasWaited = false
  const waited = journal.whenStored().then(() => {
    hasWaited = true
  })
  t.notOk(hasWaited)
  await step(100)
  await waited
  t.notOk(journal.hasRoom)
  store.isDown = false
  await step(1000)
  t.ok(journal.hasRoom)
  await journal.close()
  await journal.whenStored()
})
