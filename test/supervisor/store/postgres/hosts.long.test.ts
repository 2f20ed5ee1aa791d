// Several hosts on one database (memory.md 6): each engine here stands for the store process of one of them.
import t from 'tap'
import { startTcpSwitch } from '../../../../ops/bench/tcp-switch.ts'
import type { StoredItem } from '../../../../shared/memory/store.ts'
import { StoreOpenError } from '../../../../supervisor/store/engine.ts'
import { startPostgres } from '../../../support/postgres.ts'
import { createPostgresStores, type StoreDatabase } from '../../../support/postgres-stores.ts'
import {
  ALICE,
  BOB,
  makeConversation,
  makeId,
  makeItem,
  makeOutput,
  makeRecord,
  saveChain,
  textOf
} from '../../../support/response-store-records.ts'

const server = await startPostgres(t)
const { createDatabase } = await createPostgresStores(t, server)
const EMPTY = { responses: 0, conversations: 0, bytes: 0 }

const failureOf = (opening: Promise<unknown>) =>
  opening.then(
    () => 'none',
    (error: unknown) => (error instanceof StoreOpenError ? error.failure : String(error))
  )

async function countRows(database: StoreDatabase, table: string): Promise<number> {
  const [row] = await database.query(`SELECT count(*)::integer AS count FROM ${table}`)
  return Number(row?.count)
}

/** All that an owner's content stands in. */
const CONTENT_TABLES = [
  'gateway_responses',
  'gateway_responses_items',
  'gateway_responses_events',
  'gateway_responses_threads',
  'gateway_responses_conversation_items'
]

t.test('tables are made only where that is allowed, once however many hosts start', async t => {
  const database = await createDatabase()
  t.equal(await failureOf(database.open({ autoMigrate: false })), 'schema_missing')
  const stores = await Promise.all([1, 2, 3].map(() => database.open()))
  const [first] = await saveChain(stores[0] ?? (await database.open()), { length: 1 })
  for (const store of stores)
    t.ok(await store.readResponse({ owner: ALICE, id: first?.id ?? '' }), 'one secret for all')
  t.equal(await failureOf(database.open({ autoMigrate: false })), 'none')
  await database.query('UPDATE gateway_responses_schema_version SET version = 1000')
  t.equal(await failureOf(database.open()), 'schema_newer')
})

