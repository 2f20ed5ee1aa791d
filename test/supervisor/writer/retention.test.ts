import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { writeRecordTime } from '../../../shared/traffic/record.ts'
import { startRetention } from '../../../supervisor/writer/retention.ts'
import type { RelationalStore } from '../../../supervisor/writer/sink.ts'
import { connectToPostgres } from '../../../supervisor/writer/store/postgres/connect.ts'
import { openSqliteQueries } from '../../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../../supervisor/writer/store/sqlite/sink.ts'
import { startPostgres } from '../../support/postgres.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { createRecord } from './records.ts'
import { olderThan } from './store/store.cases.ts'

const log = pino({ enabled: false })
const DAY_MS = 24 * 60 * 60 * 1000
const NOW_MS = Date.UTC(2026, 5, 15, 12)

/** More old records than one batch deletes, over months, and young ones. */
async function fill(store: RelationalStore): Promise<void> {
  const old = Array.from({ length: 1_200 }, (_, index) => NOW_MS - (31 + (index % 90)) * DAY_MS)
  const young = [NOW_MS - 29 * DAY_MS, NOW_MS]
  const times = [...old, ...young]
  await store.write(times.map(ms => createRecord({ created_at: writeRecordTime(ms), request_body_redacted: {} })))
}

const count = (store: RelationalStore) => store.queries.countExpired(olderThan(writeRecordTime(NOW_MS + DAY_MS)))

async function purgeOnce(t: Test, stores: readonly RelationalStore[]): Promise<void> {
  const ends = stores.map(store =>
    startRetention(
      { log, nowMs: () => NOW_MS, elapsedMs: () => 0, useStore: async () => store },
      { periods: { records: 30 }, intervalMs: 1_000_000 }
    )
  )
  t.teardown(() => {
    for (const end of ends) end()
  })
  const [store] = stores
  while (store !== undefined && (await count(store)) > 2) await setImmediate()
}

t.test('SQLite: records beyond the retention are deleted in batches, younger ones stay', async t => {
  const store = openSqliteStore(join(createTemporaryFolder(t), 'traffic.sqlite'), openSqliteQueries)
  t.teardown(() => store.close())
  await fill(store)
  await purgeOnce(t, [store])
  t.equal(await count(store), 2)
})

t.test('Postgres: the same, also when two gateways on one database do it at the same time', async t => {
  const server = await startPostgres(t)
  const connect = () =>
    connectToPostgres(server.dsn, { writeConnections: 2, askConnections: 2, timeoutMs: 30_000, mayMigrate: true })
  const store = await connect()
  t.teardown(() => store.close())
  const second = await connect()
  t.teardown(() => second.close())
  await fill(store)
  await purgeOnce(t, [store, second])
  t.equal(await count(second), 2)
})

t.test('a store that is not available is asked again at the next interval', async t => {
  let calls = 0
  const useStore = async () => {
    calls += 1
    throw new Error('connection refused')
  }
  const end = startRetention(
    { log, nowMs: () => NOW_MS, elapsedMs: () => 0, useStore },
    { periods: { records: 30 }, intervalMs: 1 }
  )
  // The timer keeps no process alive.
  while (calls < 3) await setImmediate()
  end()
  t.pass('it goes on')
})
