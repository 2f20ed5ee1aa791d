// What every engine of the store of responses does (memory.md 2 to 6). Each engine's own test calls `testResponseStore`.
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import type {
  History,
  OwnedId,
  PagedItems,
  ResponseRecord,
  StoredEvent,
  StoredItem
} from '../../../shared/memory/store.ts'
import { type OpenStore, type StoreEngineOptions, StoreOpenError } from '../../../supervisor/store/engine.ts'
import * as fc from '../../support/properties.ts'
import { compareWithModel, type ModelOptions, steps } from '../../support/response-store-model.ts'
import {
  ALICE,
  ALICE_PASSING,
  BOB,
  bytesOf,
  makeConversation,
  makeId,
  makeItem,
  makeOutput,
  makeRecord,
  saveChain,
  textOf
} from '../../support/response-store-records.ts'

/** Opens the same database each time it is called; the store is closed with the test where the test has not closed it. */
export type OpenAgain = (changes?: Partial<StoreEngineOptions>) => Promise<OpenStore>
/** Makes an empty database. */
export type MakeDatabase = (t: Test) => Promise<OpenAgain>

const OWNERS = [ALICE, BOB, ALICE_PASSING, { name: 'alice', credential: 'b'.repeat(64) }, { name: '' }]

const DAY_MS = 24 * 60 * 60 * 1000
const START_MS = Date.UTC(2026, 0, 5)

const makeEvent = (sequenceNumber: number, text = `event ${sequenceNumber}`): StoredEvent => ({
  sequenceNumber,
  json: bytesOf({ type: 'response.output_text.delta', sequence_number: sequenceNumber, delta: text })
})

const readable = (items: readonly StoredItem[]) => items.map(({ id, json }) => ({ id, json: textOf(json) }))
const jsonOf = (items: readonly StoredItem[]) => items.map(({ json }) => textOf(json))
const contentOf = ({ input, output, body, ...record }: ResponseRecord) => ({
  ...JSON.parse(JSON.stringify(record)),
  input: readable(input),
  output: readable(output),
  body: textOf(body)
})
const turnsOf = (history: History) => (history.kind === 'found' ? history.turns.map(jsonOf) : history)
const pageOf = (page: PagedItems) =>
  page === undefined || page === 'unknown_cursor'
    ? page
    : { ids: page.items.map(({ id }) => id), hasMore: page.hasMore }
const turnOf = ({ input, output }: Pick<ResponseRecord, 'input' | 'output'>) => jsonOf([...input, ...output])

/** A clock that stands still between steps. */
function createStandingClock() {
  let nowMs = START_MS
  return {
    nowMs: () => nowMs,
    advance(ms: number) {
      nowMs += ms
    }
  }
}

async function purgeAll(store: OpenStore): Promise<void> {
  while (await store.purge());
}

/** Waits for removals that are made bit by bit. */
async function waitForTotals(store: OpenStore, isReached: (bytes: number) => boolean): Promise<void> {
  for (let round = 0; round < 500; round++) {
    if (isReached((await store.totals()).bytes)) return
    await store.purge()
  }
  throw new Error('the content was not removed')
}

/** All that is asked of a database, as tests of their own. */
export function testResponseStore(name: string, makeDatabase: MakeDatabase, options: ModelOptions = {}): void {
  const open = async (test: Test, changes: Partial<StoreEngineOptions> = {}) => (await makeDatabase(test))(changes)
  t.test(`${name}: responses`, test => testResponses(test, open))
  t.test(`${name}: chains`, test => testChains(test, open))
  t.test(`${name}: item references and inputs`, test => testItems(test, open))
  t.test(`${name}: running responses`, test => testRunning(test, open))
  t.test(`${name}: conversations`, test => testConversations(test, open))
  t.test(`${name}: owners`, test => testOwners(test, open))
  t.test(`${name}: bounds and retention`, test => testBounds(test, open))
  t.test(`${name}: threads and totals`, test => testThreads(test, open))
  t.test(`${name}: any chains, branches and deletions`, async test => {
    const store = await open(test)
    await fc.assert(
      fc.asyncProperty(steps, list => compareWithModel(store, list, options)),
      { numRuns: 500 }
    )
  })
  t.test(`${name}: spend of budgets`, test => testSpend(test, makeDatabase))
  t.test(`${name}: restarts and keys`, test => testRestarts(test, makeDatabase))
}

type Open = (t: Test, changes?: Partial<StoreEngineOptions>) => Promise<OpenStore>

