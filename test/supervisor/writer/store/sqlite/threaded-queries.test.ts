import { join } from 'node:path'
import t from 'tap'
import { openSqliteStore } from '../../../../../supervisor/writer/store/sqlite/sink.ts'
import { createThreadedQueries } from '../../../../../supervisor/writer/store/sqlite/threaded-queries.ts'
import { createTemporaryFolder } from '../../../../support/temporary.ts'
import { testStore } from '../store.cases.ts'

testStore(t, async t => {
  const store = openSqliteStore(join(createTemporaryFolder(t), 'traffic.sqlite'), createThreadedQueries)
  t.teardown(() => store.close())
  return store
})
