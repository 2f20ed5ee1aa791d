import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { type TrafficFilter, UNKNOWN_KEY } from '../../../../../shared/traffic/query.ts'
import { writeRecordTime } from '../../../../../shared/traffic/record.ts'
import { startOfHour } from '../../../../../supervisor/writer/store/columns.ts'
import { openSqliteQueries, sqliteDialect } from '../../../../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../../../../supervisor/writer/store/sqlite/sink.ts'
import { selectPage } from '../../../../../supervisor/writer/store/statements.ts'
import { waitUntil } from '../../../../support/processes.ts'
import { createTemporaryFolder } from '../../../../support/temporary.ts'
import { createRecord } from '../../records.ts'
import { listDocumentedFilters, olderThan, pageOf, START, testStore } from '../store.cases.ts'

function openStore(t: Test) {
  const path = join(createTemporaryFolder(t), 'traffic.sqlite')
  const store = openSqliteStore(path, openSqliteQueries)
  t.teardown(() => store.close())
  return store
}

testStore(t, async t => openStore(t))

t.test('each documented filter uses an index, and no list is sorted as a whole', async t => {
  const path = join(createTemporaryFolder(t), 'traffic.sqlite')
  const store = openSqliteStore(path, openSqliteQueries)
  t.teardown(() => store.close())
  const queries = openSqliteQueries(path)
  t.teardown(() => queries.close())
  const searches: TrafficFilter[] = [{ q: 'x' }, { q: 'x', model: 'm' }, { q: 'x', method: 'GET', has_error: true }]
  for (const filter of [...listDocumentedFilters({ request_id: 'r', trace_id: 't' }), ...searches]) {
    const steps = queries.explain(selectPage(pageOf(filter), sqliteDialect))
    const name = JSON.stringify(filter)
    t.notOk(
      steps.some(step => /^SCAN gateway_traffic_logs(?! USING)/.test(step)),
      `${name} scans no table: ${steps}`
    )
    t.notOk(
      steps.some(step => step.startsWith('MULTI-INDEX OR')),
      `${name} collects no records to sort them: ${steps}`
    )
    t.notOk(
      steps.some(step => step.includes('gateway_traffic_payloads')),
      `${name} reads no content: ${steps}`
    )
    t.notMatch(
      steps.slice(0, 3).join('; '),
      /USE TEMP B-TREE FOR ORDER BY.*gateway_traffic_logs/,
      `${name} is in order`
    )
  }
  const stepsOf = (filter: TrafficFilter) => queries.explain(selectPage(pageOf(filter), sqliteDialect)).join('; ')
  t.match(stepsOf({ caller: 'curl' }), /ix_gateway_traffic_logs_caller/)
  t.match(stepsOf({ key: 'team' }), /ix_gateway_traffic_logs_api_key_name/)
  t.match(stepsOf({ key: UNKNOWN_KEY }), /ix_gateway_traffic_logs_unknown_key/)
  t.match(stepsOf({ alias: 'a' }), /ix_gateway_traffic_logs_alias/)
  t.match(stepsOf({ profile_id: 'p' }), /ix_gateway_traffic_logs_profile_id/)
  t.match(stepsOf({ error_code: 'x' }), /ix_gateway_traffic_logs_error_code/)
  t.match(stepsOf({ api_key_hash: 'k' }), /ix_gateway_traffic_logs_api_key_hash/)
  t.match(stepsOf({ error_type: 'timeout' }), /ix_gateway_traffic_logs_error_type/)
  t.match(stepsOf({ has_error: true }), /ix_gateway_traffic_logs_errors/)
  const others = listDocumentedFilters({ request_id: 'r', trace_id: 't' }).filter(
    filter => !('request_id' in filter || 'trace_id' in filter)
  )
  for (const name of ['request_id', 'trace_id'] as const) {
    for (const other of others) {
      const steps = stepsOf({ [name]: 'x', ...other })
      const isSearched = steps.includes(`ix_gateway_traffic_logs_${name} (block=? AND ${name}=?)`)
      t.ok(isSearched, `${name} and ${JSON.stringify(other)}: ${steps}`)
    }
  }
})

t.test('an id is found in every block of records, after a purge too', async t => {
  const store = openStore(t)
  const records = Array.from({ length: 9_000 }, (_, index) =>
    createRecord({ request_id: `r${index}`, trace_id: 't', created_at: writeRecordTime(START + index * 1000) })
  )
  await store.write(records)
  const find = async (index: number) => (await store.queries.list(pageOf({ request_id: `r${index}` }))).length
  for (const index of [0, 4094, 4095, 4096, 4097, 8191, 8192, 8999]) t.equal(await find(index), 1, `record ${index}`)
  t.equal(await find(9_000), 0)
  t.same(
    (await store.queries.list(pageOf({ trace_id: 't' }, { limit: 2 }))).map(({ request_id }) => request_id),
    ['r8999', 'r8998']
  )
  await store.purge({ ...olderThan(writeRecordTime(START + 6_000_000)), batchSize: 10_000 })
  t.equal(await find(5_999), 0)
  t.equal(await find(6_000), 1)
  await store.write([createRecord({ request_id: 'after' })])
  t.equal((await store.queries.list(pageOf({ request_id: 'after' }))).length, 1)
})