async function testResponses(t: Test, open: Open): Promise<void> {
  t.test('a response is read as it was saved', async t => {
    const store = await open(t)
    const records = [
      makeRecord(),
      makeRecord({ input: [], output: [], body: bytesOf('{}') }),
      makeRecord({ status: 'failed', model: 'модель', threadId: 'thread-7' }),
      makeRecord({ status: 'incomplete', input: Array.from({ length: 50 }, (_, index) => makeItem(`part ${index}`)) }),
      makeRecord({
        status: 'cancelled',
        isBackground: true,
        output: [makeOutput('a'), makeOutput('b'), makeOutput('c')]
      })
    ]
    for (const record of records) t.equal(await store.saveResponse({ owner: ALICE, record }), 'saved')
    for (const record of records) {
      const found = await store.readResponse({ owner: ALICE, id: record.id })
      t.same(found && contentOf(found), contentOf(record))
    }
    t.equal(await store.readResponse({ owner: ALICE, id: makeId('resp') }), undefined)
  })

  t.test('content comes back byte for byte', async t => {
    const store = await open(t)
    const json = Buffer.from('{ "type":"message",\n"content" : "\\u00e9 é \u{1f600} \\ud800","n":1.0e+2 }')
    const record = makeRecord({ input: [{ id: 'i', json }], output: [{ id: 'o', json }], body: json })
    await store.saveResponse({ owner: ALICE, record })
    const found = await store.readResponse({ owner: ALICE, id: record.id })
    t.ok(found && Buffer.compare(found.body, json) === 0)
    t.same(
      [...(found?.input ?? []), ...(found?.output ?? [])].map(item => Buffer.compare(item.json, json)),
      [0, 0]
    )
  })

  t.test('the same response saved twice is stored once', async t => {
    const store = await open(t)
    const record = makeRecord()
    await store.saveResponse({ owner: ALICE, record })
    const totals = await store.totals()
    t.equal(await store.saveResponse({ owner: ALICE, record }), 'saved')
    t.equal(await store.saveResponse({ owner: ALICE, record, isUpdate: true }), 'saved')
    t.same(await store.totals(), totals)
    const { threads } = await store.listThreads({ limit: 10 })
    t.same(
      threads.map(({ id, turns }) => ({ id, turns })),
      [{ id: record.id, turns: 1 }]
    )
  })

  t.test('many responses saved at the same time are all there', async t => {
    const store = await open(t)
    const records = Array.from({ length: 100 }, () => makeRecord())
    await Promise.all(records.map(record => store.saveResponse({ owner: ALICE, record })))
    const found = await Promise.all(records.map(({ id }) => store.readResponse({ owner: ALICE, id })))
    t.same(
      found.map(record => record && contentOf(record)),
      records.map(contentOf)
    )
  })

  t.test('a deleted response is gone with its content', async t => {
    const store = await open(t)
    const record = makeRecord()
    await store.saveResponse({ owner: ALICE, record, events: [makeEvent(0)] })
    t.equal(await store.deleteResponse({ owner: ALICE, id: record.id }), true)
    const gone = { owner: ALICE, id: record.id }
    t.equal(await store.readResponse(gone), undefined)
    t.equal(await store.deleteResponse(gone), false)
    t.equal(await store.readEvents({ ...gone, after: -1 }), undefined)
    t.equal(await store.listInputItems({ ...gone, page: { limit: 10, order: 'asc' } }), undefined)
    t.match(await store.readHistory({ owner: ALICE, itemIds: [record.output[0]?.id ?? ''] }), {
      kind: 'not-found',
      what: 'item'
    })
    t.same(await store.totals(), { responses: 0, conversations: 0, bytes: 0 })
    t.same((await store.listThreads({ limit: 10 })).threads, [])
  })

  t.test('an update of a deleted response stores nothing', async t => {
    const store = await open(t)
    const running = makeRecord({ status: 'in_progress', isBackground: true, output: [] })
    await store.saveResponse({ owner: ALICE, record: running, leaseMs: 60_000 })
    await store.deleteResponse({ owner: ALICE, id: running.id })
    const ended = { ...running, status: 'completed' as const }
    t.equal(await store.saveResponse({ owner: ALICE, record: ended, isUpdate: true }), 'deleted')
    t.equal(await store.readResponse({ owner: ALICE, id: running.id }), undefined)
    t.same(await store.totals(), { responses: 0, conversations: 0, bytes: 0 })
  })
}

async function testChains(t: Test, open: Open): Promise<void> {
  t.test('the history is the whole chain, oldest turn first', async t => {
    const store = await open(t)
    const chain = await saveChain(store, { length: 20 })
    await saveChain(store, { length: 3 })
    const history = await store.readHistory({ owner: ALICE, previousResponseId: chain.at(-1)?.id, itemIds: [] })
    t.same(turnsOf(history), chain.map(turnOf))
    const early = await store.readHistory({ owner: ALICE, previousResponseId: chain[4]?.id, itemIds: [] })
    t.same(turnsOf(early), chain.slice(0, 5).map(turnOf))
    const none = await store.readHistory({ owner: ALICE, itemIds: [] })
    t.same(none, { kind: 'found', turns: [], items: [] })
  })

  t.test('any response is continued several times', async t => {
    const store = await open(t)
    const trunk = await saveChain(store, { length: 3 })
    const fork = trunk[1]
    const first = await saveChain(store, { length: 2, previousResponseId: fork?.id ?? '' })
    const second = await saveChain(store, { length: 2, previousResponseId: fork?.id ?? '' })
    for (const branch of [first, second]) {
      const history = await store.readHistory({ owner: ALICE, previousResponseId: branch.at(-1)?.id, itemIds: [] })
      t.same(turnsOf(history), [...trunk.slice(0, 2), ...branch].map(turnOf))
    }
    const history = await store.readHistory({ owner: ALICE, previousResponseId: trunk.at(-1)?.id, itemIds: [] })
    t.same(turnsOf(history), trunk.map(turnOf))
    const { threads } = await store.listThreads({ limit: 10 })
    t.same(
      threads.map(({ id, turns }) => ({ id, turns })),
      [{ id: trunk[0]?.id, turns: 7 }]
    )
  })

  t.test('a chain that lost a response is continued only before it', async t => {
    const store = await open(t)
    const chain = await saveChain(store, { length: 5 })
    const [, , lost] = chain
    await store.deleteResponse({ owner: ALICE, id: lost?.id ?? '' })
    for (const [index, { id }] of chain.entries()) {
      const history = await store.readHistory({ owner: ALICE, previousResponseId: id, itemIds: [] })
      if (index < 2) t.same(turnsOf(history), chain.slice(0, index + 1).map(turnOf))
      else t.same(history, { kind: 'not-found', what: 'response', id })
    }
    const last = chain.at(-1)
    const read = await store.readResponse({ owner: ALICE, id: last?.id ?? '' })
    t.equal(read?.previousResponseId, last?.previousResponseId, 'the others are still read')
  })

  t.test('a chain of which the newest responses were deleted is continued from what is left', async t => {
    const store = await open(t)
    const chain = await saveChain(store, { length: 3 })
    await store.deleteResponse({ owner: ALICE, id: chain[2]?.id ?? '' })
    const again = await saveChain(store, { length: 1, previousResponseId: chain[1]?.id ?? '' })
    const history = await store.readHistory({ owner: ALICE, previousResponseId: again[0]?.id, itemIds: [] })
    t.same(turnsOf(history), [...chain.slice(0, 2), ...again].map(turnOf))
  })

  t.test('a response that continues a deleted one is stored and read, and not continued', async t => {
    const store = await open(t)
    const record = makeRecord({ previousResponseId: makeId('resp') })
    t.equal(await store.saveResponse({ owner: ALICE, record }), 'saved')
    const found = await store.readResponse({ owner: ALICE, id: record.id })
    t.equal(found?.previousResponseId, record.previousResponseId)
    t.match(await store.readHistory({ owner: ALICE, previousResponseId: record.id, itemIds: [] }), {
      kind: 'not-found'
    })
  })

  t.test('a chain of a thread leads to the thread', async t => {
    const store = await open(t)
    const record = makeRecord({ threadId: 'thread-7' })
    await store.saveResponse({ owner: ALICE, record })
    const history = await store.readHistory({ owner: ALICE, previousResponseId: record.id, itemIds: [] })
    t.same(history, { kind: 'found', turns: [], threadId: 'thread-7', items: [] })
  })

  t.test('a response that has not ended is not continued', async t => {
    const store = await open(t)
    for (const status of ['queued', 'in_progress'] as const) {
      const record = makeRecord({ status, isBackground: true })
      await store.saveResponse({ owner: ALICE, record, leaseMs: 60_000 })
      const history = await store.readHistory({ owner: ALICE, previousResponseId: record.id, itemIds: [] })
      t.same(history, { kind: 'running', what: 'response', id: record.id })
    }
  })
}

