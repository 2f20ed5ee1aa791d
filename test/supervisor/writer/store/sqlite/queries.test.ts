import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { TrafficFilter } from '../../../../../shared/traffic/query.ts'
import { openSqliteQueries, sqliteDialect } from '../../../../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../../../../supervisor/writer/store/sqlite/sink.ts'
import { selectPage } from '../../../../../supervisor/writer/store/statements.ts'
import { createTemporaryFolder } from '../../../../support/temporary.ts'
import { createRecord } from '../../records.ts'
import { pageOf, testStore } from '../store.cases.ts'

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
  const filters: TrafficFilter[] = [
    {},
    { from: '2026', to: '2027' },
    { protocol: 'openai' },
    { route: '/x' },
    { request_id: 'r' },
    { trace_id: 't' },
    { api_key_hash: 'k' },
    { model: 'm' },
    { status_code: 200 },
    { has_error: true },
    { has_error: false },
    { provider: 'native' },
    { method: 'POST' },
    { min_latency_ms: 1 },
    { error_type: 'timeout' },
    { caller: 'curl' },
    { q: 'x' },
    { q: 'x', model: 'm' },
    { q: 'x', method: 'GET', has_error: true }
  ]
  for (const filter of filters) {
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
    t.notMatch(
      steps.slice(0, 3).join('; '),
      /USE TEMP B-TREE FOR ORDER BY.*gateway_traffic_logs/,
      `${name} is in order`
    )
  }
  const stepsOf = (filter: TrafficFilter) => queries.explain(selectPage(pageOf(filter), sqliteDialect)).join('; ')
  t.match(stepsOf({ caller: 'curl' }), /ix_gateway_traffic_logs_caller/)
  t.match(stepsOf({ error_type: 'timeout' }), /ix_gateway_traffic_logs_errors/)
})

t.test('a redaction leaves no byte of the content in the file', async t => {
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
  t.notMatch(files(), /canary/)
})
