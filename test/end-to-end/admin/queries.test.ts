// Lists, filters, details and exports of stored records, through a started gateway whose traffic log is off: old records stay readable.
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { type TrafficRecord, writeRecordTime } from '../../../shared/traffic/record.ts'
import { createRecord } from '../../supervisor/writer/records.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { ADMIN_KEY, error, readEvents, startAdminGateway, UNKNOWN_ID, until } from './support.ts'

const START = Date.UTC(2026, 0, 5)
const HOSTILE = '<script>alert(1)</script>\u0000\'"; DROP TABLE gateway_traffic_logs; -- %00\r\nx: y'

/** One second apart; a request id says which one it is. */
const members: ReadonlyArray<Partial<TrafficRecord>> = [
  { model_requested: 'a', model_effective: 'b', latency_ms: 10.4, provider: 'native' },
  { model_requested: 'b', status_code: 500, error_type: 'http_500' },
  { model_effective: 'b', status_code: 200, error_type: 'stream_cancelled' },
  {
    protocol: 'anthropic',
    route: '/v1/messages',
    trace_id: 't',
    api_key_hash: 'k',
    cost: 0.25,
    currency: 'USD',
    metadata: {
      lifecycle: 'request_completed',
      path: '/v1/messages',
      api_key_name: 'team',
      annotations: { caller: { name: 'openai-python', category: 'sdk' } }
    },
    request_headers_redacted: { accept: 'x' },
    request_body_redacted: { model: 'm', secret_text: 'request text' },
    response_body_redacted: 'response text'
  },
  {
    status_code: 404,
    model_requested: HOSTILE,
    route: HOSTILE,
    trace_id: HOSTILE,
    span_id: HOSTILE,
    error_type: HOSTILE,
    api_key_hash: HOSTILE,
    metadata: { lifecycle: HOSTILE, path: HOSTILE, [HOSTILE]: HOSTILE }
  }
]
const records = members.map((one, index) =>
  createRecord({ request_id: String(index), created_at: writeRecordTime(START + index * 1000), ...one })
)
const ids = records.map(({ id }) => id)

const { logs, gateway } = await startAdminGateway(t, { records })

/** The request ids of a list. */
async function select(query: string): Promise<string> {
  const { json } = await logs(query)
  return json.data.map(({ request_id }: { request_id: string }) => request_id).join('')
}

t.test('operations 83: paging parameters of a wrong type are 422, a wrong cursor is 400', async t => {
  const refused = { error: { code: 'invalid_parameter', message: 'Invalid request parameters.' } }
  for (const [query, path, message] of [
    ['?limit=0', 'query.limit', 'Input should be greater than or equal to 1'],
    ['?limit=501', 'query.limit', 'Input should be less than or equal to 500'],
    ['/export.csv?limit=5001', 'query.limit', 'Input should be less than or equal to 5000'],
    ['/export.ndjson?limit=5001', 'query.limit', 'Input should be less than or equal to 5000'],
    ['?has_error=maybe', 'query.has_error', 'Input should be a valid boolean, unable to interpret input'],
    ['?status_code=x', 'query.status_code', 'Input should be a valid integer, unable to parse string as an integer'],
    ['/tail?limit=501', 'query.limit', 'Input should be less than or equal to 500']
  ] as const) {
    const { status, json } = await logs(query)
    t.equal(status, 422, query)
    t.match(json, { error: { ...refused.error, errors: [{ path, message }] } }, query)
  }
  for (const cursor of ['x', '-1', '1.5', 'MjAyNi0']) {
    for (const path of ['', '/export.csv', '/export.ndjson']) {
      const { status, json } = await logs(`${path}?cursor=${cursor}`)
      t.equal(status, 400, cursor)
      t.same(json, error('invalid_cursor', 'Invalid cursor'))
    }
  }
})

t.test('operations 84: pages of two are two, two and one, newest first, and no record comes twice', async t => {
  for (const first of ['', '&cursor=', '&cursor=0']) {
    let page = await logs(`?limit=2${first}`)
    const seen: string[] = []
    const sizes: number[] = []
    for (;;) {
      t.equal(page.status, 200)
      t.equal(page.headers.get('cache-control'), 'no-store')
      seen.push(...page.json.data.map(({ id }: { id: string }) => id))
      sizes.push(page.json.data.length)
      const { next_cursor: next } = page.json
      if (next === null) break
      t.type(next, 'string')
      if (first === '&cursor=0') t.equal(next, String(seen.length), 'offsets stay offsets')
      page = await logs(`?limit=2&cursor=${encodeURIComponent(next)}`)
      t.equal(page.json.cursor, next)
      t.equal(page.json.limit, 2)
    }
    t.same(sizes, [2, 2, 1])
    t.same(seen, ids.toReversed())
  }
  t.equal((await logs('?limit=2')).json.cursor, null)
  t.equal((await logs('?limit=5')).json.data.length, 5)
})