async function testItems(t: Test, open: Open): Promise<void> {
  t.test('items are referenced by their ids, in the order of the question', async t => {
    const store = await open(t)
    const [first, second] = await saveChain(store, { length: 2 })
    const items = [second?.output[0], first?.input[0], first?.output[0]].filter(item => item !== undefined)
    const history = await store.readHistory({ owner: ALICE, itemIds: items.map(({ id }) => id) })
    t.same(history.kind === 'found' && readable(history.items), readable(items))
    const both = await store.readHistory({
      owner: ALICE,
      previousResponseId: first?.id,
      itemIds: [items[0]?.id ?? '', items[0]?.id ?? '']
    })
    t.equal(both.kind === 'found' && both.items.length, 2)
    const missing = await store.readHistory({ owner: ALICE, itemIds: [items[0]?.id ?? '', 'msg_unknown'] })
    t.same(missing, { kind: 'not-found', what: 'item', id: 'msg_unknown' })
  })

  t.test('of items with the same id the newest is found', async t => {
    const store = await open(t)
    for (const text of ['old', 'new']) {
      await store.saveResponse({ owner: ALICE, record: makeRecord({ output: [makeOutput(text, 'msg_0')] }) })
    }
    const history = await store.readHistory({ owner: ALICE, itemIds: ['msg_0'] })
    t.same(history.kind === 'found' && jsonOf(history.items), jsonOf([makeOutput('new', 'msg_0')]))
  })

  t.test('input items are listed in pages, in both orders', async t => {
    const store = await open(t)
    const input = Array.from({ length: 5 }, (_, index) => makeItem(`part ${index}`))
    const [a, b, c, d, e] = input.map(({ id }) => id)
    const record = makeRecord({ input })
    await store.saveResponse({ owner: ALICE, record })
    const list = async (page: { after?: string | undefined; limit: number; order: 'asc' | 'desc' }) =>
      pageOf(await store.listInputItems({ owner: ALICE, id: record.id, page }))
    t.same(await list({ limit: 2, order: 'asc' }), { ids: [a, b], hasMore: true })
    t.same(await list({ limit: 2, order: 'asc', after: b }), { ids: [c, d], hasMore: true })
    t.same(await list({ limit: 2, order: 'asc', after: d }), { ids: [e], hasMore: false })
    t.same(await list({ limit: 2, order: 'asc', after: e }), { ids: [], hasMore: false })
    t.same(await list({ limit: 3, order: 'desc' }), { ids: [e, d, c], hasMore: true })
    t.same(await list({ limit: 3, order: 'desc', after: c }), { ids: [b, a], hasMore: false })
    t.same(await list({ limit: 5, order: 'desc' }), { ids: [e, d, c, b, a], hasMore: false })
    t.equal(await list({ limit: 5, order: 'desc', after: 'msg_unknown' }), 'unknown_cursor')
    t.equal(await list({ limit: 5, order: 'asc', after: record.output[0]?.id }), 'unknown_cursor')
    const unknown = { owner: ALICE, id: makeId('resp'), page: { limit: 5, order: 'asc' } as const }
    t.equal(await store.listInputItems(unknown), undefined)
  })

  t.test('histories that are sent again are stored once', async t => {
    const store = await open(t)
    const history: StoredItem[] = []
    const growth: number[] = []
    let before = 0
    for (let turn = 0; turn < 200; turn++) {
      // Ids that the gateway gives are new in each request.
      history.push(makeItem(`question ${turn} ${'x'.repeat(500)}`))
      const answer = makeOutput(`answer ${turn} ${'y'.repeat(500)}`)
      const input = history.map(item => ({ ...item, id: makeId('msg') }))
      await store.saveResponse({ owner: ALICE, record: makeRecord({ input, output: [answer] }) })
      history.push(answer)
      const { bytes } = await store.totals()
      growth.push(bytes - before)
      before = bytes
    }
    const [early = 0, late = 0] = [growth[5], growth[199]]
    t.ok(late < early * 1.2, `the last turn adds ${late} bytes, the fifth ${early}`)
    t.ok(before < 200 * 2500, `200 turns have ${before} bytes`)
  })

  t.test('inputs that share items are deleted one by one', async t => {
    const store = await open(t)
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(text => makeItem(text)) as [
      StoredItem,
      StoredItem,
      StoredItem,
      StoredItem
    ]
    const inputs = [[a, b], [a, b, c], [a, b, d], [a], [a, b, c]]
    const records = inputs.map(input => makeRecord({ input, output: [] }))
    for (const record of records) await store.saveResponse({ owner: ALICE, record })
    for (const [index, record] of records.entries()) {
      await store.deleteResponse({ owner: ALICE, id: record.id })
      for (const left of records.slice(index + 1)) {
        const found = await store.readResponse({ owner: ALICE, id: left.id })
        t.same(found && jsonOf(found.input), jsonOf(left.input))
      }
    }
    t.same(await store.totals(), { responses: 0, conversations: 0, bytes: 0 })
  })
}