t.test('a file of the first version keeps its records', async t => {
  const path = join(createTemporaryFolder(t), 'traffic.sqlite')
  const first = openSqliteStore(path, openSqliteQueries)
  await first.write([createRecord({ request_id: 'old', trace_id: 'shared', input_tokens: 7 })])
  await first.close()
  const file = new Database(path)
  file.exec(`DROP INDEX ix_gateway_traffic_logs_request_id;
    DROP INDEX ix_gateway_traffic_logs_trace_id;
    DROP INDEX ix_gateway_traffic_logs_error_type;
    DROP INDEX ix_gateway_traffic_payloads_created_at;
    DROP INDEX ix_gateway_traffic_logs_api_key_name;
    DROP INDEX ix_gateway_traffic_logs_alias;
    DROP INDEX ix_gateway_traffic_logs_profile_id;
    DROP INDEX ix_gateway_traffic_logs_error_code;
    DROP INDEX ix_gateway_traffic_logs_unknown_key;
    DROP TABLE gateway_traffic_minutes;
    ALTER TABLE gateway_traffic_logs DROP COLUMN block;
    ALTER TABLE gateway_traffic_logs DROP COLUMN cost;
    ALTER TABLE gateway_traffic_logs DROP COLUMN currency;
    ALTER TABLE gateway_traffic_logs DROP COLUMN alias;
    ALTER TABLE gateway_traffic_logs DROP COLUMN profile_id;
    ALTER TABLE gateway_traffic_logs DROP COLUMN error_code;
    ALTER TABLE gateway_traffic_logs DROP COLUMN error_field;
    CREATE INDEX ix_gateway_traffic_logs_request_id ON gateway_traffic_logs (request_id);
    CREATE INDEX ix_gateway_traffic_logs_trace_id ON gateway_traffic_logs (trace_id);
    PRAGMA user_version = 1`)
  file.close()
  const store = openSqliteStore(path, openSqliteQueries)
  t.teardown(() => store.close())
  await store.write([createRecord({ request_id: 'new', trace_id: 'shared' })])
  t.equal((await store.queries.list(pageOf({ request_id: 'old' }))).length, 1)
  t.equal((await store.queries.list(pageOf({ trace_id: 'shared' }))).length, 2)
  const { created_at } = createRecord()
  const sums = await store.queries.sums({
    from: startOfHour(created_at),
    to: created_at,
    by: ['api_key_name'],
    limit: 2
  })
  t.match(sums, [{ api_key_name: '', requests: 2, input_tokens: 7 }])
})

t.test('a redaction and a purge leave no byte of the content in the file', async t => {
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'traffic.sqlite')
  const store = openSqliteStore(path, openSqliteQueries)
  t.teardown(() => store.close())
  const secrets = { short: 'canary-in-a-row', long: `canary-in-pages-${'x'.repeat(100_000)}-canary-at-the-end` }
  const records = [
    createRecord({ error_message: 'canary-in-a-message', request_body_redacted: secrets }),
    createRecord()
  ]
  await store.write(records)
  const files = () =>
    Buffer.concat(readdirSync(folder).map(name => readFileSync(join(folder, name)))).toString('latin1')
  t.match(files(), /canary/)
  t.equal(await store.redact(records[0]?.id ?? '', ['request_body'], {}), true)
  t.notOk(files().includes('canary'))

  const later = () =>
    createRecord({ created_at: writeRecordTime(START), error_message: 'canary', request_body_redacted: secrets })
  await store.write([later(), later()])
  t.ok(files().includes('canary-at-the-end'))
  t.match(await store.purgeContent(writeRecordTime(START + 1), 9), { deleted: 2 })
  t.notOk(files().includes('canary-'), 'content that was deleted before its records')
  t.match(await store.purge({ ...olderThan(writeRecordTime(START + 1)), batchSize: 9 }), { deleted: 2 })
  t.notOk(files().includes('canary'))

  // A question that runs keeps the log, which is emptied when it has ended.
  const reader = new Database(path, { readonly: true })
  await store.write([later()])
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM gateway_traffic_logs').get()
  t.match(await store.purge({ ...olderThan(writeRecordTime(START + 1)), batchSize: 9 }), { deleted: 1 })
  t.ok(files().includes('canary'))
  reader.close()
  await waitUntil(() => !files().includes('canary'), 'the log is emptied')
})

t.test('the write-ahead log shrinks after a burst', async t => {
  const path = join(createTemporaryFolder(t), 'traffic.sqlite')
  const store = openSqliteStore(path, openSqliteQueries)
  t.teardown(() => store.close())
  const logBytes = () => statSync(`${path}-wal`).size
  const write = (bytes: number) => store.write([createRecord({ request_body_redacted: 'x'.repeat(bytes) })])
  await write(10)
  const reader = new Database(path, { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM gateway_traffic_logs').get()
  for (let burst = 0; burst < 6; burst += 1) await write(8_000_000)
  t.ok(logBytes() > 40_000_000)
  reader.close()
  // The log begins anew once it was copied into the file.
  await write(8_000_000)
  await write(10)
  t.ok(logBytes() <= 16 * 1024 * 1024)
})