t.test('operations 85: a model is the requested or the effective one, an error a type or a status', async t => {
  t.equal(await select('?model=b'), '210')
  t.equal(await select('?model=a'), '0')
  t.equal(await select('?has_error=true'), '421')
  t.equal(await select('?has_error=0'), '30')
  t.equal(await select('?model=b&has_error=True'), '21', 'conditions hold together')
  t.equal(await select('?model=&has_error=&status_code=&from=&request_id='), '43210', 'an empty value is no filter')
})

t.test('a search finds parts of texts, with the other filters, in lists and exports', async t => {
  t.equal(await select('?q=OPENAI-p'), '3')
  t.equal(await select('?q=script'), '4')
  t.equal(await select('?q=http_5'), '1')
  t.equal(await select('?q=request%20text'), '', 'captured content is not searched')
  t.equal(await select('?q=v1/chat&model=b'), '210')
  t.equal(await select('?q='), '43210', 'an empty value is no filter')
  t.equal(await select('?q=%25'), '4', 'a percent sign is one, and no wildcard')
  const [first, second] = [await logs('?q=v1/&limit=3'), await logs('?q=v1/&limit=3&cursor=3')]
  t.equal(first.json.data.length + second.json.data.length, 4)
  const { next_cursor: next } = first.json
  t.same((await logs(`?q=v1/&limit=3&cursor=${next}`)).json.data, second.json.data)
  t.equal((await logs('/export.csv?q=http_5')).text.split('\r\n').length, 3)
  t.equal((await logs('/export.ndjson?q=v1/&limit=2')).text.split('\n').length, 3)
  const refused = await logs(`?q=${'x'.repeat(257)}`)
  t.equal(refused.status, 422)
  t.match(refused.json.error.errors, [{ path: 'query.q', message: 'Input should have at most 256 characters' }])
})

t.test('a list tells how many records its filters select', async t => {
  for (const [query, estimate] of [
    ['', '5'],
    ['?limit=2', '5'],
    ['?limit=2&cursor=2', '5'],
    ['?model=b', '3'],
    ['?q=http_5', '1'],
    ['?min_latency_ms=11', '0']
  ] as const) {
    t.equal((await logs(query)).headers.get('x-total-estimate'), estimate, query)
  }
})

t.test('operations 86: times are inclusive, of any form, and nothing else', async t => {
  const third = new Date(START + 2000).toISOString()
  t.equal(await select('?from=2026-01-05T00:00:00Z'), '43210')
  t.equal(await select(`?to=${third}`), '210', 'the record of that instant is in it')
  t.equal(await select(`?from=${third}&to=${third}`), '2')
  t.equal(await select('?from=2026-01-05T03:00:02%2B03:00'), '432')
  t.equal(await select('?from=2026-01-05T03:00:02+03:00'), '432', 'a plus sign that was not escaped')
  t.equal(await select(`?from=${START / 1000 + 3}`), '43')
  t.equal(await select('?to=2026-01-05'), '0')
  t.equal(await select('?from=2026-01-05T00:00:02.0000001Z'), '43')
  for (const name of ['from', 'to']) {
    for (const path of ['', '/export.csv', '/export.ndjson', '/sums', '/latencies']) {
      const { status, json } = await logs(`${path}?${name}=abc`)
      t.equal(status, 400)
      t.same(json, error('invalid_timestamp', `Invalid ${name} timestamp`))
    }
  }
})

t.test('every other filter selects its records', async t => {
  for (const [query, expected] of [
    ['protocol=anthropic', '3'],
    ['route=/v1/messages', '3'],
    ['request_id=2', '2'],
    ['trace_id=t', '3'],
    ['api_key_hash=k', '3'],
    ['status_code=500', '1'],
    ['method=GET', ''],
    ['provider=native', '0'],
    ['error_type=http_500', '1'],
    ['min_latency_ms=10', '0'],
    ['caller=openai-python', '3'],
    ['key=team', '3'],
    ['key=Team', ''],
    [`key=${encodeURIComponent(HOSTILE)}`, ''],
    [`model=${encodeURIComponent(HOSTILE)}`, '4'],
    [`route=${encodeURIComponent(HOSTILE)}&error_type=${encodeURIComponent(HOSTILE)}`, '4'],
    [`caller=${encodeURIComponent(HOSTILE)}`, ''],
    ['model=%ff', ''],
    ['request_id=2&request_id=1', '1']
  ] as const) {
    t.equal(await select(`?${query}`), expected, query)
  }
})

