// Answers of bounded size (memory.md 6).
import t from 'tap'
import { startPostgres } from '../../../support/postgres.ts'
import { createPostgresStores } from '../../../support/postgres-stores.ts'
import { ALICE, makeConversation, makeItem, makeRecord } from '../../../support/response-store-records.ts'

const LARGE = 'x'.repeat(10_000)
const { createDatabase } = await createPostgresStores(t, await startPostgres(t))
const makeLarge = () => Array.from({ length: 8 }, (_, index) => makeItem(LARGE + index))

t.test('a history that is too large for one answer is refused, and others are read', async t => {
  const store = await (await createDatabase()).open({ answerBytesMax: 50_000 })
  const ids: string[] = []
  for (const item of makeLarge()) {
    const previous = ids.at(-1)
    const record = makeRecord({ input: [item], ...(previous !== undefined && { previousResponseId: previous }) })
    await store.saveResponse({ owner: ALICE, record })
    ids.push(record.id)
  }
  const read = (id: string | undefined) => store.readHistory({ owner: ALICE, previousResponseId: id, itemIds: [] })
  t.equal((await read(ids[2])).kind, 'found')
  const name = 'HistoryTooLargeError'
  await t.rejects(read(ids[7]), { name })
  t.ok(await store.readResponse({ owner: ALICE, id: ids[7] ?? '' }))
  const thread = await store.readThread({ id: ids[0] ?? '', limit: 10 })
  t.ok(thread.length > 2 && thread.length < 8, `${thread.length} responses of a thread`)
  const conversation = makeConversation()
  const items = makeLarge()
  await store.createConversation({ owner: ALICE, conversation, items })
  await t.rejects(store.readHistory({ owner: ALICE, conversationId: conversation.id, itemIds: [] }), { name })
  await t.rejects(store.readHistory({ owner: ALICE, itemIds: items.map(({ id }) => id) }), { name })
  const few = items.slice(0, 2).map(({ id }) => id)
  t.equal((await store.readHistory({ owner: ALICE, itemIds: few })).kind, 'found')
  await t.rejects(store.readHistory({ owner: ALICE, previousResponseId: ids[3], itemIds: few }), { name }, 'together')
})

t.test('a list of large items comes in more pages', async t => {
  const store = await (await createDatabase()).open({ answerBytesMax: 25_000 })
  const conversation = makeConversation()
  const items = makeLarge()
  await store.createConversation({ owner: ALICE, conversation, items })
  const list = { owner: ALICE, id: conversation.id }
  for (const order of ['asc', 'desc'] as const) {
    const found: string[] = []
    for (let hasMore = true; hasMore; ) {
      const page = await store.listConversationItems({ ...list, page: { limit: 100, order, after: found.at(-1) } })
      if (page === undefined || page === 'unknown_cursor') throw new Error('there is no page')
      t.ok(page.items.length > 0 && page.items.length <= 3)
      found.push(...page.items.map(({ id }) => id))
      hasMore = page.hasMore
    }
    const ids = items.map(({ id }) => id)
    t.same(found, order === 'asc' ? ids : ids.toReversed())
  }
})

t.test('many events come in more pages, and the end with the last one', async t => {
  const store = await (await createDatabase()).open({ answerBytesMax: 25_000 })
  const record = makeRecord({ status: 'in_progress', isBackground: true })
  const id = { owner: ALICE, id: record.id }
  const event = (sequenceNumber: number) => ({ sequenceNumber, json: Buffer.from(JSON.stringify(LARGE)) })
  await store.saveResponse({ owner: ALICE, record, leaseMs: 60_000 })
  for (let number = 0; number < 8; number++) {
    await store.appendEvents({ ...id, events: [event(number)], leaseMs: 60_000 })
  }
  const ended = { ...record, status: 'completed' as const }
  await store.saveResponse({ owner: ALICE, record: ended, events: [event(8)], isUpdate: true })
  const found: number[] = []
  const statuses: Array<string | undefined> = []
  while (statuses.at(-1) !== 'completed') {
    const page = await store.readEvents({ ...id, after: found.at(-1) ?? -1 })
    found.push(...(page?.events ?? []).map(({ sequenceNumber }) => sequenceNumber))
    statuses.push(page?.status)
  }
  t.same(found, [0, 1, 2, 3, 4, 5, 6, 7, 8])
  t.same(statuses, ['in_progress', 'in_progress', 'completed'])
})
