// What the admin API changes: purges and redactions, and the audit of every action
// (operations.md 9.4, 9.6 and 9.7).
import Database from 'better-sqlite3'
import t from 'tap'
import { writeRecordTime } from '../../../shared/traffic/record.ts'
import { createRecord } from '../../supervisor/writer/records.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { ADMIN_KEY, error, postJson, startAdminGateway, UNKNOWN_ID, until } from './support.ts'

const DAY_MS = 24 * 60 * 60 * 1000

t.test('operations 89: a purge is dry unless it is told otherwise, and bounded', async t => {
  const ages = [100, 90, 80, 70, 60, 1]
  const records = ages.map(days => createRecord({ created_at: writeRecordTime(Date.now() - days * DAY_MS) }))
  const { logs } = await startAdminGateway(t, { records, env: { GATEWAY_TRAFFIC_LOG_RETENTION_DAYS: '30' } })
  const purge = (query: string) =>
    logs(`/retention/purge${query}`, { method: 'POST', headers: { 'x-admin-api-key': ADMIN_KEY } })
  const count = async () => (await logs('')).json.data.length

  const dry = await purge('')
  t.equal(dry.status, 200)
  t.same(Object.keys(dry.json), [
    ...['retention_days', 'cutoff', 'dry_run', 'expired', 'deleted'],
    ...['batch_size', 'batches', 'max_batches', 'complete']
  ])
  t.match(dry.json, {
    retention_days: 30,
    cutoff: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/,
    dry_run: true,
    expired: 5,
    deleted: 0,
    batch_size: 1000,
    batches: 0,
    max_batches: 1,
    complete: null
  })
  t.equal(await count(), 6, 'nothing was deleted')
  t.equal((await purge('?retention_days=85')).json.expired, 2)

  const first = await purge('?dry_run=false&batch_size=2&max_batches=1')
  t.match(first.json, { dry_run: false, expired: null, deleted: 2, batches: 1, complete: false })
  t.equal(await count(), 4)
  const rest = await purge('?dry_run=false&batch_size=2&max_batches=3')
  t.match(rest.json, { deleted: 3, batches: 2, complete: true })
  t.equal(await count(), 1)

  for (const [query, name] of [
    ['?retention_days=0', 'retention_days'],
    ['?retention_days=3651', 'retention_days'],
    ['?batch_size=10001', 'batch_size'],
    ['?max_batches=1001', 'max_batches'],
    ['?dry_run=perhaps', 'dry_run']
  ] as const) {
    const { status, json } = await purge(query)
    t.equal(status, 422, query)
    t.equal(json.error.errors[0].path, `query.${name}`)
  }
  t.equal(await count(), 1)
})

t.test('field-lessons.md L12: a purge keeps records of failed requests for their own time', async t => {
  const records = [100, 90, 80, 70].flatMap(days =>
    [200, 500].map(status_code =>
      createRecord({ created_at: writeRecordTime(Date.now() - days * DAY_MS), status_code })
    )
  )
  const { logs } = await startAdminGateway(t, {
    records,
    env: { GATEWAY_TRAFFIC_LOG_RETENTION_DAYS: '3650', GATEWAY_TRAFFIC_LOG_ERROR_RETENTION_DAYS: '85' }
  })
  const purge = (query: string) =>
    logs(`/retention/purge?retention_days=${query}`, { method: 'POST', headers: { 'x-admin-api-key': ADMIN_KEY } })
  t.equal((await purge('75')).json.expired, 5)
  t.match((await purge('75&dry_run=false&batch_size=2&max_batches=9')).json, { deleted: 5, batches: 3, complete: true })
  const left = (await logs('')).json.data.map(({ status_code }: { status_code: number }) => status_code)
  t.same(left.toSorted(), [200, 500, 500])
  t.equal((await purge('95')).json.expired, 0)
})

t.test('operations 92: a redaction removes what it names and nothing else', async t => {
  const content = {
    error_message: 'quoted',
    request_headers_redacted: { accept: 'x' },
    request_body_redacted: { model: 'm' },
    response_body_redacted: { a: 1 }
  }
  const records = [createRecord({ request_id: 'r', ...content }), createRecord({ request_id: 'other', ...content })]
  const [id, other] = records.map(record => record.id)
  const { logs } = await startAdminGateway(t, { records, env: { GATEWAY_REPLAY_ENABLED: 'true' } })

  const { status, json } = await logs(`/${id}/redact`, postJson({ fields: ['request_body'] }))
  t.equal(status, 200)
  const redactedAt = json.result.metadata.manual_redaction.redacted_at
  t.match(redactedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/)
  t.same(json, {
    id,
    redacted_fields: ['request_body'],
    result: {
      id,
      request_headers_redacted: false,
      request_body_redacted: true,
      response_body_redacted: false,
      metadata: { manual_redaction: { fields: ['request_body'], redacted_at: redactedAt } }
    }
  })
  t.same((await logs(`/${id}/request`)).json, { id, request_headers: { accept: 'x' }, request_body: null })
  t.same((await logs(`/${id}/response`)).json, { id, response_body: { a: 1 } })
  t.match((await logs(`/${id}`)).json, {
    error_message: null,
    has_request_body: false,
    has_response_body: true,
    metadata: { lifecycle: 'request_completed', manual_redaction: { fields: ['request_body'] } }
  })
  const replay = await logs(`/${id}/replay`, postJson(''))
  t.equal(replay.status, 409)
  t.same(replay.json, error('request_body_not_captured', 'Traffic log request body was not captured'))
  t.same((await logs(`/${other}/request`)).json.request_body, { model: 'm' }, 'no other record')

  for (const [body, code, message] of [
    ['{"fields":[]}', 'invalid_request', 'At least one redaction field is required'],
    ['{"fields":"x"}', 'invalid_request', 'Expected fields to be a list of payload field names'],
    ['{"fields":["zz","metadata"]}', 'invalid_request', 'Unsupported redaction fields: metadata, zz'],
    ['[]', 'invalid_json', 'Expected JSON object body']
  ] as const) {
    const refused = await logs(`/${id}/redact`, postJson(body))
    t.equal(refused.status, 400, body)
    t.same(refused.json, error(code, message), body)
  }
  t.equal((await logs('/x/redact', postJson('[]'))).json.error.code, 'invalid_log_id', 'the id is looked at first')
  t.equal((await logs(`/${UNKNOWN_ID}/redact`, postJson(''))).status, 404)

  const all = await logs(`/${id}/redact`, postJson(''))
  t.match(all.json, {
    redacted_fields: ['request_body', 'request_headers', 'response_body'],
    result: { request_headers_redacted: true, request_body_redacted: true, response_body_redacted: true }
  })
  t.match((await logs(`/${id}`)).json.metadata.manual_redaction.fields, [
    'request_body',
    'request_headers',
    'response_body'
  ])
})

