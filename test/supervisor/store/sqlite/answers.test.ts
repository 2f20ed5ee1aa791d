// Answers of bounded size, and questions beside a large removal.
import t from 'tap'
import { openTemporaryStore } from '../../../support/response-store.ts'
import { ALICE, makeConversation, makeItem, makeRecord, saveChain } from '../../../support/response-store-records.ts'

const LARGE = 'x'.repeat(10_000)

t.test('a history that is too large for one answer is refused, and others are read', async t => {
  const store = await openTemporaryStore(t, { answerBytesMax: 50_000 })
  let previousResponseId: string | undefined
  const ids: string[] = []
  for (let turn = 0; turn < 8; turn++) {
    const record = makeRecord({ input: [makeItem(LARGE + turn)], ...(previousResponseId && { previousResponseId }) })
    await store.saveResponse({ owner: ALICE, record })
    previousResponseId = record.id
    ids.push(record.id)
  }
  const read = (id: string | undefined) => store.readHistory({ owner: ALICE, previousResponseId: id, itemIds: [] })
  t.equal((await read(ids[2])).kind, 'found')
  await t.rejects(read(ids[7]), /failed/)
  t.ok(await store.readResponse({ owner: ALICE, id: ids[7] ?? '' }))
  const thread = await store.readThread({ id: ids[0] ?? '', limit: 10 })
  t.ok(thread.length > 2 && thread.length < 8, `${thread.length} responses of a thread`)
  const conversation = makeConversation()
  await store.createConversation({
    owner: ALICE,
    conversation,
    items: Array.from({ length: 8 }, (_, index) => makeItem(LARGE + index))
  })
  await t.rejects(store.readHistory({ owner: ALICE, conversationId: conversation.id, itemIds: [] }), /failed/)
})

t.test('a list of large items comes in more pages', async t => {
  const store = await openTemporaryStore(t, { answerBytesMax: 25_000 })
  const conversation = makeConversation()
  const items = Array.from({ length: 8 }, (_, index) => makeItem(LARGE + index))
  await store.createConversation({ owner: ALICE, conversation, items })
  for (const order of ['asc', 'desc'] as const) {
    const found: string[] = []
    let hasMore = true
    let pages = 0
    while (hasMore) {
      const page = await store.listConversationItems({
        owner: ALICE,
        id: conversation.id,
        page: { limit: 100, order, after: found.at(-1) }
      })
      if (page === undefined || page === 'unknown_cursor') throw new Error('there is no page')
      found.push(...page.items.map(({ id }) => id))
      hasMore = page.hasMore
      pages++
    }
    const ids = items.map(({ id }) => id)
    t.same(found, order === 'asc' ? ids : ids.toReversed())
    t.equal(pages, 3)
  }
})

t.test('many events come in more pages, and the end with the last one', async t => {
  const store = await openTemporaryStore(t, { answerBytesMax: 25_000 })
  const record = makeRecord({ status: 'in_progress', isBackground: true })
  const id = { owner: ALICE, id: record.id }
  const event = (sequenceNumber: number) => ({ sequenceNumber, json: Buffer.from(JSON.stringify(LARGE)) })
  await store.saveResponse({ owner: ALICE, record, leaseMs: 60_000 })
  for (let number = 0; number < 8; number++) {
    await store.appendEvents({ ...id, events: [event(number)], leaseMs: 60_000 })
  }
  await store.saveResponse({
    owner: ALICE,
    record: { ...record, status: 'completed' },
    events: [event(8)],
    isUpdate: true
  })
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

t.test('questions are answered while a large conversation is removed bit by bit', async t => {
  const store = await openTemporaryStore(t)
  const conversation = makeConversation()
  const id = { owner: ALICE, id: conversation.id }
  const items = Array.from({ length: 20_000 }, (_, index) => makeItem(`item ${index}`))
  await store.createConversation({ owner: ALICE, conversation, items })
  const chain = await saveChain(store, { length: 2 })
  const { bytes: kept } = await store.totals()
  await store.deleteConversation(id)
  t.equal(await store.readConversation(id), undefined, 'it is unreadable at once')
  let answers = 0
  let { bytes } = await store.totals()
  t.ok(bytes > kept / 2, 'most of it is still to be removed')
  while (bytes > 5_000) {
    const question = { owner: ALICE, previousResponseId: chain[1]?.id, itemIds: [] }
    if ((await store.readHistory(question)).kind === 'found') answers++
    bytes = (await store.totals()).bytes
  }
  t.ok(answers > 10, `${answers} answers in between`)
})
