// What both relational stores must answer alike.
import type { Test } from 'tap'
import {
  type BucketSeconds,
  type PageRequest,
  type SumsRequest,
  type TrafficFilter,
  UNKNOWN_KEY,
  WINDOW_RECORDS
} from '../../../../shared/traffic/query.ts'
import { type TrafficRecord, writeRecordTime } from '../../../../shared/traffic/record.ts'
import type { RetentionCutoffs } from '../../../../shared/traffic/retention.ts'
import type { RelationalStore } from '../../../../supervisor/writer/sink.ts'
import { createRecord } from '../records.ts'

const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000'

export const START = Date.UTC(2026, 0, 5)

export function pageOf(filter: TrafficFilter = {}, more: Partial<PageRequest> = {}): PageRequest {
  return { filter, start: { kind: 'offset', offset: 0 }, limit: 100, ...more }
}

/**
 * Every filter of the guide, each with a value that many of the records have and, where it makes another plan, one that none has. `ids` are of
 * a record that is stored.
 */
export function listDocumentedFilters(ids: { request_id: string; trace_id: string }): TrafficFilter[] {
  return [
    {},
    { from: '2026-01-05T10:00:00.000000Z', to: '2026-01-05T11:00:00.000000Z' },
    { protocol: 'openai' },
    { protocol: 'absent' },
    { route: '/v1/chat/completions' },
    { method: 'POST' },
    { provider: 'native' },
    { provider: 'absent' },
    { request_id: ids.request_id },
    { trace_id: ids.trace_id },
    { request_id: ids.request_id, protocol: 'openai', has_error: false },
    { trace_id: ids.trace_id, model: 'm' },
    { api_key_hash: 'k' },
    { alias: 'demo/a' },
    { alias: 'absent' },
    { profile_id: 'p' },
    { error_code: 'unknown_model_alias' },
    { stream: true },
    { stream: false },
    { model: 'm' },
    { model: 'absent' },
    { status_code: 200 },
    { status_code: 418 },
    { has_error: true },
    { has_error: false },
    { error_type: 'timeout' },
    { caller: 'curl' },
    { caller: 'absent' },
    { key: 'team' },
    { key: 'absent' },
    { key: UNKNOWN_KEY },
    { min_latency_ms: 1 }
  ]
}

/** Cutoffs that treat failed requests like all others. */
export function olderThan(before: string): RetentionCutoffs {
  return { before, failedBefore: before }
}

