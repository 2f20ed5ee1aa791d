// The main path of the admin API over a real Postgres server: real requests are recorded, found, shown, exported, redacted and deleted.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { ADMIN_KEY, adminVariables, createCalls, error, postJson, recording, until } from './support.ts'

t.test('operations 82: the admin API over Postgres works, says when the server is down, and recovers', async t => {
  const postgres = await startPostgres(t)
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      ...adminVariables(postgres.dsn),
      ...recording,
      GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: 'true',
      GATEWAY_REPLAY_ENABLED: 'true',
      GATEWAY_WORKERS: '2'
    }
  })
  const { logs } = createCalls(gateway)
  const hostile = '<script>\u0000\'"; DROP TABLE gateway_traffic_logs; --'
  const send = async (content: string) => {
    const chat = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content }] }
    const { headers } = await post(`${gateway.url}/v1/chat/completions`, chat, { 'x-trace-id': 'trace' })
    return headers.get('x-request-id')
  }
  const requestIds = [await send('one'), await send(hostile), await send('three')]
  const data = await until(
    async () => (await logs('?trace_id=trace')).json.data,
    found => found.length === 3
  )
  t.same(
    data.map(({ request_id }: { request_id: string }) => request_id),
    requestIds.toReversed()
  )

  const first = (await logs('?trace_id=trace&limit=2')).json
  const second = (await logs(`?trace_id=trace&limit=2&cursor=${first.next_cursor}`)).json
  t.same([...first.data, ...second.data], data)
  t.equal(second.next_cursor, null)
  for (const query of [
    'model=GigaChat-2-Max',
    'has_error=false',
    'caller=node',
    'min_latency_ms=0',
    'method=POST',
    'q=gigachat-2'
  ]) {
    t.equal((await logs(`?trace_id=trace&${query}`)).json.data.length, 3, query)
  }
  for (const query of [
    'model=%00',
    'caller=%00%22',
    'error_type=x',
    'status_code=-1',
    'min_latency_ms=2147483647',
    'q=%00%25'
  ]) {
    t.equal((await logs(`?trace_id=trace&${query}`)).json.data.length, 0, query)
  }

  t.equal((await logs('?trace_id=trace&q=GIGA')).headers.get('x-total-estimate'), '3')
  const long = randomBytes(4000).toString('hex')
  const { headers } = await post(`${gateway.url}/v1beta/models/${long}:generateContent`, {}, { 'x-trace-id': long })
  const [cut] = await until(
    async () => (await logs(`?request_id=${headers.get('x-request-id')}`)).json.data,
    found => found.length === 1
  )
  t.equal(cut.trace_id, long.slice(0, 512), 'an id that is too long for an index is no way around the log')

  const { id } = data[1]
  t.match((await logs(`/${id}/request`)).json.request_body.messages[0].content, /DROP TABLE/)
  t.match((await logs(`/${id}/response`)).json.response_body, { object: 'chat.completion' })
  t.equal((await logs('/export.ndjson?trace_id=trace')).text.split('\n').length, 4)
  t.equal((await logs('/export.csv?trace_id=trace')).text.split('\r\n').length, 5)
  const sums = (await logs('/sums?by=model')).json.data.find(
    ({ model }: { model: string }) => model === 'GigaChat-2-Max'
  )
  t.match(sums, { requests: 3, errors: 0 })

  const replay = await logs(`/${data[2].id}/replay`, postJson(''))
  t.equal(replay.json.response.status_code, 200)
  const redacted = await logs(`/${id}/redact`, postJson({ fields: ['request_body'] }))
  t.match(redacted.json.result, { request_headers_redacted: false, request_body_redacted: true })
  t.equal((await logs(`/${id}/replay`, postJson(''))).status, 409)
  const purge = (query: string) =>
    logs(`/retention/purge${query}`, { method: 'POST', headers: { 'x-admin-api-key': ADMIN_KEY } })
  t.match((await purge('')).json, { expired: 0, deleted: 0 })
  t.match((await purge('?dry_run=false')).json, { deleted: 0, complete: true })

  await postgres.stop()
  for (const path of ['', '/tail', `/${id}`, '/export.csv']) {
    const { status, json } = await logs(path)
    t.equal(status, 503, path)
    t.same(json, error('query_store_unavailable', 'Traffic log query store is unavailable'))
  }
  await postgres.start()
  const back = await until(
    () => logs('?trace_id=trace'),
    ({ status }) => status === 200
  )
  t.equal(back.json.data.length, 3)
})
