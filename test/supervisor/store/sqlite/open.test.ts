import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { type StoreEngineOptions, StoreOpenError } from '../../../../supervisor/store/engine.ts'
import { openSqliteStore } from '../../../../supervisor/store/sqlite/open.ts'
import { migrate, readVersion, STEPS } from '../../../../supervisor/store/sqlite/schema.ts'
import { closeWithTest, createStoreOptions } from '../../../support/response-store.ts'
import { ALICE, saveChain } from '../../../support/response-store-records.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'

const createPath = (t: Test) => join(createTemporaryFolder(t, 'responses-'), 'responses.sqlite')

async function open(t: Test, path: string, changes: Partial<StoreEngineOptions> = {}) {
  return closeWithTest(t, await openSqliteStore(createStoreOptions(`sqlite:${path}`, changes)))
}

async function failureOf(dsn: string, changes: Partial<StoreEngineOptions> = {}) {
  try {
    await (await openSqliteStore(createStoreOptions(dsn, changes))).close()
    return undefined
  } catch (error) {
    if (error instanceof StoreOpenError) return error
    throw error
  }
}

t.test('only the user of the gateway may read the files', async t => {
  const path = createPath(t)
  const store = await open(t, path)
  await saveChain(store, { length: 2 })
  const names = readdirSync(join(path, '..'))
  t.same(names.toSorted(), ['responses.sqlite', 'responses.sqlite-shm', 'responses.sqlite-wal'])
  for (const name of names) t.equal(statSync(join(path, '..', name)).mode & 0o777, 0o600, name)
  await store.close()
  chmodSync(path, 0o644)
  await open(t, path)
  t.equal(statSync(path).mode & 0o777, 0o600, 'of a file that was there before')
})

t.test('what cannot be opened is refused in words', async t => {
  const folder = createTemporaryFolder(t, 'responses-')
  const path = join(folder, 'responses.sqlite')
  t.equal((await failureOf('sqlite:'))?.failure, 'dsn_invalid')
  t.equal((await failureOf('postgres://host/db'))?.failure, 'dsn_invalid')
  t.equal((await failureOf(`sqlite:${join(folder, 'missing', 'x.sqlite')}`))?.failure, 'not_writable')
  mkdirSync(join(folder, 'a-folder'))
  t.equal((await failureOf(`sqlite:${join(folder, 'a-folder')}`))?.failure, 'not_writable')
  writeFileSync(join(folder, 'text'), 'no database '.repeat(1000))
  t.equal((await failureOf(`sqlite:${join(folder, 'text')}`))?.failure, 'not_a_store')
  const missing = await failureOf(`sqlite:${path}`, { autoMigrate: false })
  t.equal(missing?.failure, 'schema_missing')
  t.match(missing?.message, /GATEWAY_RESPONSES_STORE_AUTO_MIGRATE/)
})

t.test('the database of something else stays as it is', async t => {
  const path = createPath(t)
  const other = new Database(path)
  other.exec('CREATE TABLE songs (name TEXT)')
  other.close()
  t.equal((await failureOf(`sqlite:${path}`))?.failure, 'not_a_store')
  const again = new Database(path)
  t.equal(again.pragma('journal_mode', { simple: true }), 'delete')
  t.same(again.prepare('SELECT name FROM sqlite_schema').pluck().all(), ['songs'])
  again.close()
  t.notOk(existsSync(`${path}-wal`))
})

t.test('a file that is locked can be opened later', async t => {
  const path = createPath(t)
  await (await open(t, path)).close()
  const other = new Database(path)
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; CREATE TABLE x (y)')
  t.equal((await failureOf(`sqlite:${path}`))?.failure, 'unreachable')
  other.exec('ROLLBACK')
  other.close()
  t.equal(await failureOf(`sqlite:${path}`), undefined)
})

t.test('memory 16: a database of version 1 is brought to a later version with its responses', async t => {
  const path = createPath(t)
  const old = new Database(path)
  migrate(old, { isAllowed: true, steps: STEPS.slice(0, 1) })
  t.equal(readVersion(old), 1)
  old.close()
  const store = await open(t, path)
  const chain = await saveChain(store, { length: 3 })
  await store.close()
  const database = new Database(path)
  const current = STEPS.length
  t.equal(readVersion(database), current)
  const steps = [...STEPS, `ALTER TABLE responses ADD COLUMN note TEXT NOT NULL DEFAULT 'none'`]
  t.throws(() => migrate(database, { isAllowed: false, steps }), {
    failure: 'schema_missing',
    message: new RegExp(`version ${current} of ${current + 1}`)
  })
  t.throws(() => migrate(database, { isAllowed: true, steps: [...steps, 'no SQL'] }))
  t.equal(readVersion(database), current, 'nothing of a migration that fails is left')
  migrate(database, { isAllowed: true, steps })
  migrate(database, { isAllowed: true, steps })
  t.equal(readVersion(database), current + 1)
  t.same(
    database.prepare('SELECT id, note FROM responses ORDER BY number').raw().all(),
    chain.map(({ id }) => [id, 'none'])
  )
  database.close()
  const newer = await failureOf(`sqlite:${path}`)
  t.equal(newer?.failure, 'schema_newer')
  t.match(newer?.message, new RegExp(`schema version ${current + 1}; this version of the gateway knows ${current}`))
})

t.test('the current schema needs no permission', async t => {
  const path = createPath(t)
  const store = await open(t, path)
  const [record] = await saveChain(store, { length: 1 })
  await store.close()
  const again = await open(t, path, { autoMigrate: false })
  t.ok(await again.readResponse({ owner: ALICE, id: record?.id ?? '' }))
})
