// What is left in the files: nothing of deleted content, and with a key no plain text.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { StoreEngineOptions } from '../../../../supervisor/store/engine.ts'
import { openSqliteStore, type SqliteStore } from '../../../../supervisor/store/sqlite/open.ts'
import { closeWithTest, createStoreOptions } from '../../../support/response-store.ts'
import { ALICE, makeConversation, makeItem, makeOutput, makeRecord } from '../../../support/response-store-records.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'

const DAY_MS = 24 * 60 * 60 * 1000

async function open(t: Test, changes: Partial<StoreEngineOptions> = {}) {
  const path = join(createTemporaryFolder(t, 'responses-'), 'responses.sqlite')
  const store = closeWithTest(t, await openSqliteStore(createStoreOptions(`sqlite:${path}`, changes)))
  const files = [path, `${path}-wal`]
  const countIn = (word: string) =>
    files
      .filter(existsSync)
      .reduce((sum, file) => sum + readFileSync(file).toString('latin1').split(word).length - 1, 0)
  return { store, countIn, path }
}

/** A word that is nowhere else, long enough for a page of its own too. */
const makeWord = () => `w${randomBytes(12).toString('hex')}`
const sentence = (word: string) => `${word} `.repeat(700)

const record = (word: string, changes: Parameters<typeof makeRecord>[0] = {}) =>
  makeRecord({
    input: [makeItem(`${word} short`), makeItem(sentence(word))],
    output: [makeOutput(sentence(word)), makeOutput(word)],
    body: Buffer.from(JSON.stringify({ instructions: sentence(word) })),
    ...changes
  })

const event = (word: string, sequenceNumber: number) => ({
  sequenceNumber,
  json: Buffer.from(JSON.stringify({ delta: sentence(word) }))
})

/** Fills pages around the content, so that it is not alone in the file. */
async function saveOthers(store: SqliteStore): Promise<void> {
  for (let index = 0; index < 20; index++) await store.saveResponse({ owner: ALICE, record: record('other') })
}

async function waitUntilRemoved(store: SqliteStore): Promise<void> {
  while (await store.purge());
  store.checkpoint()
}

const ways: Record<string, (store: SqliteStore, word: string, advance: (ms: number) => void) => Promise<void>> = {
  'a response is deleted': async (store, word) => {
    const saved = record(word)
    await store.saveResponse({ owner: ALICE, record: saved, events: [event(word, 0)] })
    await saveOthers(store)
    await store.deleteResponse({ owner: ALICE, id: saved.id })
  },
  'a running response is replaced by its end and deleted': async (store, word) => {
    const saved = record(word, { status: 'in_progress', isBackground: true })
    const id = { owner: ALICE, id: saved.id }
    await store.saveResponse({ owner: ALICE, record: saved, leaseMs: 60_000 })
    await store.appendEvents({ ...id, events: [event(word, 0)], leaseMs: 60_000 })
    await saveOthers(store)
    const ended = { ...saved, status: 'completed' as const, output: [makeOutput(`${word} end`)] }
    await store.saveResponse({ owner: ALICE, record: ended, events: [event(word, 1)], isUpdate: true })
    await store.deleteResponse(id)
  },
  'a conversation with its responses is deleted': async (store, word) => {
    const conversation = makeConversation({ metadata: Buffer.from(JSON.stringify({ word: sentence(word) })) })
    await store.createConversation({ owner: ALICE, conversation, items: [makeItem(sentence(word))] })
    await store.saveResponse({ owner: ALICE, record: record(word, { conversationId: conversation.id }) })
    await saveOthers(store)
    await store.deleteConversation({ owner: ALICE, id: conversation.id })
  },
  'an item of a conversation is deleted': async (store, word) => {
    const conversation = makeConversation()
    const item = makeItem(sentence(word))
    await store.createConversation({ owner: ALICE, conversation, items: [makeItem('other'), item] })
    await saveOthers(store)
    await store.deleteConversationItem({ owner: ALICE, id: conversation.id, itemId: item.id })
  },
  'metadata are replaced': async (store, word) => {
    const conversation = makeConversation({ metadata: Buffer.from(JSON.stringify({ word: sentence(word) })) })
    await store.createConversation({ owner: ALICE, conversation, items: [] })
    await saveOthers(store)
    await store.updateConversation({ owner: ALICE, id: conversation.id, metadata: Buffer.from('{}') })
  },
  'a thread expires': async (store, word, advance) => {
    await store.saveResponse({ owner: ALICE, record: record(word) })
    advance(20 * DAY_MS)
    await saveOthers(store)
    advance(20 * DAY_MS)
  }
}

