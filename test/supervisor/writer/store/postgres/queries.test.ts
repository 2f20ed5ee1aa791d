import pg from 'pg'
import t, { type Test } from 'tap'
import { RecordsRefusedError } from '../../../../../supervisor/writer/sink.ts'
import { NewerSchemaError, SchemaMissingError } from '../../../../../supervisor/writer/store/postgres/schema.ts'
import { openPostgresStore } from '../../../../../supervisor/writer/store/postgres/sink.ts'
import { startPostgres } from '../../../../support/postgres.ts'
import { createRecord } from '../../records.ts'
import { testStore } from '../store.cases.ts'

function createPool(t: Test, options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(options)
  // The server may stop before it has seen that a connection was closed.
  pool.on('error', () => undefined)
  t.teardown(() => pool.end())
  return pool
}

t.test('Postgres', async t => {
  const server = await startPostgres(t)
  const administrator = createPool(t, { ...server, max: 1 })
  let databases = 0

  /** A pool for a database of its own. */
  async function createDatabase(t: Test): Promise<pg.Pool> {
    databases += 1
    const database = `traffic_${databases}`
    await administrator.query(`CREATE DATABASE ${database}`)
    return createPool(t, { ...server, database, max: 4 })
  }

  testStore(t, async t => {
    return openPostgresStore(await createDatabase(t), { mayMigrate: true })
  })

  t.test('tables are made only where that is allowed, once however many processes start', async t => {
    const pool = await createDatabase(t)
    await t.rejects(openPostgresStore(pool, { mayMigrate: false }), SchemaMissingError)
    await Promise.all([1, 2, 3].map(() => openPostgresStore(pool, { mayMigrate: true })))
    await t.resolves(openPostgresStore(pool, { mayMigrate: false }))
    await pool.query('UPDATE gateway_schema_version SET version = 1000')
    await t.rejects(openPostgresStore(pool, { mayMigrate: true }), NewerSchemaError)
  })

  t.test('a record that the tables do not take is refused, and the connection stays of use', async t => {
    const pool = await createDatabase(t)
    const sink = await openPostgresStore(pool, { mayMigrate: true })
    await t.rejects(sink.write([createRecord({ status_code: 2 ** 40 })]), RecordsRefusedError)
    await sink.write([createRecord()])
    t.equal((await pool.query('SELECT count(*) FROM gateway_traffic_logs')).rows[0]?.count, '1')
  })
})
