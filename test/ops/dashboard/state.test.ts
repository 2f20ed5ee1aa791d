// The state of the dashboard's views: their address, their range of time, their filters and columns, and what needs attention.
import t from 'tap'
import { keepRange, readAddress, writeAddress } from '../../../ops/dashboard/src/data/address.ts'
import { findProblems, type GatewayState } from '../../../ops/dashboard/src/data/attention.ts'
import { readColumns, writeColumns } from '../../../ops/dashboard/src/data/columns.ts'
import { describeFailures, goesOn } from '../../../ops/dashboard/src/data/failures.ts'
import { describeFilters, readFilters, writeQuery } from '../../../ops/dashboard/src/data/filters.ts'
import { formatAgo, formatBytes, formatSpan } from '../../../ops/dashboard/src/data/format.ts'
import { describeProviders } from '../../../ops/dashboard/src/data/providers.ts'
import { alignRange, chooseBucket, endsNow, listParts, readRange } from '../../../ops/dashboard/src/data/ranges.ts'

const nowMs = Date.UTC(2026, 0, 5, 10, 30, 20)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const ago = (ms: number) => new Date(nowMs - ms).toISOString()

t.test('an address has the view and its state, and nothing that is empty', async t => {
  const params = { range: '1h', key: 'a b&c', model: 'x/y' }
  t.same(readAddress(writeAddress('records', params)), { view: 'records', params })
  t.equal(writeAddress('keys'), '#keys')
  t.equal(writeAddress('records', { key: '', model: undefined }), '#records')
  t.same(readAddress(''), { view: '', params: {} })
  t.same(keepRange({ range: '6h', key: 'ci' }), { range: '6h' })
  t.same(keepRange({ key: 'ci' }), {})
  t.same(keepRange({ key: 'ci' }, '1h'), { range: '1h' })
})

t.test('a range has parts that fit it', async t => {
  const rows: Array<[params: Record<string, string>, bucket: number, parts: number]> = [
    [{ range: '15m' }, 60, 16],
    [{ range: '1h' }, 60, 61],
    [{ range: '6h' }, 300, 73],
    [{ range: '24h' }, 900, 97],
    [{ range: '7d' }, 3600, 169],
    [{ range: '30d' }, 86_400, 31],
    [{ from: ago(2 * HOUR_MS), to: ago(HOUR_MS) }, 60, 61],
    // The sums of minutes are kept for two days only.
    [{ from: ago(10 * DAY_MS), to: ago(10 * DAY_MS - 20 * MINUTE_MS) }, 3600, 1]
  ]
  for (const [params, bucket, parts] of rows) {
    const range = readRange(params, nowMs)
    const chosen = range && chooseBucket(range, nowMs)
    t.equal(chosen, bucket, JSON.stringify(params))
    t.equal(range && chosen && listParts(alignRange(range, chosen), chosen).length, parts)
  }
  const day = readRange({ range: '24h' }, nowMs)
  t.equal(day && chooseBucket(day, nowMs, 1), 3600, 'larger where there are too many rows')
  for (const params of [{}, { range: 'x' }, { from: 'soon' }, { from: ago(0), to: ago(5) }]) {
    t.equal(readRange(params, nowMs), undefined, JSON.stringify(params))
  }
  t.ok(endsNow({ range: '1h' }) && endsNow({ from: ago(5) }) && !endsNow({ from: ago(5), to: ago(1) }))
})

t.test('a query has the range and the filters that are set, and no other state of the view (keys.md 5)', async t => {
  const params = {
    range: '1h',
    key: 'a b',
    model: ' m ',
    has_error: 'true',
    status_code: '',
    columns: 'key',
    secret: 'x'
  }
  const filters = readFilters(params)
  t.same(filters, { key: 'a b', model: 'm', has_error: 'true' })
  t.same(
    describeFilters(filters).map(({ label, value }) => `${label}: ${value}`),
    ['Outcome: failed', 'Model: m', 'Key: a b']
  )
  const range = { fromMs: nowMs - HOUR_MS, toMs: nowMs }
  t.same(Object.fromEntries(writeQuery(filters, range, { limit: 50, cursor: 'c' })), {
    from: '2026-01-05T09:30:20.000Z',
    to: '2026-01-05T10:30:20.000Z',
    has_error: 'true',
    model: 'm',
    key: 'a b',
    limit: '50',
    cursor: 'c'
  })
  t.equal(String(writeQuery({}, undefined, { limit: 100, cursor: undefined })), 'limit=100')
})