t.test('every action is in the audit, in the log and in the store', async t => {
  const record = createRecord({ request_id: 'r', request_body_redacted: { model: 'm' } })
  const { id } = record
  const { logs, call, gateway, path } = await startAdminGateway(t, {
    records: [record],
    env: { GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true' }
  })
  await logs('?model=secret-model-name')
  await logs(`/${id}`)
  await logs(`/${id}/request`)
  await logs(`/${UNKNOWN_ID}/response`)
  await logs('/export.csv')
  await logs('/retention/purge', postJson(''))
  await logs(`/${id}/redact`, postJson(''))
  await logs('/sums')
  await logs('/tail')
  await call('/_debug/translate', postJson({ from: 'openai', to: 'openai', payload: {} }))
  // What is refused before anything was done.
  await logs(`/${id}/redact`, postJson({ fields: [] }))
  await call('/_debug/translate?api_mode=v9', postJson({}))
  const expected = [
    ['list', 'ok', 0],
    ['get', 'ok', null],
    ['payload_read', 'ok', null],
    ['payload_read', 'log_not_found', null],
    ['export', 'ok', 1],
    ['purge', 'ok', 0],
    ['redact', 'ok', 1],
    ['sums', 'ok', 0],
    ['tail', 'ok', 1],
    ['debug_translate', 'ok', null],
    ['redact', 'invalid_request', null],
    ['debug_translate', 'invalid_parameter', null]
  ]
  const lines = await until(
    async () => readLog(gateway).filter(({ event }) => event === 'admin_audit'),
    found => found.length === expected.length
  )
  t.same(
    lines.map(({ action, outcome, row_count }) => [action, outcome, row_count]),
    expected
  )
  const database = new Database(path, { readonly: true })
  t.teardown(() => database.close())
  const select = database.prepare('SELECT * FROM gateway_admin_audit ORDER BY id')
  const rows = await until(
    async () => select.all() as Array<Record<string, unknown>>,
    found => found.length === expected.length
  )
  t.same(
    rows.map(({ action, outcome, row_count }) => [action, outcome, row_count]),
    expected
  )
  t.equal(rows[1]?.target, id)
  t.match(rows[0]?.target, /^sha256:[0-9a-f]{16}$/)
  for (const entry of [...rows, ...lines]) {
    t.match(entry.admin_key_hash, /^hmac-sha256:[0-9a-f]{16}$/)
    t.match(entry.client_ip_hash, /^hmac-sha256:[0-9a-f]{16}$/)
    t.type(entry.request_id, 'string')
    t.notMatch(JSON.stringify(entry), /secret-model-name|"adm"/)
  }
})

t.test('operations-audit: entries of the audit go with the retention of records', async t => {
  const env = {
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    // Also the list, which is no record by default.
    GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES: '[]',
    GATEWAY_TRAFFIC_LOG_RETENTION_DAYS: '1',
    GATEWAY_TRAFFIC_LOG_PURGE_INTERVAL_SECONDS: '1'
  }
  const { logs, gateway, path } = await startAdminGateway(t, { env })
  const database = new Database(path)
  t.teardown(() => database.close())
  const tables = ['gateway_traffic_logs', 'gateway_admin_audit'] as const
  const count = (table: string) => database.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number
  for (let query = 0; query < 5; query += 1) await logs('?limit=1')
  await until(
    async () => tables.map(count),
    counts => counts.every(found => found >= 5)
  )
  for (const table of tables) database.exec(`UPDATE ${table} SET created_at = '2024-01-05T10:00:00.000000Z'`)
  await until(
    async () => tables.map(count),
    counts => counts.every(found => found === 0)
  )
  await until(
    async () => readLog(gateway),
    lines => lines.some(({ event }) => event === 'admin_audit_purged')
  )
  await logs('?limit=1')
  t.ok(
    await until(
      async () => count('gateway_admin_audit'),
      found => found > 0
    ),
    'young entries stay'
  )
})