t.test('operations 87: a record, its request, its response, and the newest records', async t => {
  const { status, json } = await logs(`/${ids[3]}`)
  t.equal(status, 200)
  t.same(Object.keys(json), [
    ...'id created_at request_id trace_id span_id protocol route method status_code model_requested'.split(' '),
    ...'model_effective provider alias profile_id upstream_status_code latency_ms upstream_latency_ms'.split(' '),
    ...'input_tokens output_tokens total_tokens cost currency error_type error_code error_field error_message'.split(
      ' '
    ),
    ...'api_key_hash client_ip_hash metadata has_request_body has_response_body api_key_name ignored_fields'.split(' '),
    ...['is_stream', 'first_content_ms']
  ])
  t.match(json, {
    id: ids[3],
    created_at: '2026-01-05T00:00:03.000000+00:00',
    span_id: null,
    has_request_body: true,
    has_response_body: true
  })
  t.equal((await logs(`/${ids[3]?.toUpperCase()}`)).json.id, ids[3])
  t.equal((await logs(`/urn:uuid:${ids[3]}`)).json.id, ids[3])
  t.same((await logs(`/${ids[3]}/request`)).json, {
    id: ids[3],
    request_headers: { accept: 'x' },
    request_body: { model: 'm', secret_text: 'request text' }
  })
  t.same((await logs(`/${ids[3]}/response`)).json, { id: ids[3], response_body: 'response text' })
  t.same((await logs(`/${ids[0]}/request`)).json, { id: ids[0], request_headers: null, request_body: null })
  t.same((await logs(`/${ids[0]}/response`)).json, { id: ids[0], response_body: null })
  for (const path of ['', '/request', '/response']) {
    const invalid = await logs(`/not-a-uuid${path}`)
    t.equal(invalid.status, 400)
    t.same(invalid.json, error('invalid_log_id', 'Invalid traffic log id'))
    const unknown = await logs(`/${UNKNOWN_ID}${path}`)
    t.equal(unknown.status, 404)
    t.same(unknown.json, error('log_not_found', 'Traffic log event not found'))
  }
  const tail = await logs('/tail?limit=2')
  t.equal(tail.headers.get('content-type'), 'application/json')
  t.same(Object.keys(tail.json), ['data', 'limit'])
  t.same(
    tail.json.data.map(({ id }: { id: string }) => id),
    [ids[4], ids[3]]
  )

  const response = await fetch(`${gateway.url}/_admin/logs/tail?limit=2`, {
    headers: { 'x-admin-api-key': ADMIN_KEY, accept: 'text/event-stream' }
  })
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  const events = await readEvents(response, { count: 2 })
  t.same(
    events.map(({ event, id, data }) => [event, id, JSON.parse(data ?? '').request_id]),
    [
      ['log', ids[3], '3'],
      ['log', ids[4], '4']
    ],
    'oldest first; new records are in the test of the tail'
  )
})

t.test('operations 88: exports have one line for each record, CSV without content', async t => {
  const ndjson = await logs('/export.ndjson?to=2026-01-05T00:00:03Z')
  t.equal(ndjson.headers.get('content-type'), 'application/x-ndjson')
  t.match(ndjson.headers.get('content-disposition'), /^attachment/)
  t.ok(ndjson.text.endsWith('\n'))
  const lines = ndjson.text
    .slice(0, -1)
    .split('\n')
    .map(line => JSON.parse(line))
  t.same(
    lines.map(({ id }) => id),
    ids.slice(0, 4).toReversed()
  )
  t.match(lines[0], { request_headers: { accept: 'x' }, request_body: { model: 'm' }, response_body: 'response text' })
  t.match(lines[0], { cost: 0.25, currency: 'USD' })
  t.match(lines[3], { request_headers: null, request_body: null, response_body: null, span_id: null, cost: null })
  t.equal((await logs('/export.ndjson?request_id=none')).text, '')

  const csv = await logs('/export.csv?to=2026-01-05T00:00:03Z')
  t.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8')
  const rows = csv.text.split('\r\n')
  t.equal(
    rows[0],
    'id,created_at,request_id,trace_id,span_id,protocol,route,method,status_code,model_requested,model_effective,provider,' +
      'upstream_status_code,latency_ms,upstream_latency_ms,input_tokens,output_tokens,total_tokens,error_type,api_key_hash,' +
      'has_request_body,has_response_body,api_key_name,cost,currency,alias,profile_id,error_code,error_field,is_stream,first_content_ms'
  )
  t.equal(rows.length, 6)
  t.equal(rows[5], '')
  t.equal(
    rows[1],
    `${ids[3]},2026-01-05T00:00:03.000000+00:00,3,t,,anthropic,/v1/messages,POST,200,,,,,,,,,,,k,True,True,team,0.25,USD,,,,,False,`
  )
  t.match(rows[2], /,False,False,,,,,,,,False,$/)
  t.notMatch(csv.text, /request text|response text|secret_text/)
  t.equal((await logs('/export.csv?request_id=none')).text.split('\r\n').length, 2, 'only the header')
  t.ok((await logs('/export.csv?request_id=4')).text.includes(`"${HOSTILE.replaceAll('"', '""')}"`))
})