t.test('columns are those of the address, and a cell knows the filter of its value', async t => {
  const record = {
    method: 'POST',
    route: '/v1/messages',
    model_requested: 'm',
    alias: 'm',
    profile_id: 'p1',
    provider: 'native',
    api_key_name: null,
    api_key_hash: 'abc',
    error_code: 'provider_failure',
    error_type: 'server_error',
    is_stream: true,
    first_content_ms: 120,
    latency_ms: 1500,
    input_tokens: 10,
    output_tokens: null,
    cost: 0.0123,
    metadata: {}
  } as unknown as Parameters<ReturnType<typeof readColumns>[number]['read']>[0]
  t.same(
    readColumns(undefined).map(({ name, read, filter }) => [name, read(record), filter?.(record)?.join('=')]),
    [
      ['request', 'POST /v1/messages', 'route=/v1/messages'],
      ['model', 'm', 'model=m'],
      ['provider', 'p1', 'profile_id=p1'],
      ['key', '(unknown)', 'key=(unknown)'],
      ['error', 'provider_failure', 'error_code=provider_failure'],
      ['stream', 'stream', 'stream=true'],
      ['first', '120 ms', undefined],
      ['latency', '1.5 s', undefined],
      ['tokens', '10 → –', undefined],
      ['cost', '0.0123', undefined]
    ]
  )
  const names = (text: string | undefined) => readColumns(text).map(({ name }) => name)
  t.same(names('cost,nothing,key'), ['key', 'cost'])
  t.equal(writeColumns(['cost', 'key']), 'key,cost')
  t.same(names(writeColumns([])), [])
  t.equal(writeColumns(names(undefined)), undefined, 'the default is no part of the address')
})

const READINESS = {
  schema_version: 'gateway.readiness.v1',
  process_alive: true,
  provider_routes_configured: true,
  provider_adapters_ready: true,
  model_catalog: {
    state: 'fresh',
    usable: true,
    discovery_available: true,
    provider_profile_id: null,
    inventory_revision: null
  }
} as const
const provider = {
  profile_id: 'p1',
  provider_kind: 'native',
  last_success_at: ago(26 * MINUTE_MS),
  consecutive_failures: 94,
  last_failures: [{ class: 'http_503', at: ago(8000) }],
  inventory: { state: 'stale' as const, discovered_at: ago(HOUR_MS) },
  certificates: { provider_expires_at: ago(-9 * DAY_MS), client_expires_at: null }
}
const key = {
  name: 'ci',
  origin: 'file' as const,
  group: null,
  models: null,
  limits: { requests_per_minute: 60 },
  usage: { requests_per_minute: 60 },
  expires_at: null,
  enabled: true,
  state: 'limited' as const,
  last_used_at: null,
  metadata: {}
}

t.test('what needs attention: what is wrong, since when, and where to go on, the worst first', async t => {
  const state: GatewayState = {
    readiness: {
      ...READINESS,
      ready: false,
      reasons: [{ reason_id: 'gateway_shutting_down' }],
      warnings: [{ reason_id: 'model_inventory_stale_but_usable' }, { reason_id: 'unknown_warning' }]
    },
    providers: [provider, { ...provider, profile_id: 'p2', consecutive_failures: 0, inventory: null }],
    health: {
      enabled: true,
      query_store: 'postgres',
      writer: 'connected',
      sinks: [{ name: 'opensearch', available: false, queue_depth: 5, spill_bytes: 2048, written: 1, dropped: 2 }],
      store: null,
      responses_stored: false,
      version: '1.0.0'
    },
    keys: {
      keys_revision: 'x',
      currency: 'USD',
      data: [
        key,
        {
          ...key,
          name: 'web',
          state: 'active',
          limits: { budget: { amount: 10, period: 'day' } },
          usage: { budget: { cost: 9, period_ends_at: null } }
        }
      ],
      groups: []
    }
  }
  t.same(
    findProblems(state, nowMs).map(({ level, title, href }) => [level, title, href]),
    [
      ['bad', 'The gateway is shutting down', '#providers'],
      ['bad', 'p1 responds with status 503', '#records?range=1h&profile_id=p1&has_error=true'],
      ['bad', 'The store does not answer', '#sinks'],
      ['bad', 'opensearch has lost 2 records', '#sinks'],
      ['warn', 'unknown_warning', '#providers'],
      ['warn', 'The models of p1 are stale', '#providers'],
      ['warn', 'The certificate of p1 ends in 9 d', '#providers'],
      ['warn', 'The certificate of p2 ends in 9 d', '#providers'],
      ['warn', 'opensearch is unavailable', '#sinks'],
      ['warn', 'Key ci is at its limit', '#records?range=1h&key=ci&has_error=true'],
      ['warn', 'Key web has nearly used its budget', '#keys']
    ]
  )
  t.match(findProblems(state, nowMs)[1]?.detail, /26 min ago; 94 failures since/)
  t.same(findProblems({}, nowMs), [], 'what did not answer is no problem of its own')
})