async function testRunning(t: Test, open: Open): Promise<void> {
  const background = (changes: Partial<ResponseRecord> = {}) =>
    makeRecord({ status: 'queued', isBackground: true, output: [], lastSequenceNumber: -1, ...changes })

  t.test('a background response runs, is followed and ends', async t => {
    const store = await open(t)
    const record = background()
    const id: OwnedId = { owner: ALICE, id: record.id }
    await store.saveResponse({ owner: ALICE, record, leaseMs: 60_000, events: [makeEvent(0)] })
    t.equal((await store.readEvents({ ...id, after: -1 }))?.status, 'queued')
    const append = { ...id, events: [makeEvent(1), makeEvent(2)], leaseMs: 60_000, status: 'in_progress' } as const
    t.same(await store.appendEvents(append), { isCancelled: false })
    const page = await store.readEvents({ ...id, after: -1 })
    t.equal(page?.status, 'in_progress')
    t.same(
      page?.events.map(({ sequenceNumber }) => sequenceNumber),
      [0, 1, 2]
    )
    const rest = await store.readEvents({ ...id, after: 1 })
    t.same(
      rest?.events.map(({ json }) => textOf(json)),
      [textOf(makeEvent(2).json)]
    )
    const ended = { ...record, status: 'completed' as const, output: [makeOutput('done')], lastSequenceNumber: 3 }
    await store.saveResponse({ owner: ALICE, record: ended, events: [makeEvent(3)], isUpdate: true })
    const last = await store.readEvents({ ...id, after: 2 })
    t.same([last?.status, last?.events.map(({ sequenceNumber }) => sequenceNumber)], ['completed', [3]])
    const found = await store.readResponse(id)
    t.same(found && contentOf(found), contentOf(ended))
    t.same(await store.readEvents({ owner: ALICE, id: makeId('resp'), after: -1 }), undefined)
  })

  t.test('events that are added twice are stored once', async t => {
    const store = await open(t)
    const record = background()
    const id: OwnedId = { owner: ALICE, id: record.id }
    await store.saveResponse({ owner: ALICE, record, leaseMs: 60_000 })
    await store.appendEvents({ ...id, events: [makeEvent(0), makeEvent(1)], leaseMs: 60_000 })
    const { bytes } = await store.totals()
    await store.appendEvents({ ...id, events: [makeEvent(0), makeEvent(1)], leaseMs: 60_000 })
    t.equal((await store.totals()).bytes, bytes)
    await store.appendEvents({ ...id, events: [makeEvent(1), makeEvent(2)], leaseMs: 60_000 })
    await store.appendEvents({ ...id, events: [], leaseMs: 60_000 })
    const page = await store.readEvents({ ...id, after: -1 })
    t.same(
      page?.events.map(({ sequenceNumber }) => sequenceNumber),
      [0, 1, 2]
    )
  })

  t.test('a runner sees the mark of its client, and that its response was deleted', async t => {
    const store = await open(t)
    const record = background()
    const id: OwnedId = { owner: ALICE, id: record.id }
    const append = { ...id, events: [], leaseMs: 60_000 }
    await store.saveResponse({ owner: ALICE, record, leaseMs: 60_000 })
    t.equal(await store.cancelResponse(id), 'marked')
    t.equal(await store.cancelResponse(id), 'marked')
    t.same(await store.appendEvents(append), { isCancelled: true })
    await store.saveResponse({ owner: ALICE, record: { ...record, status: 'cancelled' }, isUpdate: true })
    t.equal(await store.cancelResponse(id), 'ended')
    t.equal((await store.readResponse(id))?.status, 'cancelled')
    await store.deleteResponse(id)
    t.same(await store.appendEvents(append), { isCancelled: true })
    t.equal(await store.cancelResponse(id), undefined)
    const foreground = makeRecord()
    await store.saveResponse({ owner: ALICE, record: foreground })
    t.equal(await store.cancelResponse({ owner: ALICE, id: foreground.id }), 'not_background')
  })

  t.test('a response whose lease has run out is failed', async t => {
    const clock = createStandingClock()
    const store = await open(t, { nowMs: clock.nowMs })
    const record = background({ status: 'in_progress' })
    const id: OwnedId = { owner: ALICE, id: record.id }
    await store.saveResponse({ owner: ALICE, record, leaseMs: 10_000, events: [makeEvent(0)] })
    clock.advance(9_000)
    t.equal((await store.readResponse(id))?.status, 'in_progress')
    await store.appendEvents({ ...id, events: [makeEvent(1)], leaseMs: 10_000 })
    clock.advance(9_999)
    t.equal((await store.readEvents({ ...id, after: -1 }))?.status, 'in_progress')
    clock.advance(1)
    const found = await store.readResponse(id)
    t.equal(found?.status, 'failed')
    t.equal(found && textOf(found.body), textOf(record.body))
    const page = await store.readEvents({ ...id, after: -1 })
    t.same([page?.status, page?.events.length], ['failed', 2])
    t.equal(await store.cancelResponse(id), 'ended')
    t.equal((await store.readHistory({ owner: ALICE, previousResponseId: record.id, itemIds: [] })).kind, 'found')
  })
}