t.test('an export says where the next one begins', async t => {
  const first = await logs('/export.ndjson?limit=2')
  const next = first.headers.get('x-next-cursor')
  const second = await logs(`/export.ndjson?limit=3&cursor=${next}`)
  const read = ({ text }: { text: string }) =>
    text.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line).id]))
  t.same([...read(first), ...read(second)], ids.toReversed())
  const end = second.headers.get('x-next-cursor')
  t.type(end, 'string', 'a full page may be the last one')
  t.equal((await logs(`/export.csv?cursor=${end}`)).headers.get('x-next-cursor'), null)
})

t.test('operations-admin-query: a misspelt parameter is refused, with the nearest known name', async t => {
  const { status, json } = await logs('?modle=a&limit=x')
  t.equal(status, 400)
  t.match(json.error, {
    code: 'unknown_parameter',
    message: "Unknown query parameter 'modle'. The nearest known name is 'model'.",
    errors: [{ path: 'query.modle', message: "The nearest known name is 'model'." }]
  })
  const several = (await logs('/sums?form=2026-01-05&bukcet=60')).json.error.errors
  t.match(several, [{ message: /'from'/ }, { message: /'bucket'/ }])
  t.match((await logs(`/${ids[0]}?x=1`)).json.error, { message: /takes no query parameter/ })
  const nearest = async (query: string) => (await logs(query)).json.error.errors[0].message
  t.equal(await nearest('?MODLE=a'), "The nearest known name is 'model'.")
  t.equal(await nearest('?profile=a'), "The nearest known name is 'profile_id'.")
  t.equal(await nearest('/tail?alias=a'), 'The route takes limit.', 'near to none')
  const many = Array.from({ length: 50 }, (_, index) => `x${index}=`).join('&')
  t.equal((await logs(`?${many}`)).json.error.errors.length, 20)
  t.equal((await logs('?model=a')).status, 200)
})

t.test('HEAD has the head of GET', async t => {
  for (const path of ['', '/tail', '/export.csv', '/export.ndjson', `/${ids[0]}`]) {
    const { status, text } = await logs(path, { method: 'HEAD', headers: { 'x-admin-api-key': ADMIN_KEY } })
    t.equal(status, 200, path)
    t.equal(text, '')
  }
  const wrong = await logs('', { method: 'POST', headers: { 'x-admin-api-key': ADMIN_KEY } })
  t.equal(wrong.status, 405)
  t.match(wrong.headers.get('allow'), /GET/)
})

t.test('how long requests took: exact percentiles of the records that the filters select', async t => {
  const { status, json } = await logs('/latencies?from=2026-01-05&model=a')
  t.equal(status, 200)
  t.match(json, { latency: { p50_ms: 10, max_ms: 10, classes: [{ up_to_ms: 10, count: 1 }] }, first_content: null })
  t.equal(json.records, (await logs('?from=2026-01-05&model=a')).json.data.length)
  t.match((await logs('/latencies?limit=5')).json.error, { code: 'unknown_parameter' })
  t.match((await logs('/latencies?status_code=x')).json.error.errors, [{ path: 'query.status_code' }])
})