t.test('providers have a state in a word, the worst first, and the models that were listed or used', async t => {
  const sums = (profile_id: string, alias: string, requests: number, errors: number) =>
    ({ profile_id, alias, requests, errors }) as unknown as Parameters<typeof describeProviders>[0]['whole'][number]
  const ofModel = (row: ReturnType<typeof sums>, model: string, error_code: string | null = null) => ({
    ...row,
    model,
    error_code
  })
  const good = { ...provider, consecutive_failures: 0, inventory: null, last_failures: [] }
  const facts = describeProviders({
    nowMs,
    providers: [
      { ...good, profile_id: 'unused', last_success_at: null },
      // A mistake of a client.
      { ...good, profile_id: 'working', last_failures: [{ class: 'http_400', at: ago(60_000) }] },
      { ...good, profile_id: 'limited', last_failures: [{ class: 'http_429', at: ago(60_000) }] },
      { ...good, profile_id: 'stale', inventory: { state: 'stale' as const, discovered_at: null } },
      { ...provider, profile_id: 'down' }
    ],
    // Mistakes of clients are no failures of the provider.
    whole: [sums('working', '', 100, 40)],
    byAlias: [sums('working', 'b', 60, 30)],
    byModel: [
      ofModel(sums('working', 'b', 60, 30), 'b'),
      ofModel(sums('working', '', 40, 10), 'discovered'),
      ofModel(sums('working', '', 1, 1), 'made-up')
    ],
    byCode: [
      ofModel(sums('working', 'b', 6, 6), 'b', 'provider_failure'),
      ofModel(sums('working', 'b', 24, 24), 'b', 'rate_limit_exceeded'),
      ofModel(sums('working', '', 10, 10), 'discovered', 'upstream_rejected')
    ],
    models: [
      {
        id: 'a',
        provider_kind: 'native',
        provider_profile_id: 'working',
        available: true,
        deprecated: false,
        stale: false,
        owned_by: null,
        model_type: null,
        inventory_revision: 'r'
      }
    ]
  })
  t.same(
    facts.map(({ provider, state, models }) => [provider.profile_id, state, models.map(({ name }) => name)]),
    [
      ['down', 'failing', []],
      ['limited', 'degraded', []],
      ['stale', 'degraded', []],
      ['working', 'working', ['b', 'discovered', 'a']],
      ['unused', 'unused', []]
    ]
  )
  const working = facts.find(({ provider }) => provider.profile_id === 'working')
  t.same(working?.failed, { ofProvider: 6, others: 34 })
  t.same(
    working?.models.map(({ filter, failed }) => [filter, failed]),
    [
      [{ alias: 'b' }, { ofProvider: 6, others: 24 }],
      [{ model: 'discovered' }, { ofProvider: 0, others: 10 }],
      [{ model: 'a' }, { ofProvider: 0, others: 0 }]
    ]
  )
})

t.test('failures have their course, and whom they affect', async t => {
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 5, 10, minute)).toISOString()
  const row = (error_code: string, requests: number, more: object) =>
    ({ error_code, requests, ...more }) as unknown as Parameters<typeof describeFailures>[0][number]
  const parts = [0, 1, 2, 3, 4].map(minute => Date.UTC(2026, 0, 5, 10, minute) / 1000)
  const [first, second] = describeFailures(
    [row('a', 1, { time: at(0) }), row('b', 4, { time: at(1) }), row('b', 3, { time: at(4) })],
    [
      row('b', 2, { api_key_name: 'ci', model: 'm' }),
      row('b', 5, { api_key_name: 'web', model: 'm' }),
      row('a', 1, { api_key_name: null, model: 'n' })
    ],
    parts
  )
  t.match(first, {
    code: 'b',
    requests: 7,
    values: [0, 4, 0, 0, 3],
    keys: [
      { name: 'web', requests: 5 },
      { name: 'ci', requests: 2 }
    ],
    models: [{ name: 'm', requests: 7 }]
  })
  t.match(second, { code: 'a', keys: [], models: [{ name: 'n' }] })
  t.ok(first && goesOn(first))
  t.notOk(second && goesOn(second))
})

t.test('lengths of time and sizes have their largest unit', async t => {
  t.same([4_000, 61_000, 3 * HOUR_MS, 9 * DAY_MS].map(formatSpan), ['4 s', '1 min', '3 h', '9 d'])
  t.equal(formatAgo(ago(90_000), nowMs), '2 min ago')
  t.same([1, 2048, 3 * 1024 ** 2, 5 * 1024 ** 3].map(formatBytes), ['1 B', '2 KiB', '3 MiB', '5 GiB'])
})
