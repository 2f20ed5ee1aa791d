// Both Postgres stores behind a real PgBouncer as its package sets it up (decisions.md 115), and what each `sslmode` verifies there.
import pg from 'pg'
import t, { type Test } from 'tap'
import { checkDsn, createPool } from '../../../supervisor/postgres/pool.ts'
import { openPostgresStore as openResponses } from '../../../supervisor/store/postgres/open.ts'
import { connectToPostgres } from '../../../supervisor/writer/store/postgres/connect.ts'
import { createAuthority } from '../../support/certificates.ts'
import { startPgBouncer, whyWithoutPgBouncer } from '../../support/pgbouncer.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres.ts'
import { closeWithTest, createStoreOptions } from '../../support/response-store.ts'
import { testResponseStore } from '../store/contract.cases.ts'
import { createRecords } from '../writer/records.ts'
import { pageOf, testStore } from '../writer/store/store.cases.ts'

const LIMITS = { writeConnections: 2, askConnections: 2, timeoutMs: 30_000, mayMigrate: true }

if (whyWithoutPgBouncer === false) {
  const server = await startPostgres(t)
  const createDatabase = countDatabases(t, server)
  for (const mode of ['session', 'transaction'] as const) {
    const dsnOf = await startPgBouncer(t, server, { mode })
    t.test(`the traffic log behind a pool in ${mode} mode`, async t =>
      testStore(t, async t => {
        const store = await connectToPostgres(dsnOf(await createDatabase()), LIMITS)
        t.teardown(() => store.close())
        return store
      })
    )
    t.test(`gateways that share the connections of a pool in ${mode} mode`, async t => {
      const dsn = dsnOf(await createDatabase())
      const stores = await Promise.all([1, 2, 3].map(() => connectToPostgres(dsn, LIMITS)))
      t.teardown(() => Promise.all(stores.map(store => store.close())))
      const records = createRecords(300)
      // The whole batch again and in other parts: those statements are sent whose names a pool would confuse.
      const writes = [0, 100, 200].flatMap(start => stores.map(store => store.write(records.slice(start, start + 100))))
      await Promise.all(writes)
      await Promise.all(stores.map(store => store.write(records)))
      t.equal((await stores[0]?.queries.list(pageOf({}, { limit: 500 })))?.length, records.length)
    })
    // A connection for each client is what the store has without a pool.
    if (mode === 'session') continue
    const openResponsesStore = async (t: Test) => {
      const dsn = dsnOf(await createDatabase())
      return async (changes = {}) => closeWithTest(t, await openResponses({ ...createStoreOptions(dsn), ...changes }))
    }
    testResponseStore(`Postgres behind a pool in ${mode} mode`, openResponsesStore, { sharesOutputs: true })
  }
}

t.test('sslmode means what libpq means by it', { skip: whyWithoutPgBouncer }, async t => {
  const server = await startPostgres(t)
  const [authority, other] = [createAuthority(t), createAuthority(t, 'another authority')]
  const encrypted = await startPgBouncer(t, server, {
    mode: 'transaction',
    certificate: authority.issue({ name: 'pool', hosts: ['DNS:elsewhere.example'] })
  })
  const named = await startPgBouncer(t, server, {
    mode: 'transaction',
    certificate: authority.issue({ name: 'named pool' })
  })
  const plain = await startPgBouncer(t, server, { mode: 'transaction' })
  const own = `sslrootcert=${authority.certFile}`
  const foreign = `sslrootcert=${other.certFile}`
  const table: Array<readonly [address: string, query: string, isConnected: boolean]> = [
    [encrypted(), 'sslmode=require', true],
    [encrypted(), 'sslmode=prefer', true],
    [encrypted(), 'sslmode=allow', true],
    [encrypted(), 'sslmode=disable', false],
    [encrypted(), `sslmode=require&${own}`, true],
    [encrypted(), `sslmode=require&${foreign}`, false],
    [encrypted(), `sslmode=verify-ca&${own}`, true],
    [encrypted(), `sslmode=verify-ca&${foreign}`, false],
    [encrypted(), `sslmode=verify-full&${own}`, false],
    [named(), `sslmode=verify-full&${own}`, true],
    [named(), 'sslmode=verify-full', false],
    [named(), 'sslmode=verify-full&sslrootcert=system', false],
    [plain(), 'sslmode=prefer', true],
    [plain(), 'sslmode=allow', true],
    [plain(), 'sslmode=disable', true],
    [plain(), 'sslmode=require', false]
  ]
  for (const [address, query, isConnected] of table) {
    const pool = createPool(`${address}?${query}`, { max: 1 })
    const found = await pool.query('SELECT 1 AS one').then(
      ({ rows }) => rows[0]?.one === 1,
      () => false
    )
    t.equal(found, isConnected, `${query} at a pool ${address === plain() ? 'without' : 'with'} TLS`)
    await pool.end()
  }
  for (const query of ['sslmode=verify-ca', 'sslmode=no-verify', 'sslmode=verify-ca&sslrootcert=system']) {
    t.throws(() => checkDsn(`${plain()}?${query}`), query)
  }
})

/** Creates empty databases. */
function countDatabases(t: Test, server: PostgresServer): () => Promise<string> {
  const administrator = new pg.Pool({ ...server, max: 1 })
  // The server may stop before it has seen that a connection was closed.
  administrator.on('error', () => undefined)
  t.teardown(() => administrator.end())
  let databases = 0
  return async () => {
    databases += 1
    await administrator.query(`CREATE DATABASE pooled_${databases}`)
    return `pooled_${databases}`
  }
}