async function testConversations(t: Test, open: Open): Promise<void> {
  const list = async (
    store: OpenStore,
    id: string,
    page: Partial<{ after: string; limit: number; order: 'asc' | 'desc' }> = {}
  ) => pageOf(await store.listConversationItems({ owner: ALICE, id, page: { limit: 100, order: 'asc', ...page } }))

  t.test('a conversation is created, read, changed and deleted', async t => {
    const store = await open(t)
    const conversation = makeConversation()
    const id: OwnedId = { owner: ALICE, id: conversation.id }
    const items = [makeItem('first'), makeItem('second')]
    t.equal(await store.createConversation({ owner: ALICE, conversation, items }), 'saved')
    t.equal(await store.createConversation({ owner: ALICE, conversation, items }), 'saved', 'the same question twice')
    t.same(await list(store, conversation.id), { ids: items.map(({ id }) => id), hasMore: false })
    const found = await store.readConversation(id)
    t.same(found && { ...found, metadata: textOf(found.metadata) }, {
      ...conversation,
      metadata: textOf(conversation.metadata)
    })
    const metadata = bytesOf({ topic: 'changed' })
    const updated = await store.updateConversation({ ...id, metadata })
    t.equal(updated && textOf(updated.metadata), textOf(metadata))
    t.equal(updated?.createdAt, conversation.createdAt)
    t.equal(textOf((await store.readConversation(id))?.metadata ?? new Uint8Array()), textOf(metadata))
    t.equal(await store.deleteConversation(id), true)
    t.equal(await store.deleteConversation(id), false)
    t.equal(await store.readConversation(id), undefined)
    t.equal(await store.updateConversation({ ...id, metadata }), undefined)
    t.equal(await list(store, conversation.id), undefined)
    t.equal(await store.addConversationItems({ ...id, items }), 'conversation_not_found')
    t.equal(await store.acquireConversation({ ...id, holder: 'a', leaseMs: 1000 }), undefined)
    await waitForTotals(store, bytes => bytes === 0)
    t.same(await store.totals(), { responses: 0, conversations: 0, bytes: 0 })
  })

  t.test('items are added, found, listed in both orders and deleted', async t => {
    const store = await open(t)
    const conversation = makeConversation()
    const id: OwnedId = { owner: ALICE, id: conversation.id }
    const items = ['a', 'b', 'c', 'd', 'e'].map(text => makeItem(text))
    const [a, b, c, d, e] = items.map(item => item.id) as [string, string, string, string, string]
    await store.createConversation({ owner: ALICE, conversation, items: items.slice(0, 2) })
    const add = { ...id, items: items.slice(2) }
    t.equal(await store.addConversationItems(add), 'saved')
    t.equal(await store.addConversationItems(add), 'saved', 'the same question twice')
    t.same(await list(store, conversation.id, { limit: 3 }), { ids: [a, b, c], hasMore: true })
    t.same(await list(store, conversation.id, { limit: 3, after: c }), { ids: [d, e], hasMore: false })
    t.same(await list(store, conversation.id, { limit: 2, order: 'desc' }), { ids: [e, d], hasMore: true })
    t.same(await list(store, conversation.id, { limit: 5, order: 'desc', after: d }), {
      ids: [c, b, a],
      hasMore: false
    })
    t.equal(await list(store, conversation.id, { after: 'msg_unknown' }), 'unknown_cursor')
    const item = { ...id, itemId: c }
    t.same(
      jsonOf([await store.readConversationItem(item)].filter(found => found !== undefined)),
      jsonOf(items.slice(2, 3))
    )
    t.equal(await store.deleteConversationItem(item), true)
    t.equal(await store.deleteConversationItem(item), false)
    t.equal(await store.readConversationItem(item), undefined)
    t.same(await list(store, conversation.id), { ids: [a, b, d, e], hasMore: false })
    t.match(await store.readHistory({ owner: ALICE, itemIds: [c] }), { kind: 'not-found', what: 'item', id: c })
    t.equal((await store.readHistory({ owner: ALICE, itemIds: [d] })).kind, 'found')
    const turns = turnsOf(await store.readHistory({ owner: ALICE, conversationId: conversation.id, itemIds: [] }))
    t.same(turns, [jsonOf(items.slice(0, 2)), jsonOf(items.slice(3))])
  })

  t.test('the turns of responses are appended when they end', async t => {
    const store = await open(t)
    const conversation = makeConversation()
    const first = [makeItem('instructions')]
    await store.createConversation({ owner: ALICE, conversation, items: first })
    const records = ['completed', 'failed', 'incomplete', 'completed'].map(status =>
      // The same words twice are two items.
      makeRecord({ conversationId: conversation.id, status: status as 'completed', input: [makeItem('go on')] })
    )
    for (const record of records) {
      const running = { ...record, status: 'in_progress' as const, output: [] }
      await store.saveResponse({ owner: ALICE, record: running, leaseMs: 60_000 })
      t.equal(await store.saveResponse({ owner: ALICE, record, isUpdate: true }), 'saved')
      t.equal(await store.saveResponse({ owner: ALICE, record, isUpdate: true }), 'saved', 'the same question twice')
    }
    const appended = records.filter(({ status }) => status !== 'failed')
    const history = await store.readHistory({ owner: ALICE, conversationId: conversation.id, itemIds: [] })
    t.same(turnsOf(history), [jsonOf(first), ...appended.map(turnOf)])
    const ids = [...first, ...appended.flatMap(({ input, output }) => [...input, ...output])].map(({ id }) => id)
    t.same(await list(store, conversation.id), { ids, hasMore: false })
    for (const record of records) {
      const found = await store.readResponse({ owner: ALICE, id: record.id })
      t.same(found && contentOf(found), contentOf(record))
    }
    t.same(
      turnsOf(await store.readHistory({ owner: ALICE, previousResponseId: appended[1]?.id, itemIds: [] })),
      [jsonOf(first), ...appended.slice(0, 2).map(turnOf)],
      'a response is continued with what its conversation had when it ended'
    )
    await store.deleteResponse({ owner: ALICE, id: appended[0]?.id ?? '' })
    t.same(await list(store, conversation.id), { ids, hasMore: false }, 'the items of a deleted response stay')
    await store.deleteConversation({ owner: ALICE, id: conversation.id })
    t.equal(await store.readResponse({ owner: ALICE, id: appended[1]?.id ?? '' }), undefined)
    await waitForTotals(store, bytes => bytes === 0)
    t.same(await store.totals(), { responses: 0, conversations: 0, bytes: 0 })
  })

  t.test('the end of a response whose conversation was deleted stores nothing', async t => {
    const store = await open(t)
    const conversation = makeConversation()
    await store.createConversation({ owner: ALICE, conversation, items: [] })
    await store.deleteConversation({ owner: ALICE, id: conversation.id })
    const record = makeRecord({ conversationId: conversation.id })
    t.equal(await store.saveResponse({ owner: ALICE, record }), 'conversation_not_found')
    t.equal(await store.readResponse({ owner: ALICE, id: record.id }), undefined)
    t.match(await store.readHistory({ owner: ALICE, conversationId: conversation.id, itemIds: [] }), {
      kind: 'not-found',
      what: 'conversation'
    })
  })

  t.test('one holder adds a turn at a time', async t => {
    const clock = createStandingClock()
    const store = await open(t, { nowMs: clock.nowMs })
    const conversation = makeConversation()
    const id: OwnedId = { owner: ALICE, id: conversation.id }
    await store.createConversation({ owner: ALICE, conversation, items: [] })
    const acquire = (holder: string) => store.acquireConversation({ ...id, holder, leaseMs: 10_000 })
    t.equal(await acquire('a'), 'acquired')
    t.equal(await acquire('b'), 'busy')
    clock.advance(9_000)
    t.equal(await acquire('a'), 'acquired', 'the same holder extends its time')
    clock.advance(9_000)
    t.equal(await acquire('b'), 'busy')
    await store.releaseConversation({ ...id, holder: 'b' })
    t.equal(await acquire('b'), 'busy', 'another holder releases nothing')
    clock.advance(1_000)
    t.equal(await acquire('b'), 'acquired', 'the time of the first holder is over')
    await store.releaseConversation({ ...id, holder: 'a' })
    t.equal(await acquire('a'), 'busy')
    await store.releaseConversation({ ...id, holder: 'b' })
    t.equal(await acquire('a'), 'acquired')
    const outcomes = await Promise.all(['c', 'd', 'a', 'e'].map(acquire))
    t.same(outcomes, ['busy', 'busy', 'acquired', 'busy'])
  })
}