t.test('sums are added up over whole hours, by what the query names', async t => {
  const { json } = await logs('/sums?from=2026-01-05T00:30:00Z&to=2026-01-05T00:59:59Z&by=hour,model')
  t.match(json, {
    from: '2026-01-05T00:00:00.000000+00:00',
    by: ['hour', 'model'],
    data: [
      { hour: '2026-01-05T00:00:00.000000+00:00', model: null, requests: 1, errors: 0 },
      { model: 'a', requests: 1, latency_p50_ms: 12 },
      { model: 'b', requests: 2, errors: 2 },
      // A name that no model has (decisions.md 96).
      { model: 'other', requests: 1, errors: 1 }
    ]
  })
  const [whole, ...others] = (await logs('/sums?from=2026-01-05&to=2026-01-05&by=protocol&limit=1')).json.data
  t.same(others, [], 'the limit counts rows')
  t.match(whole, { protocol: 'anthropic', requests: 1 })
  const everything = (await logs('/sums?from=2026-01-05T00:30:00Z&to=2026-01-05T00:59:59Z&by=')).json
  t.same(everything.by, [])
  t.equal(everything.data.length, 1, 'no group is one sum')
  t.equal(
    everything.data[0].requests,
    json.data.reduce((sum: number, row: { requests: number }) => sum + row.requests, 0)
  )
  // keys.md 5
  const keys = (await logs('/sums?from=2026-01-05&to=2026-01-06&by=day,api_key_name')).json
  t.same(keys.by, ['day', 'api_key_name'])
  t.match(keys.data, [
    { day: '2026-01-05', api_key_name: null, requests: 3, cost: null, currency: null },
    { day: '2026-01-05', api_key_name: '(unknown)', requests: 1, errors: 1 },
    { day: '2026-01-05', api_key_name: 'team', requests: 1, errors: 0, cost: 0.25, currency: 'USD' }
  ])
  t.match((await logs('/sums?from=2026-01-05&to=2026-01-06&by=&key=team')).json.data, [{ requests: 1 }])
  t.same((await logs('/sums?from=2026-01-05&to=2026-01-06&by=day&key=none')).json.data, [])
  t.same((await logs('/sums')).json.data, [], 'the last day')
  const days = (await logs('/sums?from=2026-01-05T10:00:00Z&to=2026-01-06&bucket=86400&by=time')).json
  t.match(days, { from: '2026-01-05T00:00:00.000000+00:00', bucket: 86_400, by: ['time'] })
  t.match(days.data, [{ time: '2026-01-05T00:00:00.000000+00:00', requests: 5 }])
  const minutes = await logs('/sums?bucket=300&by=time,alias,profile_id,error_code,provider')
  t.match(minutes.json, { bucket: 300, by: ['time', 'alias', 'profile_id', 'provider', 'error_code'], data: [] })
  const old = await logs('/sums?from=2026-01-05&bucket=900&by=time')
  t.equal(old.status, 422)
  const message = 'Buckets below 3600 seconds are kept for the last 2 days'
  t.same(old.json.error.errors, [{ path: 'query.bucket', message }])
  t.match((await logs('/sums?bucket=7')).json.error.errors, [
    { path: 'query.bucket', message: "Input should be '60', '300', '900', '3600' or '86400'" }
  ])
  t.match((await logs('/sums?by=hour,secret&limit=0')).json.error.errors, [
    { path: 'query.by' },
    { path: 'query.limit' }
  ])
})

t.test('an export is read as fast as its client takes it, and ends with it', async t => {
  const big = 'x'.repeat(2 ** 20)
  const large = Array.from({ length: 64 }, () => createRecord({ request_body_redacted: { big } }))
  const { gateway, logs } = await startAdminGateway(t, { records: large })
  const { port } = new URL(gateway.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`GET /_admin/logs/export.ndjson HTTP/1.1\r\nhost: localhost\r\nx-admin-api-key: ${ADMIN_KEY}\r\n\r\n`)
  await once(socket, 'readable')
  t.equal((await logs('?limit=1')).status, 200, 'others go on meanwhile')
  socket.destroy()
  const entry = await until(
    async () => readLog(gateway).find(({ event, action }) => event === 'admin_audit' && action === 'export'),
    found => found !== undefined
  )
  t.equal(entry?.outcome, 'client_disconnected', 'the audit tells it from a whole export')
  t.ok(Number(entry?.row_count) < large.length / 2, `${entry?.row_count} records were read`)
  const whole = await logs('/export.ndjson')
  t.equal(whole.text.split('\n').length, large.length + 1)
  const [, second] = await until(
    async () => readLog(gateway).filter(({ event, action }) => event === 'admin_audit' && action === 'export'),
    found => found.length === 2
  )
  t.match(second, { outcome: 'ok', row_count: large.length })
})
