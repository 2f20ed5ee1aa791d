import { randomUUID } from 'node:crypto'
import pg from 'pg'
import t, { type Test } from 'tap'
import { writeRecordTime } from '../../../../../shared/traffic/record.ts'
import { RecordsRefusedError } from '../../../../../supervisor/writer/sink.ts'
import { connectToPostgres } from '../../../../../supervisor/writer/store/postgres/connect.ts'
import { postgresDialect } from '../../../../../supervisor/writer/store/postgres/queries.ts'
import { openPostgresStore } from '../../../../../supervisor/writer/store/postgres/sink.ts'
import { NewerSchemaError, SchemaMissingError } from '../../../../../supervisor/writer/store/schema-errors.ts'
import { selectPage } from '../../../../../supervisor/writer/store/statements.ts'
import { startPostgres } from '../../../../support/postgres.ts'
import { createRecord } from '../../records.ts'
import { listDocumentedFilters, olderThan, pageOf, testStore } from '../store.cases.ts'
import { countReadRows, listNodes, type PlanNode } from './plans.ts'

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

  t.test(
    'each documented filter uses an index, and reads neither content nor many more records than it shows',
    async t => {
      const pool = await createDatabase(t)
      const store = await openPostgresStore(pool, { mayMigrate: true })
      const failure = { status_code: 504, error_type: 'timeout' }
      const records = Array.from({ length: 20_000 }, (_, index) =>
        createRecord({
          // The last days of a month and the first ones of the next: two partitions.
          created_at: writeRecordTime(Date.UTC(2025, 11, 30) + index * 30_000),
          request_id: randomUUID(),
          trace_id: randomUUID(),
          model_requested: 'm',
          model_effective: index % 2 === 0 ? 'm' : 'n',
          provider: 'native',
          api_key_hash: index % 20 === 0 ? 'k' : 'l',
          latency_ms: index % 4,
          metadata: {
            lifecycle: 'x',
            path: '/',
            is_stream: index % 2 === 0,
            api_key_name: index % 2 ? 'team' : 'ci',
            annotations: { caller: { name: index % 3 === 0 ? 'curl' : 'sdk' } }
          },
          request_body_redacted: { index },
          ...(index % 10 === 0 ? failure : {})
        })
      )
      for (let start = 0; start < records.length; start += 500) await store.write(records.slice(start, start + 500))
      await pool.query('ANALYZE')
      const { request_id = '', trace_id = '' } = records[5_000] ?? {}
      for (const filter of listDocumentedFilters({ request_id, trace_id })) {
        const { sql, values } = selectPage(pageOf(filter), postgresDialect)
        const { rows } = await pool.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`, [...values])
        const nodes = listNodes(rows[0]['QUERY PLAN'][0].Plan)
        const read = nodes.filter(node => node['Relation Name'] !== undefined)
        const name = JSON.stringify(filter)
        const plan = read.map(node => `${node['Node Type']} ${node['Relation Name']} ${node['Index Name'] ?? ''}`)
        const isByIndex = (node: PlanNode) => /^(Index Scan|Index Only Scan|Bitmap Heap Scan)$/.test(node['Node Type'])
        t.ok(read.length > 0 && read.every(isByIndex), `${name} uses indexes alone: ${plan}`)
        t.notMatch(plan.join(), 'gateway_traffic_payloads', `${name} reads no content`)
        const count = countReadRows(nodes)
        // The page, once to find it and once to read it; twice as many for a model; and what a condition without an index leaves out.
        t.ok(count <= 500, `${name} reads ${count} rows`)
      }
    }
  )

  t.test('a database of the first version keeps its records', async t => {
    const pool = await createDatabase(t)
    const record = createRecord()
    await (await openPostgresStore(pool, { mayMigrate: true })).write([record])
    const { rows } = await pool.query<{ name: string; column: string }>(
      "SELECT indexname AS name FROM pg_indexes WHERE tablename = 'gateway_traffic_logs' AND indexname LIKE 'ix_%'"
    )
    for (const { name } of rows) await pool.query(`DROP INDEX ${name}`)
    for (const { name } of rows) {
      if (!/_(caller|error_type|error_code|api_key_name|alias|profile_id|unknown_key)$/.test(name))
        await pool.query(`CREATE INDEX ${name} ON gateway_traffic_logs (created_at)`)
    }
    await pool.query('DROP INDEX ix_gateway_traffic_payloads_created_at')
    await pool.query('ALTER TABLE gateway_traffic_logs DROP COLUMN cost, DROP COLUMN currency')
    const later = ['alias', 'profile_id', 'error_code', 'error_field'].map(name => `DROP COLUMN ${name}`)
    await pool.query(`ALTER TABLE gateway_traffic_logs ${later.join(', ')}`)
    await pool.query('DROP TABLE gateway_traffic_minutes')
    const added = ['api_key_name', 'currency', 'cost_nanos', 'alias', 'profile_id', 'provider', 'error_code'].map(
      name => `DROP COLUMN ${name}`
    )
    await pool.query(`ALTER TABLE gateway_traffic_sums ${added.join(', ')}`)
    await pool.query('ALTER TABLE gateway_traffic_sums ADD PRIMARY KEY (hour, protocol, model, api_key_hash)')
    await pool.query('UPDATE gateway_schema_version SET version = 1')
    await t.rejects(openPostgresStore(pool, { mayMigrate: false }), SchemaMissingError)
    const store = await openPostgresStore(pool, { mayMigrate: true })
    t.equal((await store.queries.list(pageOf({ request_id: record.request_id }))).length, 1)
  })

  t.test('a record of a month that another gateway has dropped is stored', async t => {
    const pool = await createDatabase(t)
    const [one, other] = [
      await openPostgresStore(pool, { mayMigrate: true }),
      await openPostgresStore(pool, { mayMigrate: true })
    ]
    const createOld = () => createRecord({ created_at: '2025-11-05T10:00:00.000000Z', request_body_redacted: {} })
    await one.write([createOld()])
    await other.purgeContent('2026-01-05T00:00:00.000000Z', 9)
    await one.write([createOld()])
    await other.purge({ ...olderThan('2026-01-05T00:00:00.000000Z'), batchSize: 9 })
    await one.write([createOld()])
    t.equal((await one.queries.list(pageOf())).length, 1)
  })

  t.test('questions that wait for the server keep no record waiting', async t => {
    const pool = await createDatabase(t)
    const { database = '' } = pool.options
    const dsn = Object.assign(new URL(server.dsn), { pathname: database }).href
    const limits = { writeConnections: 2, askConnections: 2, timeoutMs: 30_000 }
    const store = await connectToPostgres(dsn, { ...limits, mayMigrate: true })
    t.teardown(() => store.close())
    const blocker = await pool.connect()
    await blocker.query('BEGIN; LOCK TABLE gateway_admin_audit')
    const entry = {
      ...{ created_at: '2026-01-05T10:00:00.000000Z', request_id: 'r', action: 'list', target: null, outcome: 'ok' },
      ...{ row_count: 0, admin_key_hash: null, client_ip_hash: null }
    }
    const audits = Array.from({ length: 4 }, () => store.audit(entry))
    await store.write([createRecord()])
    t.equal((await pool.query('SELECT count(*) FROM gateway_traffic_logs')).rows[0]?.count, '1')
    await blocker.query('ROLLBACK')
    blocker.release()
    await Promise.all(audits)
  })

  t.test('a record that the tables do not take is refused, and the connection stays of use', async t => {
    const pool = await createDatabase(t)
    const sink = await openPostgresStore(pool, { mayMigrate: true })
    await t.rejects(sink.write([createRecord({ status_code: 2 ** 40 })]), RecordsRefusedError)
    await sink.write([createRecord()])
    t.equal((await pool.query('SELECT count(*) FROM gateway_traffic_logs')).rows[0]?.count, '1')
  })
})