/** Runs the questions against empty stores that `open` makes, one for each test. */
export function testStore(t: Test, open: (t: Test) => Promise<RelationalStore>): void {
  /** A store with these records, each one second later than the one before. */
  async function createStore(t: Test, members: ReadonlyArray<Partial<TrafficRecord>>) {
    const store = await open(t)
    const records = members.map((one, index) =>
      createRecord({ created_at: writeRecordTime(START + index * 1000), ...one })
    )
    await store.write(records)
    return { store, queries: store.queries, records }
  }

  t.test('a stored record comes back as its summary, its content by itself', async t => {
    const { queries, records } = await createStore(t, [
      {
        trace_id: 'trace',
        latency_ms: 12.6,
        input_tokens: 3,
        request_headers_redacted: { accept: 'x' },
        request_body_redacted: { model: 'm' }
      }
    ])
    const [record] = records
    const summary = await queries.find(record?.id ?? '')
    t.match(summary, {
      id: record?.id,
      created_at: record?.created_at,
      trace_id: 'trace',
      span_id: null,
      latency_ms: 13,
      input_tokens: 3,
      output_tokens: null,
      metadata: { lifecycle: 'request_completed' },
      has_request_body: true,
      has_response_body: false
    })
    t.same(await queries.findPayload(record?.id ?? ''), {
      request_headers: { accept: 'x' },
      request_body: { model: 'm' },
      response_body: null
    })
    t.equal(await queries.find(UNKNOWN_ID), undefined)
    t.equal(await queries.findPayload(UNKNOWN_ID), undefined)
  })

  t.test('pages follow each other by offset and by record, newest first', async t => {
    const { queries, records } = await createStore(t, [{}, {}, {}, { created_at: writeRecordTime(START) }, {}])
    const newestFirst = [...records].sort((one, other) =>
      other.created_at === one.created_at
        ? other.id.localeCompare(one.id)
        : other.created_at.localeCompare(one.created_at)
    )
    const ids = newestFirst.map(({ id }) => id)
    const idsOf = async (page: PageRequest) => (await queries.list(page)).map(({ id }) => id)
    t.same(await idsOf(pageOf()), ids)
    t.same(await idsOf(pageOf({}, { limit: 2, start: { kind: 'offset', offset: 2 } })), ids.slice(2, 4))
    for (const [index, { id, created_at }] of newestFirst.entries()) {
      t.same(
        await idsOf(pageOf({}, { limit: 2, start: { kind: 'after', created_at, id } })),
        ids.slice(index + 1, index + 3)
      )
      t.same(
        await idsOf(pageOf({}, { limit: 1, start: { kind: 'after', created_at, id, offset: 1 } })),
        ids.slice(index + 2, index + 3)
      )
    }
  })

  t.test('each filter selects its records', async t => {
    const { queries } = await createStore(t, [
      { request_id: '0', model_requested: 'a', model_effective: 'b', latency_ms: 10 },
      { request_id: '1', model_requested: 'b', model_effective: 'b', status_code: 500, error_type: 'http_500' },
      { request_id: '2', model_effective: 'b', error_type: 'timeout', method: 'GET' },
      {
        request_id: '3',
        protocol: 'gemini',
        route: '/x',
        provider: 'native',
        trace_id: 't',
        api_key_hash: 'k',
        metadata: {
          lifecycle: 'x',
          path: '/x',
          api_key_name: 'it\'s "us"',
          annotations: { caller: { name: 'it\'s "me"', category: 'sdk' } }
        }
      }
    ])
    const select = async (filter: TrafficFilter) =>
      (await queries.list(pageOf(filter))).map(({ request_id }) => request_id)
    t.same(await select({ model: 'b' }), ['2', '1', '0'])
    t.same(await select({ model: 'a' }), ['0'])
    t.same(await select({ model: 'b', has_error: true }), ['2', '1'])
    t.same(await select({ has_error: true }), ['2', '1'])
    t.same(await select({ has_error: false }), ['3', '0'])
    t.same(await select({ status_code: 500 }), ['1'])
    t.same(await select({ error_type: 'timeout', method: 'GET' }), ['2'])
    t.same(await select({ protocol: 'gemini', route: '/x', provider: 'native', trace_id: 't', api_key_hash: 'k' }), [
      '3'
    ])
    t.same(await select({ min_latency_ms: 10 }), ['0'])
    t.same(await select({ caller: 'it\'s "me"' }), ['3'])
    t.same(await select({ caller: 'me' }), [])
    t.same(await select({ key: 'it\'s "us"' }), ['3'])
    t.same(await select({ key: 'us' }), [])
    t.same(await select({ error_type: 'timeout' }), ['2'])
    t.same(await select({ error_type: 'timeout', has_error: false }), [])
    t.same(await select({ from: writeRecordTime(START + 1000), to: writeRecordTime(START + 2000) }), ['2', '1'])
    t.equal(await queries.countExpired(olderThan(writeRecordTime(START + 2000))), 2)
  })

  t.test(
    'a search finds a part of the short texts of a record, in any case of A to Z, and nothing in its content',
    async t => {
      const { queries } = await createStore(t, [
        { request_id: '0', model_requested: 'GigaChat-2-Max', trace_id: 'TRACE-a' },
        { request_id: '1', model_effective: 'gigachat-2', provider: 'native', error_type: 'http_50%', latency_ms: 50 },
        { request_id: '2', route: '/v1/Messages', error_message: 'Ошибка: лимит', method: 'GET' },
        {
          request_id: '3',
          route: '/end',
          provider: 'begin',
          metadata: { lifecycle: 'hidden', path: '/api/x_y', annotations: { caller: { name: 'it\'s "me"' } } },
          request_body_redacted: { text: 'hidden' }
        }
      ])
      const select = async (q: string, filter: TrafficFilter = {}) =>
        (await queries.list(pageOf({ q, ...filter }))).map(({ request_id }) => request_id)
      t.same(await select('GIGAchat-2'), ['1', '0'])
      t.same(await select('trace-A'), ['0'])
      t.same(await select('nativ'), ['1'])
      t.same(await select('50%'), ['1'], 'a percent sign is no wildcard')
      t.same(await select('h%p'), [])
      t.same(await select('v1/mess'), ['2'])
      t.same(await select('лимит'), ['2'])
      t.same(await select('ЛИМИТ'), [], 'letters beyond A to Z are taken as they are')
      t.same(await select('x_y'), ['3'])
      t.same(await select('XAY'), [], 'nor is an underscore')
      t.same(await select('\'s "M'), ['3'])
      t.same(await select('hidden'), [])
      t.same(await select('/endbegin'), [], 'texts are not joined')
      t.same(await select('gigachat', { model: 'gigachat-2' }), ['1'])
      t.same(await select('gigachat', { min_latency_ms: 50 }), ['1'])
      t.same(await select('messages', { method: 'POST' }), [])
      const page = await queries.list(pageOf({ q: 'gigachat' }, { limit: 1 }))
      t.same(
        page.map(({ request_id }) => request_id),
        ['1']
      )
      const [{ created_at, id } = { created_at: '', id: '' }] = page
      const next = await queries.list(pageOf({ q: 'gigachat' }, { limit: 1, start: { kind: 'after', created_at, id } }))
      t.same(
        next.map(({ request_id }) => request_id),
        ['0']
      )
      const second = await queries.list(pageOf({ q: 'gigachat' }, { start: { kind: 'offset', offset: 1 } }))
      t.same(second, next)
    }
  )

  t.test('an estimate counts what a filter selects', async t => {
    const { queries } = await createStore(t, [
      { model_requested: 'a', model_effective: 'a', latency_ms: 10 },
      { model_requested: 'b', model_effective: 'a', method: 'GET', latency_ms: 20 },
      { model_requested: 'c', status_code: 500 }
    ])
    const counts: Array<[TrafficFilter, number]> = [
      [{}, 3],
      [{ model: 'a' }, 2],
      [{ model: 'a', method: 'GET' }, 1],
      [{ min_latency_ms: 10 }, 2],
      [{ has_error: true }, 1],
      [{ q: 'v1' }, 3],
      [{ q: 'nothing' }, 0],
      [{ model: 'x' }, 0]
    ]
    for (const [filter, records] of counts) {
      t.same(await queries.estimate(filter), { records, isLowerBound: false }, JSON.stringify(filter))
    }
  })

  t.test(
    'a search and an estimate look at the newest records of the filter, and at no more than the window',
    async t => {
      const { store, queries } = await createStore(t, [
        { request_id: 'needle', trace_id: 'old' },
        { request_id: 'needle in the window' }
      ])
      const makeNewer = (index: number) =>
        createRecord({ request_id: 'newer', created_at: writeRecordTime(START + 60_000 + index) })
      const newer = Array.from({ length: WINDOW_RECORDS - 1 }, (_, index) => makeNewer(index))
      for (let start = 0; start < newer.length; start += 2000) await store.write(newer.slice(start, start + 2000))
      const select = async (filter: TrafficFilter) =>
        (await queries.list(pageOf({ q: 'needle', ...filter }))).map(({ request_id }) => request_id)
      t.same(await select({}), ['needle in the window'])
      t.same(await select({ trace_id: 'old' }), ['needle'], 'a filter moves the window')
      t.same(await select({ to: writeRecordTime(START) }), ['needle'])
      t.same(await queries.estimate({}), { records: WINDOW_RECORDS, isLowerBound: true })
      t.same(await queries.estimate({ q: 'newer' }), { records: WINDOW_RECORDS - 1, isLowerBound: true })
      t.same(await queries.estimate({ method: 'PUT' }), { records: 0, isLowerBound: true })
      t.same(await queries.estimate({ from: writeRecordTime(START + 1000) }), {
        records: WINDOW_RECORDS,
        isLowerBound: false
      })
    }
  )

  t.test('latencies are described exactly: of all records, and of those that a filter selects', async t => {
    const { store, queries } = await createStore(t, [
      ...Array.from({ length: 99 }, (_, index) => ({
        latency_ms: index + 1,
        model_requested: 'm',
        metadata: { path: '/v1', lifecycle: 'streaming_completed', is_stream: true, first_token_ms: index + 0.5 }
      })),
      { latency_ms: 4000, model_requested: 'n', status_code: 500 }
    ])
    const whole = await queries.latencies({})
    t.match(whole, {
      records: 100,
      latency: { count: 100, p50_ms: 50, p95_ms: 95, p99_ms: 99, max_ms: 4000 },
      first_content: { count: 99, p50_ms: 49.5, p95_ms: 94.5, p99_ms: 98.5, max_ms: 98.5 }
    })
    t.same(whole.latency?.classes.slice(0, 3), [
      { up_to_ms: 1, count: 1 },
      { up_to_ms: 2, count: 1 },
      { up_to_ms: 5, count: 3 }
    ])
    t.same(whole.latency?.classes.slice(-2), [
      { up_to_ms: 2000, count: 0 },
      { up_to_ms: 5000, count: 1 }
    ])
    t.match(await queries.latencies({ model: 'm', min_latency_ms: 91, stream: true }), {
      records: 9,
      latency: { p50_ms: 95, classes: [{ up_to_ms: 100, count: 9 }] }
    })
    t.match(await queries.latencies({ q: 'n', has_error: true }), { records: 1, first_content: null })
    t.same(await queries.latencies({ model: 'absent' }), { records: 0, latency: null, first_content: null })
    const newer = Array.from({ length: WINDOW_RECORDS }, () =>
      createRecord({ created_at: writeRecordTime(START + 1_000_000), latency_ms: 7 })
    )
    for (let start = 0; start < newer.length; start += 2000) await store.write(newer.slice(start, start + 2000))
    t.match(
      await queries.latencies({}),
      { records: WINDOW_RECORDS, latency: { p50_ms: 7, p99_ms: 7 } },
      'the newest ones alone'
    )
  })

  t.test('a record that is sent again changes nothing, sums included', async t => {
    const { store, queries, records } = await createStore(t, [
      { model_requested: 'm', input_tokens: 1, output_tokens: 2, latency_ms: 100 },
      { model_requested: 'm', status_code: 500, latency_ms: 900 }
    ])
    await store.write(records)
    t.equal((await queries.list(pageOf())).length, 2)
    const [row, ...others] = await queries.sums({
      from: writeRecordTime(START),
      to: writeRecordTime(START),
      by: ['hour', 'model'],
      limit: 10
    })
    t.same(others, [])
    t.match(row, {
      hour: writeRecordTime(START),
      model: 'm',
      protocol: null,
      requests: 2,
      errors: 1,
      input_tokens: 1,
      output_tokens: 2
    })
    t.ok((row?.latency_p50_ms ?? 0) >= 100 && (row?.latency_p50_ms ?? 0) <= 125)
    t.ok((row?.latency_p99_ms ?? 0) >= 900 && (row?.latency_p99_ms ?? 0) <= 1125)
  })

  t.test('a summary shows what its metadata says of the key, the stream and the ignored fields', async t => {
    const metadata = { lifecycle: 'streaming_completed', path: '/' }
    const { queries } = await createStore(t, [
      {
        alias: 'demo/a',
        profile_id: 'p',
        error_code: 'invalid_request',
        error_field: 'messages[0].content',
        metadata: { ...metadata, is_stream: true, first_token_ms: 12.5, ignored_fields: ['top_k'], api_key_name: 'ci' }
      },
      { metadata },
      { api_key_hash: 'k', metadata: { lifecycle: 'request_completed', path: '/' } }
    ])
    const [unknown, plain, whole] = await queries.list(pageOf())
    t.match(whole, {
      alias: 'demo/a',
      profile_id: 'p',
      error_code: 'invalid_request',
      error_field: 'messages[0].content',
      api_key_name: 'ci',
      is_stream: true,
      first_content_ms: 12.5,
      ignored_fields: ['top_k']
    })
    t.match(plain, { alias: null, error_code: null, is_stream: true, first_content_ms: null, ignored_fields: null })
    t.match(unknown, { api_key_name: null, is_stream: false })
    const select = async (filter: TrafficFilter) => (await queries.list(pageOf(filter))).map(({ id }) => id)
    t.same(await select({ alias: 'demo/a', profile_id: 'p', error_code: 'invalid_request' }), [whole?.id])
    t.same(await select({ alias: 'demo' }), [])
    t.same(await select({ stream: true }), [whole?.id], 'older records have no such member')
    t.same(await select({ stream: false }), [unknown?.id, plain?.id])
    t.same(await queries.estimate({ stream: true }), { records: 1, isLowerBound: false })
    t.same(await select({ key: UNKNOWN_KEY }), [unknown?.id])
    t.same(await select({ q: 'DEMO/' }), [whole?.id])
  })

  t.test('sums of minutes make buckets of any length below an hour, those of hours the others', async t => {
    const at = (seconds: number) => ({ created_at: writeRecordTime(START + seconds * 1000), input_tokens: 1 })
    const { queries } = await createStore(t, [0, 59, 60, 299, 300, 899, 900, 3599, 3600, 86_399, 86_400].map(at))
    const range = { from: writeRecordTime(START), to: writeRecordTime(START + 2 * 86_400_000), limit: 100 }
    const read = async (bucketSeconds: BucketSeconds, to = range.to) =>
      (await queries.sums({ ...range, to, by: ['time'], bucketSeconds })).map(({ time, requests }) => [
        (Date.parse(time ?? '') - START) / 1000,
        requests
      ])
    t.same(await read(60, writeRecordTime(START + 300_000)), [
      [0, 2],
      [60, 1],
      [240, 1],
      [300, 1]
    ])
    t.same((await read(300)).slice(0, 4), [
      [0, 4],
      [300, 1],
      [600, 1],
      [900, 1]
    ])
    t.same((await read(900)).slice(0, 3), [
      [0, 6],
      [900, 1],
      [2700, 1]
    ])
    t.same(await read(3600), [
      [0, 8],
      [3600, 1],
      [82_800, 1],
      [86_400, 1]
    ])
    t.same(await read(86_400), [
      [0, 10],
      [86_400, 1]
    ])
    const [first] = await queries.sums({ ...range, from: writeRecordTime(START + 900_000), by: [], bucketSeconds: 900 })
    t.match(first, { requests: 5, input_tokens: 5, time: null })
    const hours = await queries.sums({ ...range, by: ['hour'], bucketSeconds: 60 })
    t.same(hours.map(({ hour }) => hour).slice(0, 2), [writeRecordTime(START), writeRecordTime(START + 3_600_000)])
  })

  t.test('what clients make up is one group of the sums: keys and models that the gateway does not know', async t => {
    const refused = { status_code: 401, error_code: 'invalid_api_key', error_type: 'http_401' }
    const named = { metadata: { lifecycle: 'x', path: '/', api_key_name: 'ci' } }
    const { queries } = await createStore(t, [
      { api_key_hash: 'a', model_requested: 'm1', ...refused },
      { api_key_hash: 'b', model_requested: 'm2', ...refused },
      { model_requested: 'm3', ...named, status_code: 404, error_code: 'unknown_model_alias' },
      { model_requested: 'm4', model_effective: 'm4', status_code: 404, ...named },
      { model_requested: 'known', status_code: 429, error_code: 'rate_limit_exceeded', ...named },
      { model_requested: 'known', model_effective: 'k', status_code: 400, alias: 'known', profile_id: 'p', ...named }
    ])
    const range = { from: writeRecordTime(START), to: writeRecordTime(START), limit: 100 }
    for (const bucketSeconds of [60, 3600] as const) {
      const rows = await queries.sums({ ...range, bucketSeconds, by: ['model', 'api_key_name', 'error_code'] })
      t.same(
        rows.map(row => [row.model, row.api_key_name, row.error_code, row.requests]),
        [
          ['known', 'ci', '', 1],
          ['known', 'ci', 'rate_limit_exceeded', 1],
          ['other', UNKNOWN_KEY, 'invalid_api_key', 2],
          ['other', 'ci', '', 1],
          ['other', 'ci', 'unknown_model_alias', 1]
        ]
      )
    }
    t.match(await queries.sums({ ...range, by: [], key: UNKNOWN_KEY }), [{ requests: 2, errors: 2 }])
    t.match(await queries.sums({ ...range, by: ['alias', 'profile_id', 'provider'] }), [
      { alias: '', profile_id: '', provider: '', requests: 5 },
      { alias: 'known', profile_id: 'p', provider: '', requests: 1 }
    ])
  })

  t.test('names of any length have their sums', async t => {
    const long = '\u{1F600}'.repeat(256)
    const members = { model_requested: long, alias: long, profile_id: 'p'.repeat(64), error_code: 'c'.repeat(64) }
    const { queries } = await createStore(t, [members])
    const range = { from: writeRecordTime(START), to: writeRecordTime(START), limit: 10 }
    t.match(await queries.sums({ ...range, by: [] }), [{ requests: 1 }])
  })

  t.test('a purge deletes the sums of minutes before those of hours', async t => {
    const { store, queries } = await createStore(t, [{}, { created_at: writeRecordTime(START + 60_000) }])
    await store.purge({
      ...olderThan(writeRecordTime(START - 1)),
      minutesBefore: writeRecordTime(START + 60_500),
      batchSize: 9
    })
    const range = { from: writeRecordTime(START), to: writeRecordTime(START + 60_000), by: [], limit: 9 } as const
    t.match(await queries.sums({ ...range, bucketSeconds: 60 }), [{ requests: 1 }])
    t.match(await queries.sums({ ...range }), [{ requests: 2 }])
    await store.purge({ ...olderThan(writeRecordTime(START + 120_000)), batchSize: 9 })
    t.match(await queries.sums({ ...range, bucketSeconds: 60 }), [{ requests: 0 }])
  })

  t.test('keys 16: sums are kept by the names of keys, and are added up by day', async t => {
    const named = (name?: string) => ({ metadata: { lifecycle: 'x', path: '/', ...(name && { api_key_name: name }) } })
    const { store, queries } = await createStore(t, [
      { ...named('ci'), input_tokens: 1, api_key_hash: 'a' },
      // The second secret of a key has another hash.
      { ...named('ci'), input_tokens: 2, api_key_hash: 'b' },
      { ...named('web'), input_tokens: 4, api_key_hash: 'c' },
      named()
    ])
    const next = { created_at: writeRecordTime(START + 86_400_000), input_tokens: 8, api_key_hash: 'a' }
    await store.write([createRecord({ ...next, ...named('ci') })])
    const range = { from: writeRecordTime(START), to: writeRecordTime(START + 2 * 86_400_000), limit: 10 }
    const day = (text: string) => writeRecordTime(START + (text === 'next' ? 86_400_000 : 0)).slice(0, 10)
    const sums = await queries.sums({ ...range, by: ['day', 'api_key_name'] })
    t.same(
      sums.map(row => [row.day, row.api_key_name, row.requests, row.input_tokens]),
      [
        [day('first'), '', 1, 0],
        [day('first'), 'ci', 2, 3],
        [day('first'), 'web', 1, 4],
        [day('next'), 'ci', 1, 8]
      ]
    )
    const own = await queries.sums({ ...range, by: [], key: 'ci' })
    t.match(own, [{ requests: 3, input_tokens: 11, api_key_name: null, day: null }])
  })

  t.test('keys 17: a record has its cost, and sums add costs of one currency up exactly', async t => {
    const { queries } = await createStore(t, [
      { cost: 0.1, currency: 'USD', model_requested: 'a' },
      { cost: 0.2, currency: 'USD', model_requested: 'a' },
      { cost: 0.000000001, currency: 'USD', model_requested: 'a' },
      { model_requested: 'a' },
      { cost: 0, currency: 'USD', model_requested: 'free' },
      { cost: 9_007_199.254740991, currency: 'EUR', model_requested: 'b' },
      { model_requested: 'none' }
    ])
    const costs = (await queries.list(pageOf())).map(({ cost, currency }) => [cost, currency])
    t.same(costs.slice(0, 2), [
      [null, null],
      [9_007_199.254740991, 'EUR']
    ])
    t.same(costs.at(-1), [0.1, 'USD'])
    const range = { from: writeRecordTime(START), to: writeRecordTime(START), limit: 10 }
    const read = async (by: SumsRequest['by']) =>
      (await queries.sums({ ...range, by })).map(row => [row.model, row.requests, row.cost, row.currency])
    t.same(await read(['model']), [
      ['a', 4, 0.300000001, 'USD'],
      ['b', 1, 9_007_199.254740991, 'EUR'],
      ['free', 1, 0, 'USD'],
      ['none', 1, null, null]
    ])
    t.same(await read([]), [[null, 7, null, null]], 'costs in two currencies have no sum')
    t.same(await read(['currency']), [
      [null, 2, null, null],
      [null, 1, 9_007_199.254740991, 'EUR'],
      [null, 4, 0.300000001, 'USD']
    ])
  })

  t.test('of records with one id only the first is stored, and it counts once', async t => {
    const { store, queries, records } = await createStore(t, [{ request_id: 'first', input_tokens: 1 }])
    const again = records.map(record => ({ ...record, request_id: 'again' }))
    const others = [{ request_id: 'second' }, { request_id: 'third' }].map(one =>
      createRecord({ created_at: writeRecordTime(START), input_tokens: 10, request_body_redacted: {}, ...one })
    )
    await store.write([...again, ...others, ...others.map(one => ({ ...one, request_id: 'again' }))])
    t.same((await queries.list(pageOf())).map(({ request_id }) => request_id).sort(), ['first', 'second', 'third'])
    const sums = { from: writeRecordTime(START), to: writeRecordTime(START), by: [], limit: 10 }
    t.match(await queries.sums(sums), [{ requests: 3, input_tokens: 21 }])
  })

  t.test('texts with any characters are read back unchanged', async t => {
    const text = 'tab\t line\n return\r \\N \\. \\t {"a",NULL} \'quoted\' ü 😀'
    const { queries, records } = await createStore(t, [
      {
        model_requested: text,
        error_type: '\\N',
        error_message: '',
        metadata: { lifecycle: text, path: '\\' },
        request_body_redacted: { [text]: text },
        response_body_redacted: text
      },
      { error_message: '\\.' }
    ])
    const [id = '', other = ''] = records.map(record => record.id)
    t.match(await queries.find(id), {
      model_requested: text,
      model_effective: null,
      error_type: '\\N',
      error_message: '',
      metadata: { lifecycle: text, path: '\\' }
    })
    t.same(await queries.findPayload(id), {
      request_headers: null,
      request_body: { [text]: text },
      response_body: text
    })
    t.equal((await queries.find(other))?.error_message, '\\.')
  })

  t.test('what a database may not take is replaced', async t => {
    const { queries, records } = await createStore(t, [
      {
        model_requested: 'a\u0000b',
        metadata: { lifecycle: 'x', path: 'p\u0000\ud800\\u0000' },
        request_body_redacted: { 'k\u0000': '\ud83d' }
      }
    ])
    const [record] = records
    t.equal((await queries.find(record?.id ?? ''))?.id, record?.id)
    t.ok(await queries.findPayload(record?.id ?? ''))
    t.equal((await queries.list(pageOf({ model: 'a\u0000b' }))).length, 1, 'the same text finds it')
    t.same(await queries.list(pageOf({ caller: '\u0000', route: '\ud800' })), [])
  })

  t.test('the six characters of an escape are stored as they are, in names and in JSON', async t => {
    const text = 'C:\\u0000\\ud800 \\\\u0000'
    const { queries, records } = await createStore(t, [
      {
        model_requested: text,
        metadata: { lifecycle: text, path: '/', api_key_name: text, annotations: { caller: { name: text } } },
        request_body_redacted: { [text]: text }
      }
    ])
    const id = records[0]?.id ?? ''
    t.match(await queries.find(id), { model_requested: text, api_key_name: text, metadata: { lifecycle: text } })
    t.same((await queries.findPayload(id))?.request_body, { [text]: text })
    for (const filter of [{ model: text }, { key: text }, { caller: text }]) {
      t.equal((await queries.list(pageOf(filter))).length, 1, JSON.stringify(filter))
    }
    const sums = await queries.sums({
      ...{ from: writeRecordTime(START), to: writeRecordTime(START), limit: 10 },
      by: ['model', 'api_key_name']
    })
    t.match(sums, [{ model: text, api_key_name: text, requests: 1 }])
  })

  t.test('records of several months are one list', async t => {
    const times = ['2025-12-31T23:59:59.999999Z', '2026-01-01T00:00:00.000000Z', '2026-02-28T12:00:00.000000Z']
    const { queries } = await createStore(
      t,
      times.map(created_at => ({ created_at }))
    )
    t.same(
      (await queries.list(pageOf())).map(({ created_at }) => created_at),
      times.reverse()
    )
  })

  t.test('a redaction empties what it names, and the error message with a body', async t => {
    const { store, queries, records } = await createStore(t, [
      {
        error_message: 'quoted',
        request_headers_redacted: { accept: 'x' },
        request_body_redacted: { model: 'm' },
        response_body_redacted: 'text'
      }
    ])
    const id = records[0]?.id ?? ''
    const mark = (fields: string[]) => ({ manual_redaction: { fields, redacted_at: '2026-01-05T10:00:00.000000Z' } })
    t.equal(await store.redact(id, ['request_headers'], mark(['request_headers'])), true)
    t.match(await queries.find(id), { error_message: 'quoted', has_request_body: true, has_response_body: true })
    t.equal(await store.redact(id, ['request_body'], mark(['request_body'])), true)
    t.match(await queries.find(id), {
      error_message: null,
      has_request_body: false,
      has_response_body: true,
      metadata: { lifecycle: 'request_completed', ...mark(['request_body']) }
    })
    t.same(await queries.findPayload(id), { request_headers: null, request_body: null, response_body: 'text' })
    t.equal(await store.redact(UNKNOWN_ID, ['request_body'], mark([])), false)
  })

  t.test('a purge deletes the oldest records in batches, with their content', async t => {
    const { store, queries } = await createStore(t, [
      { request_id: '0', created_at: '2025-11-05T10:00:00.000000Z', request_body_redacted: {} },
      ...['1', '2', '3', '4'].map(request_id => ({ request_id, request_body_redacted: {} }))
    ])
    const request = { ...olderThan(writeRecordTime(START + 4000)), batchSize: 2 }
    const first = await store.purge(request)
    t.same(first, { deleted: 2, until: writeRecordTime(START + 1000), isComplete: false })
    t.same(
      (await queries.list(pageOf())).map(({ request_id }) => request_id),
      ['4', '3', '2']
    )
    const second = await store.purge({ ...request, from: first.until })
    t.same(second, { deleted: 2, until: writeRecordTime(START + 3000), isComplete: false })
    const last = { deleted: 0, until: undefined, isComplete: true }
    t.same(await store.purge({ ...request, from: second.until }), last)
    t.same(
      (await queries.list(pageOf())).map(({ request_id }) => request_id),
      ['4']
    )
    t.same(await store.purge(request), last)
    await store.write([createRecord({ created_at: '2025-11-05T10:00:00.000000Z' })])
    t.equal((await queries.list(pageOf())).length, 2, 'a record of a month that was deleted can still come')
  })

  t.test('a purge keeps the sums of an hour that still has records', async t => {
    const times = ['2026-01-05T09:59:59.999999Z', '2026-01-05T10:10:00.000000Z', '2026-01-05T10:50:00.000000Z']
    const { store, queries } = await createStore(
      t,
      times.map(created_at => ({ created_at }))
    )
    const hours = async () => {
      const rows = await queries.sums({
        from: '2026-01-05T00:00:00.000000Z',
        to: times[2] ?? '',
        by: ['hour'],
        limit: 9
      })
      return rows.map(({ hour, requests }) => [hour?.slice(11, 13), requests])
    }
    t.match(await store.purge({ ...olderThan('2026-01-05T10:30:00.000000Z'), batchSize: 9 }), {
      deleted: 2,
      isComplete: true
    })
    t.same(await hours(), [['10', 2]], 'as it was, because sums are not reduced')
    await store.purge({ ...olderThan('2026-01-05T11:00:00.000000Z'), batchSize: 9 })
    t.same(await hours(), [])
  })

  t.test(
    'field-lessons.md L12: a purge may keep records of failed requests longer, with the sums of their hours',
    async t => {
      const failed = {
        1: { status_code: 500 },
        3: { error_type: 'timeout' },
        4: { status_code: 429 },
        6: { status_code: 400 }
      }
      const { store, queries } = await createStore(
        t,
        Array.from({ length: 9 }, (_, index) => ({
          request_id: `${index}`,
          status_code: 200,
          request_body_redacted: {},
          created_at: index < 2 ? `2025-11-05T10:00:0${index}.000000Z` : writeRecordTime(START + index * 1000),
          ...failed[index as keyof typeof failed]
        }))
      )
      const cutoffs = { before: writeRecordTime(START + 7000), failedBefore: writeRecordTime(START + 4000) }
      t.equal(await queries.countExpired(cutoffs), 5)
      const left = async () => (await queries.list(pageOf())).map(({ request_id }) => request_id)
      let from: string | undefined
      const deleted: number[] = []
      for (let isComplete = false; !isComplete; ) {
        const result = await store.purge({ ...cutoffs, batchSize: 2, from })
        deleted.push(result.deleted)
        isComplete = result.isComplete
        from = result.until
      }
      t.same(deleted, [2, 2, 1])
      t.same(await left(), ['8', '7', '6', '4'])
      t.equal(await queries.countExpired(cutoffs), 0)
      const [kept] = await queries.list(pageOf({ request_id: '4' }))
      t.same((await queries.findPayload(kept?.id ?? ''))?.request_body, {}, 'with their content')
      const sums = await queries.sums({
        from: '2026-01-05T00:00:00.000000Z',
        to: '2026-01-06T00:00:00.000000Z',
        by: [],
        limit: 9
      })
      t.equal(sums[0]?.requests, 7, 'sums of hours with kept records stay as they were')
      await store.purge({ ...olderThan(writeRecordTime(START + 7000)), batchSize: 9 })
      t.same(await left(), ['8', '7'])
    }
  )

  t.test('field-lessons.md L11: content can be deleted before its records', async t => {
    const content = {
      request_headers_redacted: { accept: '*/*' },
      request_body_redacted: { a: 1 },
      response_body_redacted: { b: 2 }
    }
    const { store, queries, records } = await createStore(t, [
      { request_id: '0', created_at: '2025-11-05T10:00:00.000000Z', ...content },
      { request_id: '1' },
      ...['2', '3', '4'].map(request_id => ({ request_id, ...content }))
    ])
    const before = writeRecordTime(START + 4000)
    t.same(await store.purgeContent(before, 2), { deleted: 2, isComplete: false })
    t.same(await store.purgeContent(before, 2), { deleted: 1, isComplete: true })
    t.same(await store.purgeContent(before, 2), { deleted: 0, isComplete: true })
    const rows = await queries.list(pageOf())
    t.same(
      rows.map(row => [row.request_id, row.has_request_body, row.has_response_body]),
      [
        ['4', true, true],
        ['3', false, false],
        ['2', false, false],
        ['1', false, false],
        ['0', false, false]
      ]
    )
    const nothing = { request_headers: null, request_body: null, response_body: null }
    t.same(await queries.findPayload(records[2]?.id ?? ''), nothing)
    t.match(await queries.findPayload(records[4]?.id ?? ''), { request_body: { a: 1 }, response_body: { b: 2 } })
    const late = createRecord({ created_at: '2025-11-05T10:00:00.000000Z', ...content })
    await store.write([late])
    t.match(
      await queries.findPayload(late.id),
      { request_body: { a: 1 } },
      'content of a month that was deleted can still come'
    )
  })

  t.test('the status tells how many records there are about, since when, and their size', async t => {
    const { store, queries } = await createStore(t, [])
    t.match(await queries.readStatus({}), { recordsEstimate: 0, oldest: null })
    await store.write([2, 0, 1].map(second => createRecord({ created_at: writeRecordTime(START + second * 1000) })))
    // Postgres counts some time after the transaction.
    let status = await queries.readStatus({})
    while (status.recordsEstimate !== 3) status = await queries.readStatus({})
    t.equal(status.oldest, writeRecordTime(START))
    t.ok(status.bytes > 1000)
    t.equal(status.walBytes === null, store.name === 'postgres')
  })

  t.test('the audit takes its entries, and the oldest are deleted in batches', async t => {
    const { store } = await createStore(t, [])
    for (let second = 0; second < 5; second += 1) {
      await store.audit({
        created_at: writeRecordTime(START + second * 1000),
        request_id: 'r',
        action: 'list',
        target: null,
        outcome: 'ok',
        row_count: 3,
        admin_key_hash: 'h',
        client_ip_hash: null
      })
    }
    const before = writeRecordTime(START + 3000)
    t.same(await store.purgeAudit(before, 2), { deleted: 2, isComplete: false })
    t.same(await store.purgeAudit(before, 2), { deleted: 1, isComplete: true })
    t.same(await store.purgeAudit(writeRecordTime(START + 9000), 9), { deleted: 2, isComplete: true })
  })
}