for (const [name, use] of Object.entries(ways)) {
  t.test(`memory 21: ${name}, and nothing of it is left in the files after a checkpoint`, async t => {
    let nowMs = Date.UTC(2026, 0, 5)
    const word = makeWord()
    const { store, countIn } = await open(t, { nowMs: () => nowMs })
    const rest = makeRecord({ input: [makeItem('kept'), makeItem('kept too')] })
    await store.saveResponse({ owner: ALICE, record: rest })
    await use(store, word, ms => {
      nowMs += ms
    })
    t.ok(countIn(word) > 0, 'the test finds the word in the files before')
    await waitUntilRemoved(store)
    t.equal(countIn(word), 0)
    await store.close()
    t.equal(countIn(word), 0)
  })
}

t.test('deleted content leaves the write-ahead log without further requests', async t => {
  const { store, countIn } = await open(t)
  const word = makeWord()
  const saved = record(word)
  await store.saveResponse({ owner: ALICE, record: saved })
  await store.deleteResponse({ owner: ALICE, id: saved.id })
  for (let round = 0; round < 200 && countIn(word) > 0; round++) await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(countIn(word), 0)
})

t.test('deleted content leaves the write-ahead log as soon as a backup has ended', async t => {
  const { store, countIn, path } = await open(t)
  const word = makeWord()
  const saved = record(word)
  await store.saveResponse({ owner: ALICE, record: saved })
  const backup = new Database(path)
  t.teardown(() => backup.close())
  backup.exec('BEGIN; SELECT count(*) FROM responses')
  t.equal(backup.prepare('SELECT count(*) FROM responses').pluck().get(), 1)
  await store.deleteResponse({ owner: ALICE, id: saved.id })
  t.equal(store.checkpoint(), false)
  t.ok(countIn(word) > 0, 'the backup still reads it')
  backup.exec('COMMIT')
  for (let round = 0; round < 300 && countIn(word) > 0; round++) await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(countIn(word), 0)
})

t.test('deleted content gives its space back', async t => {
  const { store, path } = await open(t)
  await saveOthers(store)
  store.checkpoint()
  const before = readFileSync(path).length
  const large = Array.from({ length: 30 }, () => record(makeWord(), { output: [makeOutput('x'.repeat(100_000))] }))
  for (const each of large) await store.saveResponse({ owner: ALICE, record: each })
  for (const { id } of large) await store.deleteResponse({ owner: ALICE, id })
  for (let round = 0; round < 10; round++) store.checkpoint()
  t.ok(readFileSync(path).length < before * 1.5, `${readFileSync(path).length} bytes, before ${before}`)
})

t.test('memory 10: with a key the files hold no plain text', async t => {
  const word = makeWord()
  const owner = { name: word, credential: word }
  for (const key of [randomBytes(32), undefined]) {
    const { store, countIn } = await open(t, { key })
    const saved = record(word, { status: 'in_progress', isBackground: true })
    await store.saveResponse({ owner, record: saved, leaseMs: 60_000, events: [event(word, 0)] })
    await store.appendEvents({ owner, id: saved.id, events: [event(word, 1)], leaseMs: 60_000 })
    const conversation = makeConversation({ metadata: Buffer.from(JSON.stringify({ word })) })
    await store.createConversation({ owner, conversation, items: [makeItem(sentence(word))] })
    const isFound = () => countIn(word) > 0
    t.equal(isFound(), key === undefined)
    store.checkpoint()
    t.equal(isFound(), key === undefined)
    const found = await store.readResponse({ owner, id: saved.id })
    t.ok(Buffer.from(found?.body ?? []).includes(word), 'and it is read')
    t.equal((await store.listThreads({ limit: 1 })).threads[0]?.owner, word)
    await store.close()
    t.equal(isFound(), key === undefined)
  }
})
