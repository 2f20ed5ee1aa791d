import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { createTransactions, Undo } from '../../../../supervisor/store/sqlite/transactions.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'

function open(t: Test, { patienceMs = 5000 } = {}) {
  const path = join(createTemporaryFolder(t, 'responses-'), 'x.sqlite')
  const statements: string[] = []
  const database = new Database(path, { timeout: 1, verbose: sql => void statements.push(String(sql)) })
  t.teardown(() => database.close())
  database.pragma('journal_mode = WAL')
  database.exec('CREATE TABLE words (word TEXT, content BLOB)')
  const finished: boolean[] = []
  const transactions = createTransactions({ database, patienceMs, finish: isUndone => void finished.push(isUndone) })
  const insert = database.prepare('INSERT INTO words (word, content) VALUES (?, ?)')
  const select = database.prepare('SELECT word FROM words ORDER BY rowid').pluck()
  return {
    path,
    database,
    finished,
    close: transactions.close,
    add: (word: string, bytes = 0) => transactions.write(() => insert.run(word, Buffer.alloc(bytes)).changes),
    write: transactions.write,
    insert,
    words: () => transactions.read(() => select.all() as string[]),
    count: (sql: string) => statements.filter(statement => statement === sql).length
  }
}

t.test('what is asked in one turn of the event loop is committed once', async t => {
  const { add, words, count } = open(t)
  await Promise.all(Array.from({ length: 200 }, (_, index) => add(`${index}`)))
  t.equal(count('COMMIT'), 1)
  await add('later')
  t.equal(count('COMMIT'), 2)
  t.equal((await words()).length, 201)
})

t.test('questions that only read begin no transaction that writes', async t => {
  const { words, count } = open(t)
  await Promise.all([words(), words()])
  t.equal(count('BEGIN IMMEDIATE'), 0)
})

t.test('a question that fails or is undone changes nothing, and the others are answered', async t => {
  const { add, write, insert, words, finished } = open(t)
  const outcomes = await Promise.allSettled([
    add('first'),
    write(() => {
      insert.run('failed', null)
      throw new Error('broken')
    }),
    write(() => {
      insert.run('undone', null)
      throw new Undo('an answer')
    }),
    add('last')
  ])
  t.same(
    outcomes.map(outcome => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.reason)),
    [1, 'failed', 'an answer', 1]
  )
  t.same(await words(), ['first', 'last'])
  t.same(finished, [false, true, true, false, false])
})

t.test('writers wait for a lock, and readers do not', async t => {
  const { path, add, words } = open(t)
  await add('before')
  const other = new Database(path)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  let isAdded = false
  const added = add('after').then(() => {
    isAdded = true
  })
  for (let round = 0; round < 5; round++) t.same(await words(), ['before'])
  t.equal(isAdded, false)
  other.exec('COMMIT')
  await added
  t.same(await words(), ['before', 'after'])
})

t.test('a writer that waits for a lock too long is refused', async t => {
  const { path, add, words } = open(t, { patienceMs: 50 })
  const other = new Database(path)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  await t.rejects(add('never'), /timeout/)
  other.exec('COMMIT')
  await add('later')
  t.same(await words(), ['later'])
})

t.test('on a full disk writers are refused, readers are answered, and later all is well', async t => {
  const { database, add, words } = open(t)
  await add('before')
  const pages = database.pragma('page_count', { simple: true })
  database.pragma(`max_page_count = ${pages}`)
  const outcomes = await Promise.allSettled([add('large', 1_000_000), words(), add('small')])
  t.same(
    outcomes.map(outcome => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.reason)).slice(0, 2),
    ['failed', ['before']]
  )
  database.pragma('max_page_count = 100000')
  await add('large', 1_000_000)
  t.ok((await words()).includes('large'))
})

t.test('questions beyond the bound of the queue are refused', async t => {
  const { words } = open(t)
  const outcomes = await Promise.allSettled(Array.from({ length: 10_001 }, () => words()))
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 10_000)
  const [refused] = outcomes.filter(outcome => outcome.status === 'rejected')
  t.equal(refused?.reason.reason, 'overloaded')
})

t.test('closing waits for what was asked, and refuses what is asked later', async t => {
  const { add, words, close, database } = open(t)
  const asked = [add('a'), add('b'), words()]
  await close()
  t.equal(database.prepare('SELECT count(*) FROM words').pluck().get(), 2)
  t.same(await Promise.all(asked), [1, 1, ['a', 'b']])
  await t.rejects(words(), /disconnected/)
  await close()
})
