import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { openSqliteQueries } from '../../../../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../../../../supervisor/writer/store/sqlite/sink.ts'
import { createTemporaryFolder } from '../../../../support/temporary.ts'
import { createRecords } from '../../records.ts'

t.test('a lock of another process keeps the file waiting, and not the event loop', async t => {
  const path = join(createTemporaryFolder(t), 'traffic.sqlite')
  const store = openSqliteStore(path, openSqliteQueries)
  t.teardown(() => store.close())
  const other = new Database(path)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const records = createRecords(3)
  let isStored = false
  const stored = store.write(records).then(() => {
    isStored = true
  })
  for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  t.notOk(isStored, 'the loop goes on while the lock lasts')
  other.exec('COMMIT')
  await stored
  t.ok(await store.redact(records[0]?.id ?? '', ['request_body'], {}))
})