t.test('a refused user and a server that is away are told apart', async t => {
  const { dsn, open } = await createDatabase()
  t.equal(await failureOf(open({ dsn: dsn.replace(/:[^:@]+@/, ':wrong@') })), 'access_denied')
  t.equal(await failureOf(open({ dsn: dsn.replace(/[^/]+$/, 'no_such_database') })), 'access_denied')
  t.equal(await failureOf(open({ dsn: dsn.replace(/:\d+\//, ':1/') })), 'unreachable')
})

t.test('ids that Postgres cannot store are ids of nothing', async t => {
  const store = await (await createDatabase()).open()
  for (const id of ['a\u0000b', '\ud800', 'x'.repeat(10_000)]) {
    t.equal(await store.readResponse({ owner: ALICE, id }), undefined)
    t.equal(await store.readConversation({ owner: ALICE, id }), undefined)
    t.equal(await store.deleteResponse({ owner: ALICE, id }), false)
    t.match(await store.readHistory({ owner: ALICE, previousResponseId: id, itemIds: [] }), { kind: 'not-found' })
    t.match(await store.readHistory({ owner: ALICE, itemIds: [id] }), { kind: 'not-found', what: 'item' })
    const item = makeItem('with such an id', id)
    const record = makeRecord({ input: [item], model: `m${id}`, threadId: id, previousResponseId: id })
    t.equal(await store.saveResponse({ owner: ALICE, record }), 'saved')
    const found = await store.readResponse({ owner: ALICE, id: record.id })
    t.equal(found && textOf(found.input[0]?.json ?? new Uint8Array()), textOf(item.json))
  }
})

t.test('branches of one chain that two hosts save at the same time are all there', async t => {
  const database = await createDatabase()
  const [one, two] = [await database.open(), await database.open()]
  const [root] = await saveChain(one, { length: 1 })
  const branches = Array.from({ length: 40 }, () => makeRecord({ previousResponseId: root?.id ?? '' }))
  const results = await Promise.all(
    branches.map((record, index) => (index % 2 === 0 ? one : two).saveResponse({ owner: ALICE, record }))
  )
  t.same(new Set(results), new Set(['saved']))
  for (const { id } of branches) {
    const history = await two.readHistory({ owner: ALICE, previousResponseId: id, itemIds: [] })
    t.equal(history.kind === 'found' && history.turns.length, 2)
  }
  const { threads } = await one.listThreads({ limit: 10 })
  t.same(
    threads.map(({ turns }) => turns),
    [41]
  )
})

t.test('the same response that two hosts save at the same time is stored once', async t => {
  const database = await createDatabase()
  const stores = await Promise.all([database.open(), database.open()])
  const conversation = makeConversation()
  await stores[0]?.createConversation({ owner: ALICE, conversation, items: [] })
  const record = makeRecord({ conversationId: conversation.id })
  await Promise.all([...stores, ...stores].map(store => store.saveResponse({ owner: ALICE, record })))
  t.equal((await stores[0]?.totals())?.responses, 1)
  t.equal(await countRows(database, 'gateway_responses_conversation_items'), 2, 'appended once')
})

t.test('items that two hosts save at the same time are stored once', async t => {
  const database = await createDatabase()
  const stores = await Promise.all([database.open(), database.open()])
  const history = Array.from({ length: 30 }, (_, index) => makeItem(`item ${index}`))
  const records = Array.from({ length: 30 }, (_, index) =>
    makeRecord({ input: history.slice(0, index + 1), output: [] })
  )
  const saves = stores.flatMap(store =>
    records.map(record => store.saveResponse({ owner: ALICE, record: { ...record, id: makeId('resp') } }))
  )
  t.same(new Set(await Promise.all(saves)), new Set(['saved']))
  t.equal(await countRows(database, 'gateway_responses_items'), 30)
  const content = history.reduce((sum, { json }) => sum + json.length, 0)
  const bodies = 60 * (records[0]?.body.length ?? 0)
  t.equal((await stores[0]?.totals())?.bytes, content + bodies)
})

t.test('nothing is lost and nothing is left where responses are deleted while others are added', async t => {
  const database = await createDatabase()
  const [one, two] = [await database.open(), await database.open()]
  const shared: StoredItem[] = Array.from({ length: 6 }, (_, index) => makeItem(`shared ${index}`))
  const kept: ReturnType<typeof makeRecord>[] = []
  async function addAndDelete(store: typeof one, round: number): Promise<void> {
    const record = makeRecord({ input: [...shared.slice(0, 1 + (round % 6)), makeItem(`own ${round}`)] })
    t.equal(await store.saveResponse({ owner: ALICE, record }), 'saved')
    const branch = makeRecord({ previousResponseId: record.id, input: shared.slice(0, 1 + (round % 3)) })
    const other = store === one ? two : one
    await Promise.all([
      other.saveResponse({ owner: ALICE, record: branch }),
      store.deleteResponse({ owner: ALICE, id: record.id })
    ])
    kept.push(branch)
  }
  const rounds = Array.from({ length: 60 }, (_, round) => round)
  for (const part of [rounds.slice(0, 20), rounds.slice(20, 40), rounds.slice(40)]) {
    await Promise.all(part.map(round => addAndDelete(round % 2 === 0 ? one : two, round)))
  }
  const textsOf = (items: readonly StoredItem[] = []) => items.map(({ json }) => textOf(json))
  for (const { id, input, output } of kept) {
    const found = await one.readResponse({ owner: ALICE, id })
    t.same(textsOf([...(found?.input ?? []), ...(found?.output ?? [])]), textsOf([...input, ...output]))
  }
  await Promise.all(kept.map(({ id }, index) => (index % 2 === 0 ? one : two).deleteResponse({ owner: ALICE, id })))
  t.same(await one.totals(), EMPTY)
  for (const table of CONTENT_TABLES) t.equal(await countRows(database, table), 0, table)
})

t.test('one of two hosts holds a conversation', async t => {
  const database = await createDatabase()
  const stores = await Promise.all([database.open(), database.open()])
  const conversation = makeConversation()
  await stores[0]?.createConversation({ owner: ALICE, conversation, items: [] })
  const id = { owner: ALICE, id: conversation.id }
  for (let round = 0; round < 10; round++) {
    const holders = stores.flatMap((store, index) => [0, 1].map(number => ({ store, holder: `${index}-${number}` })))
    const outcomes = await Promise.all(
      holders.map(({ store, holder }) => store.acquireConversation({ ...id, holder, leaseMs: 60_000 }))
    )
    t.equal(outcomes.filter(outcome => outcome === 'acquired').length, 1)
    const winner = holders[outcomes.indexOf('acquired')]
    await winner?.store.releaseConversation({ ...id, holder: winner.holder })
  }
})

t.test('turns and items that two hosts add to one conversation keep their order', async t => {
  const database = await createDatabase()
  const stores = await Promise.all([database.open(), database.open()])
  const [one, two] = [stores[0] ?? (await database.open()), stores[1] ?? (await database.open())]
  const conversation = makeConversation()
  await one.createConversation({ owner: ALICE, conversation, items: [] })
  const turns = Array.from({ length: 20 }, (_, index) => [makeItem(`q${index}`), makeOutput(`a${index}`)] as const)
  await Promise.all(
    turns.map(([question, answer], index) => {
      const store = index % 2 === 0 ? one : two
      return index % 4 < 2
        ? store.addConversationItems({ owner: ALICE, id: conversation.id, items: [question, answer] })
        : store.saveResponse({
            owner: ALICE,
            record: makeRecord({ conversationId: conversation.id, input: [question], output: [answer] })
          })
    })
  )
  const history = await two.readHistory({ owner: ALICE, conversationId: conversation.id, itemIds: [] })
  if (history.kind !== 'found') throw new Error('not found')
  const sortedIds = (list: ReadonlyArray<readonly StoredItem[]>) =>
    list.map(turn => turn.map(({ id }) => id).join()).sort()
  t.same(sortedIds(history.turns), sortedIds(turns), 'each turn stands together')
})

t.test('events and the end of a response are read, and it is cancelled, on another host', async t => {
  const database = await createDatabase()
  const [runner, reader] = [await database.open(), await database.open()]
  const record = makeRecord({ status: 'queued', isBackground: true, output: [] })
  const id = { owner: ALICE, id: record.id }
  await runner.saveResponse({ owner: ALICE, record, leaseMs: 60_000 })
  const event = (sequenceNumber: number) => ({ sequenceNumber, json: Buffer.from(`{"n":${sequenceNumber}}`) })
  const append = (numbers: number[]) =>
    runner.appendEvents({ ...id, events: numbers.map(event), leaseMs: 60_000, status: 'in_progress' })
  t.same(await append([0, 1]), { isCancelled: false })
  const seen = await reader.readEvents({ ...id, after: 0 })
  t.same(
    seen?.events.map(({ sequenceNumber }) => sequenceNumber),
    [1]
  )
  t.equal(seen?.status, 'in_progress')
  t.equal(await reader.cancelResponse(id), 'marked')
  t.same(await append([2]), { isCancelled: true })
  const ended = { ...record, status: 'cancelled' as const, lastSequenceNumber: 3 }
  await runner.saveResponse({ owner: ALICE, record: ended, events: [event(3)], isUpdate: true })
  const page = await reader.readEvents({ ...id, after: -1 })
  t.same(
    page?.events.map(({ sequenceNumber }) => sequenceNumber),
    [0, 1, 2, 3]
  )
  t.equal(page?.status, 'cancelled')
  t.equal(await reader.cancelResponse(id), 'ended')
  t.equal(await reader.deleteResponse(id), true)
  t.same(await runner.totals(), EMPTY)
})

t.test('one host at a time purges', async t => {
  const database = await createDatabase()
  let nowMs = Date.UTC(2026, 0, 5)
  const options = { nowMs: () => nowMs, retentionDays: 1 }
  const stores = await Promise.all([database.open(options), database.open(options)])
  const [one] = stores
  if (one === undefined) return
  for (const owner of [ALICE, BOB])
    for (let thread = 0; thread < 60; thread++) await saveChain(one, { owner, length: 2 })
  nowMs += 2 * 24 * 60 * 60 * 1000
  const [kept] = await saveChain(one, { length: 1 })
  const purgeAll = async (store: typeof one) => {
    while (await store.purge());
  }
  await Promise.all(stores.map(purgeAll))
  // The host that found the other one at work has stopped.
  await purgeAll(one)
  t.equal((await one.totals()).responses, 1)
  t.equal(await countRows(database, 'gateway_responses_items'), 2)
  t.ok(await one.readResponse({ owner: ALICE, id: kept?.id ?? '' }))
})

t.test('an owner above the bound is brought back below it by the purge of any host', async t => {
  const database = await createDatabase()
  const wide = await database.open({ maxBytesPerOwner: 0 })
  for (let thread = 0; thread < 20; thread++) {
    const record = makeRecord({ input: [makeItem(`${thread}`.padStart(1000, 'x'))] })
    await wide.saveResponse({ owner: ALICE, record })
  }
  const narrow = await database.open({ maxBytesPerOwner: 5_000 })
  while (await narrow.purge());
  const { bytes, responses } = await narrow.totals()
  t.ok(bytes <= 5_000 && responses > 0, `${bytes} bytes of ${responses} responses`)
})

t.test('after the server was away the store answers again by itself', async t => {
  const database = await createDatabase()
  const store = await database.open()
  const [record] = await saveChain(store, { length: 1 })
  await server.stop()
  await t.rejects(store.readResponse({ owner: ALICE, id: record?.id ?? '' }))
  await t.rejects(store.saveResponse({ owner: ALICE, record: makeRecord() }))
  await server.start()
  t.ok(await store.readResponse({ owner: ALICE, id: record?.id ?? '' }))
  t.equal(await store.saveResponse({ owner: ALICE, record: makeRecord() }), 'saved')
})

t.test('a server that falls silent is asked again over new connections', async t => {
  const database = await createDatabase()
  const relay = await startTcpSwitch(server.port)
  t.teardown(() => relay.close())
  const store = await database.open({ dsn: database.dsn.replace(`:${server.port}/`, `:${relay.port}/`) })
  const [record] = await saveChain(store, { length: 1 })
  relay.cut('silent')
  const reading = () => store.readResponse({ owner: ALICE, id: record?.id ?? '' })
  await Promise.all([t.rejects(reading()), t.rejects(store.saveResponse({ owner: ALICE, record: makeRecord() }))])
  await relay.restore()
  t.ok(await reading())
  t.equal(await store.saveResponse({ owner: ALICE, record: makeRecord() }), 'saved')
})