async function testOwners(t: Test, open: Open): Promise<void> {
  t.test('memory 8: an owner reaches nothing of another one', async t => {
    const store = await open(t)
    const record = makeRecord({ status: 'in_progress', isBackground: true })
    const conversation = makeConversation()
    const item = makeItem('of the conversation')
    await store.saveResponse({ owner: ALICE, record, leaseMs: 3_600_000, events: [makeEvent(0)] })
    await store.createConversation({ owner: ALICE, conversation, items: [item] })
    const page = { limit: 10, order: 'asc' } as const
    for (const owner of OWNERS.slice(1)) {
      const id = { owner, id: record.id }
      const conversationId = { owner, id: conversation.id }
      t.equal(await store.readResponse(id), undefined)
      t.equal(await store.deleteResponse(id), false)
      t.equal(await store.listInputItems({ ...id, page }), undefined)
      t.same(await store.appendEvents({ ...id, events: [makeEvent(1)], leaseMs: 1 }), { isCancelled: true })
      t.equal(await store.readEvents({ ...id, after: -1 }), undefined)
      t.equal(await store.cancelResponse(id), undefined)
      t.equal(await store.readConversation(conversationId), undefined)
      t.equal(await store.updateConversation({ ...conversationId, metadata: bytesOf('{}') }), undefined)
      t.equal(await store.deleteConversation(conversationId), false)
      t.equal(await store.addConversationItems({ ...conversationId, items: [makeItem('x')] }), 'conversation_not_found')
      t.equal(await store.listConversationItems({ ...conversationId, page }), undefined)
      t.equal(await store.readConversationItem({ ...conversationId, itemId: item.id }), undefined)
      t.equal(await store.deleteConversationItem({ ...conversationId, itemId: item.id }), false)
      t.equal(await store.acquireConversation({ ...conversationId, holder: 'x', leaseMs: 1000 }), undefined)
      await store.releaseConversation({ ...conversationId, holder: 'x' })
      const foreign = makeRecord({ conversationId: conversation.id })
      t.equal(await store.saveResponse({ owner, record: foreign }), 'conversation_not_found')
      t.equal(await store.saveResponse({ owner, record, isUpdate: true }), 'deleted')
      for (const question of [{ previousResponseId: record.id }, { conversationId: conversation.id }]) {
        t.equal((await store.readHistory({ owner, ...question, itemIds: [] })).kind, 'not-found')
      }
      for (const { id } of [...record.input, ...record.output, item]) {
        t.equal((await store.readHistory({ owner, itemIds: [id] })).kind, 'not-found')
      }
      const continuing = makeRecord({ previousResponseId: record.id })
      await store.saveResponse({ owner, record: continuing })
      const history = await store.readHistory({ owner, previousResponseId: continuing.id, itemIds: [] })
      t.equal(history.kind, 'not-found', 'a foreign response gives no history')
    }
    const found = await store.readResponse({ owner: ALICE, id: record.id })
    t.same(found && contentOf(found), contentOf(record), 'nothing was changed')
    t.equal((await store.readEvents({ owner: ALICE, id: record.id, after: -1 }))?.events.length, 1)
    t.same(pageOf(await store.listConversationItems({ owner: ALICE, id: conversation.id, page })), {
      ids: [item.id],
      hasMore: false
    })
  })

  t.test('the same words of two owners are stored apart', async t => {
    const store = await open(t)
    const records = OWNERS.map(owner => ({ owner, record: makeRecord({ input: [makeItem('the same')], output: [] }) }))
    for (const { owner, record } of records) await store.saveResponse({ owner, record })
    for (const { owner, record } of records) {
      const history = await store.readHistory({ owner, itemIds: [record.input[0]?.id ?? ''] })
      t.equal(history.kind, 'found')
      await store.deleteResponse({ owner, id: record.id })
    }
    t.same(await store.totals(), { responses: 0, conversations: 0, bytes: 0 })
  })
}

