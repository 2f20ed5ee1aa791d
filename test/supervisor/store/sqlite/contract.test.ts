import { join } from 'node:path'
import { openSqliteStore } from '../../../../supervisor/store/sqlite/open.ts'
import { closeWithTest, createStoreOptions } from '../../../support/response-store.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'
import { testResponseStore } from '../contract.cases.ts'

testResponseStore('SQLite', async t => {
  const dsn = `sqlite:${join(createTemporaryFolder(t, 'responses-'), 'responses.sqlite')}`
  return async changes => closeWithTest(t, await openSqliteStore(createStoreOptions(dsn, changes)))
})
