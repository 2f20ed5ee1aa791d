import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { ReopeningSink } from '../../../../../supervisor/writer/reopening-sink.ts'
import type { RelationalStore } from '../../../../../supervisor/writer/sink.ts'
import { openSqliteQueries } from '../../../../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../../../../supervisor/writer/store/sqlite/sink.ts'
import { createTemporaryFolder } from '../../../../support/temporary.ts'
import { createRecords } from '../../records.ts'

t.test('a file that was removed with its folder is made again, and no batch goes to the removed one', async t => {
  const path = join(createTemporaryFolder(t), 'logs/traffic.sqlite')
  const sink = new ReopeningSink<RelationalStore>('sqlite', async () => {
    mkdirSync(dirname(path), { recursive: true })
    return openSqliteStore(path, openSqliteQueries)
  })
  t.teardown(() => sink.close())
  await sink.write(createRecords(1))
  rmSync(dirname(path), { recursive: true })
  const records = createRecords(2)
  await t.rejects(sink.write(records), { name: 'SinkGoneError' })
  await sink.write(records)
  const { queries } = await sink.use()
  for (const { id } of records) t.ok(await queries.find(id))
})