async function testBounds(t: Test, open: Open): Promise<void> {
  t.test('memory 11: what is too large is not stored', async t => {
    const store = await open(t, { maxBytes: 10_000 })
    const large = makeItem('x'.repeat(10_000))
    for (const changes of [{ input: [large] }, { output: [large] }, { body: bytesOf({ text: 'x'.repeat(10_000) }) }]) {
      const record = makeRecord(changes)
      t.equal(await store.saveResponse({ owner: ALICE, record }), 'too_large')
      t.equal(await store.readResponse({ owner: ALICE, id: record.id }), undefined)
    }
    const conversation = makeConversation()
    t.equal(await store.createConversation({ owner: ALICE, conversation, items: [large] }), 'too_large')
    t.equal(await store.createConversation({ owner: ALICE, conversation, items: [] }), 'saved')
    t.equal(await store.addConversationItems({ owner: ALICE, id: conversation.id, items: [large] }), 'too_large')
    const { responses, conversations } = await store.totals()
    t.same({ responses, conversations }, { responses: 0, conversations: 1 })
  })

  t.test('the threads of an owner that were not used for longest give way', async t => {
    const clock = createStandingClock()
    const store = await open(t, { nowMs: clock.nowMs, maxBytesPerOwner: 10_000 })
    const save = async (text: string, previousResponseId?: string, owner = ALICE) => {
      clock.advance(1000)
      const record = makeRecord({
        input: [makeItem(text + 'x'.repeat(2_000))],
        ...(previousResponseId !== undefined && { previousResponseId })
      })
      t.equal(await store.saveResponse({ owner, record }), 'saved')
      return record.id
    }
    const foreign = await save('foreign', undefined, BOB)
    const [first, second] = [await save('first'), await save('second')]
    const third = await save('third', first)
    const fourth = await save('fourth')
    const last = await save('last')
    await waitForTotals(store, bytes => bytes <= 10_000 + 2_500)
    const isThere = async (id: string, owner = ALICE) => (await store.readResponse({ owner, id })) !== undefined
    t.equal(await isThere(second), false, 'the oldest thread has given way')
    for (const id of [first, third, fourth, last]) t.equal(await isThere(id), true, 'used later')
    t.equal(await isThere(foreign, BOB), true, 'of another owner')
    const record = makeRecord({ input: [makeItem('y'.repeat(9_000))], previousResponseId: last })
    t.equal(await store.saveResponse({ owner: ALICE, record }), 'too_large', 'its own thread does not give way')
    for (const id of [first, third, fourth, last])
      t.equal(await isThere(id), true, 'nothing was stored, so nothing gives way')
  })

  t.test('memory 9: threads expire as a whole after their last use', async t => {
    const clock = createStandingClock()
    const store = await open(t, { nowMs: clock.nowMs, retentionDays: 2 })
    const [old] = await saveChain(store, { length: 3 })
    const [used] = await saveChain(store, { length: 2 })
    const conversation = makeConversation()
    await store.createConversation({ owner: ALICE, conversation, items: [makeItem('a')] })
    clock.advance(DAY_MS)
    await saveChain(store, { length: 1, previousResponseId: used?.id ?? '' })
    clock.advance(DAY_MS + 1)
    t.equal(await store.readResponse({ owner: ALICE, id: old?.id ?? '' }), undefined, 'before it is removed')
    t.match(await store.readHistory({ owner: ALICE, previousResponseId: old?.id, itemIds: [] }), { kind: 'not-found' })
    t.equal(await store.readConversation({ owner: ALICE, id: conversation.id }), undefined)
    const item = { owner: ALICE, itemIds: [old?.output[0]?.id ?? ''] }
    t.match(await store.readHistory(item), { kind: 'not-found' })
    await purgeAll(store)
    t.equal((await store.totals()).responses, 3)
    t.equal((await store.totals()).conversations, 0)
    t.ok(await store.readResponse({ owner: ALICE, id: used?.id ?? '' }))
    clock.advance(2 * DAY_MS)
    await purgeAll(store)
    t.same(await store.totals(), { responses: 0, conversations: 0, bytes: 0 })
    t.equal(await store.purge(), false)
  })
}

async function testThreads(t: Test, open: Open): Promise<void> {
  t.test('threads of all owners are listed in pages, the newest first', async t => {
    const clock = createStandingClock()
    const store = await open(t, { nowMs: clock.nowMs })
    const firsts: string[] = []
    for (const owner of [ALICE, BOB, ALICE, BOB, ALICE]) {
      clock.advance(1000)
      const [first] = await saveChain(store, { owner, length: 2 })
      firsts.unshift(first?.id ?? '')
    }
    const conversation = makeConversation()
    await store.createConversation({ owner: BOB, conversation, items: [makeItem('a')] })
    const pages: string[][] = []
    let before: string | undefined
    do {
      const { threads, cursor } = await store.listThreads({ limit: 4, before })
      pages.push(threads.map(({ id }) => id))
      before = cursor
    } while (before !== undefined)
    t.same(
      pages.map(({ length }) => length),
      [4, 2]
    )
    t.same(
      pages.flat().filter(id => id !== conversation.id),
      firsts
    )
    clock.advance(1000)
    const oldest = firsts.at(-1)
    const record = makeRecord({ previousResponseId: oldest ?? '', model: 'other' })
    await store.saveResponse({ owner: ALICE, record })
    const { threads } = await store.listThreads({ limit: 1 })
    const [newest] = threads
    t.match(newest, { id: oldest, kind: 'responses', owner: 'alice', turns: 3, model: 'other' })
    t.equal(newest?.createdAt, START_MS + 1000)
    t.equal(newest?.updatedAt, START_MS + 6000)
    t.ok((newest?.bytes ?? 0) > 300)
    t.equal((await store.listThreads({ limit: 10 })).threads.find(({ kind }) => kind === 'conversation')?.owner, 'bob')
  })

  t.test('a thread is read with its responses, oldest first', async t => {
    const store = await open(t)
    const chain = await saveChain(store, { length: 4 })
    const branch = await saveChain(store, { length: 1, previousResponseId: chain[0]?.id ?? '' })
    const read = await store.readThread({ id: chain[0]?.id ?? '', limit: 10 })
    t.same(read.map(contentOf), [...chain, ...branch].map(contentOf))
    t.equal((await store.readThread({ id: chain[0]?.id ?? '', limit: 2 })).length, 2)
    t.same(await store.readThread({ id: makeId('resp'), limit: 2 }), [])
  })

  t.test('totals count what is stored', async t => {
    const store = await open(t)
    t.same(await store.totals(), { responses: 0, conversations: 0, bytes: 0 })
    const record = makeRecord()
    await store.saveResponse({ owner: ALICE, record })
    await store.createConversation({ owner: BOB, conversation: makeConversation(), items: [] })
    const { responses, conversations, bytes } = await store.totals()
    t.same({ responses, conversations }, { responses: 1, conversations: 1 })
    const content = [...record.input, ...record.output].reduce((sum, { json }) => sum + json.length, record.body.length)
    t.ok(bytes >= content && bytes < content + 500, `${bytes} of ${content}`)
  })
}

