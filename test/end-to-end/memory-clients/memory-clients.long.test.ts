// Every client with both databases.

import t from 'tap'
import { refuseOtherHosts } from '../../support/loopback.ts'
import { startPostgres } from '../../support/postgres.ts'
import { createDatabaseFile, startRoutes, testClients } from './scenario.ts'

const strangers = refuseOtherHosts(t)
const stores = [
  { store: 'SQLite', dsn: createDatabaseFile(t) },
  { store: 'Postgres', dsn: (await startPostgres(t)).dsn }
]

for (const { store, dsn } of stores) {
  const { gateway } = await startRoutes(t, dsn)
  testClients(t, { url: gateway.url, store })
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