async function testSpend(t: Test, makeDatabase: MakeDatabase): Promise<void> {
  const spend = (counter: string, addNanos: number, period = '2026-01-05') => ({ counter, period, addNanos })

  t.test('keys 10: spend is added once for each exchange, and is there after a restart', async t => {
    const openAgain = await makeDatabase(t)
    const first = await openAgain()
    const exchange = {
      gatewayId: 'one',
      exchangeId: '1',
      spends: [spend('key:b:budget', 5), spend('key:a:budget', 7), spend('key:a:budget', 2, 'total')]
    }
    t.same(await first.addSpend(exchange), [5, 7, 2])
    t.same(await first.addSpend(exchange), [5, 7, 2], 'a repeated exchange adds nothing')
    t.same(await first.addSpend({ ...exchange, gatewayId: 'two' }), [10, 14, 4])
    const asked = [spend('key:a:budget', 0), spend('key:a:budget', 0, '2026-01-06')]
    t.same(await first.addSpend({ gatewayId: 'two', exchangeId: '2', spends: asked }), [14, 0])
    t.same(await first.addSpend({ gatewayId: 'two', exchangeId: '2', spends: [] }), [])
    await first.close()
    const second = await openAgain()
    t.same(await second.addSpend({ ...exchange, spends: [spend('key:b:budget', 5)] }), [10], 'nor after a restart')
    const large = [spend('key:c:budget', Number.MAX_SAFE_INTEGER)]
    await second.addSpend({ gatewayId: 'one', exchangeId: '2', spends: large })
    t.same(await second.addSpend({ gatewayId: 'one', exchangeId: '3', spends: large }), [Number.MAX_SAFE_INTEGER])
  })

  t.test('keys 12: several hosts add to one budget at the same time', async t => {
    const store = await (await makeDatabase(t))()
    const names = ['key:a:budget', 'key:b:budget', 'group:g:budget']
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        store.addSpend({
          gatewayId: `host ${index % 3}`,
          exchangeId: String(index),
          // In another order each time.
          spends: [...names.slice(index % 3), ...names.slice(0, index % 3)].map(name => spend(name, index))
        })
      )
    )
    const sum = (39 * 40) / 2
    const asked = names.map(name => spend(name, 0))
    t.same(await store.addSpend({ gatewayId: 'x', exchangeId: 'x', spends: asked }), [sum, sum, sum])
  })

  t.test('keys 10: periods are removed after 13 months, a budget without a period never', async t => {
    const { nowMs, advance } = createStandingClock()
    const store = await (await makeDatabase(t))({ nowMs })
    const spends = [spend('key:a:budget', 3), spend('key:a:budget', 4, 'total')]
    await store.addSpend({ gatewayId: 'one', exchangeId: '1', spends })
    const asked = spends.map(one => ({ ...one, addNanos: 0 }))
    const ask = () => store.addSpend({ gatewayId: 'one', exchangeId: 'ask', spends: asked })
    advance(396 * DAY_MS)
    await purgeAll(store)
    t.same(await ask(), [3, 4])
    advance(DAY_MS)
    await purgeAll(store)
    t.same(await ask(), [0, 4])
  })
}

async function testRestarts(t: Test, makeDatabase: MakeDatabase): Promise<void> {
  t.test('what was acknowledged is there after a restart', async t => {
    const openAgain = await makeDatabase(t)
    const first = await openAgain()
    const chain = await saveChain(first, { length: 3 })
    await first.close()
    const second = await openAgain()
    const history = await second.readHistory({ owner: ALICE, previousResponseId: chain.at(-1)?.id, itemIds: [] })
    t.same(turnsOf(history), chain.map(turnOf))
    const more = await saveChain(second, { length: 1, previousResponseId: chain.at(-1)?.id ?? '' })
    t.same(
      turnsOf(await second.readHistory({ owner: ALICE, previousResponseId: more[0]?.id, itemIds: [] })),
      [...chain, ...more].map(turnOf)
    )
  })

  t.test('memory 10: content of the previous key is read, and no other key is taken', async t => {
    const openAgain = await makeDatabase(t)
    const [old, current] = [randomBytes(32), randomBytes(32)]
    const first = await openAgain({ key: old })
    const chain = await saveChain(first, { length: 3 })
    await first.close()
    for (const keys of [{}, { key: current }, { key: current, previousKey: randomBytes(32) }]) {
      const failure = await openAgain(keys).then(
        () => 'none',
        (error: unknown) => error instanceof StoreOpenError && error.failure
      )
      t.equal(failure, 'key_wrong')
    }
    const second = await openAgain({ key: current, previousKey: old })
    const more = await saveChain(second, { length: 2, previousResponseId: chain.at(-1)?.id ?? '' })
    const question = { owner: ALICE, previousResponseId: more.at(-1)?.id, itemIds: [] }
    t.same(turnsOf(await second.readHistory(question)), [...chain, ...more].map(turnOf))
    await second.close()
    const third = await openAgain({ key: undefined, previousKey: current })
    const [last] = await saveChain(third, { length: 1 })
    t.ok(last && (await third.readResponse({ owner: ALICE, id: last.id })))
  })
}
