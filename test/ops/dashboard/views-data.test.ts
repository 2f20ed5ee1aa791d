import t from 'tap'
import { describeRecord, listTimings } from '../../../ops/dashboard/src/data/describe-record.ts'
import { addUp, describeGroups, describeWhole } from '../../../ops/dashboard/src/data/figures.ts'
import {
  formatAmount,
  formatDuration,
  formatPercent,
  formatText,
  formatTime
} from '../../../ops/dashboard/src/data/format.ts'
import { listUsedLimits, readBudget, readMeter } from '../../../ops/dashboard/src/data/keys.ts'
import { monthOf } from '../../../ops/dashboard/src/data/ranges.ts'
import { describeCourse, describeSpend, formatCosts, totalSpend } from '../../../ops/dashboard/src/data/spend.ts'
import type { SumsRow, TrafficSummary } from '../../../shared/traffic/query.ts'

const nowMs = Date.UTC(2026, 0, 5, 10, 30)
const range = { fromMs: nowMs - 2.5 * 3_600_000, toMs: nowMs }
const bucket = 3600

function row(time: string, members: Partial<SumsRow>): SumsRow {
  return {
    time,
    hour: null,
    day: null,
    protocol: null,
    model: null,
    alias: null,
    profile_id: null,
    provider: null,
    api_key_hash: null,
    api_key_name: null,
    error_code: null,
    requests: 10,
    errors: 1,
    input_tokens: 5,
    output_tokens: 2,
    cost: null,
    currency: null,
    latency_p50_ms: 1,
    latency_p95_ms: 2,
    latency_p99_ms: 3,
    ...members
  }
}

t.test('parts of a range without requests have no rate and no latency', async t => {
  const rows = [row('2026-01-05T09:00:00+00:00', {})]
  const figures = describeWhole({ range, bucket, totals: rows, timed: rows })
  t.same(
    figures.parts.map(seconds => new Date(seconds * 1000).toISOString().slice(11, 16)),
    ['08:00', '09:00', '10:00']
  )
  t.match(figures.requests, [
    { label: 'Succeeded', values: [0, 9, 0], whole: 9, filter: { has_error: 'false' } },
    { label: 'Failed', values: [0, 1, 0], whole: 1, filter: { has_error: 'true' } }
  ])
  t.match(figures.errorRate, [{ label: 'Failed', values: [null, 10, null], whole: 10 }])
  t.same(
    figures.latency.map(({ label, values }) => [label, values[1], values[0]]),
    [
      ['p50', 1, null],
      ['p95', 2, null],
      ['p99', 3, null]
    ]
  )
})

t.test('the largest groups are shown with the filter of their records, the rest as one', async t => {
  const time = '2026-01-05T10:00:00+00:00'
  const rows = [
    ...Array.from({ length: 9 }, (_, index) => row(time, { model: `m${index}`, requests: index + 1 })),
    row(time, { model: null, requests: 100 }),
    row(time, { model: 'other', requests: 50 })
  ]
  const figures = describeGroups({ range, bucket, totals: rows, timed: rows }, 'model')
  t.same(
    figures.requests.map(({ label, values, filter }) => [label, values[2], filter]),
    [
      ['(none)', 100, undefined],
      // Models that clients made up: their records have other names.
      ['other', 50, undefined],
      ['m8', 9, { model: 'm8' }],
      ['m7', 8, { model: 'm7' }],
      ['m6', 7, { model: 'm6' }],
      ['m5', 6, { model: 'm5' }],
      ['others', 15, undefined]
    ]
  )
  t.equal(figures.latency.length, 6, 'percentiles of the rest cannot be added')
  t.same(addUp(rows.slice(0, 9)), { requests: 45, errors: 9, inputTokens: 45, outputTokens: 18 })
})

t.test('keys 16: a limit shows what of it is used, also where that is unknown', async t => {
  const holder = {
    name: 'ci',
    models: null,
    limits: { requests_per_minute: 1000, budget: { amount: 20, period: 'month' as const } },
    usage: { requests_per_minute: 250, budget: { cost: 20.031, period_ends_at: '2026-12-01T00:00:00.000000+00:00' } }
  }
  t.same(readMeter(holder, 'requests_per_minute'), { share: 0.25, text: '250 of 1,000' })
  t.equal(readMeter(holder, 'tokens_per_minute'), undefined)
  t.match(readBudget(holder, 'USD'), { text: '20.03 of 20.00 USD', note: 'per month, until 2026-12-01' })
  const silent = { ...holder, usage: null }
  t.same(readMeter(silent, 'requests_per_minute'), { share: undefined, text: '– of 1,000' })
  t.match(readBudget(silent, 'USD'), { share: undefined, text: '– of 20.00 USD', note: 'per month' })
  t.same(listUsedLimits([holder]), ['requests_per_minute', 'budget'])
  t.same([0, 1234.567, 0.0004213, 0.00000004].map(formatAmount), ['0.00', '1,234.57', '0.000421', '<0.000001'])
  t.same([0, 100, 0.02, 99.97, 18, 6.55].map(formatPercent), ['0%', '100%', '<0.1%', '>99.9%', '18.0%', '6.6%'])
})

t.test('keys 16: spend is a row for each group, with an amount of each currency', async t => {
  const spent = (day: string, name: string | null, cost: number | null, currency = 'USD') =>
    row('', { day, api_key_name: name, cost, currency: cost === null ? null : currency })
  const rows = [
    spent('2026-11-01', 'ci', 1),
    spent('2026-11-01', 'ci', null),
    spent('2026-11-01', 'ci', 2, 'EUR'),
    spent('2026-11-02', 'ci', 0.5),
    spent('2026-11-02', 'web', 4),
    { ...spent('2026-11-02', null, null), input_tokens: 0, output_tokens: 0 }
  ]
  const shown = (groups: Parameters<typeof describeSpend>[1]) =>
    describeSpend(rows, groups).map(({ names, costs, unpricedTokens }) => [
      ...names,
      formatCosts(costs),
      unpricedTokens
    ])
  t.same(shown(['api_key_name']), [
    ['web', '4.00 USD', 0],
    ['ci', '1.50 USD + 2.00 EUR', 7]
  ])
  t.same(shown(['day', 'api_key_name']), [
    ['2026-11-02', 'web', '4.00 USD', 0],
    ['2026-11-02', 'ci', '0.50 USD', 0],
    ['2026-11-01', 'ci', '1.00 USD + 2.00 EUR', 7]
  ])
  const parts = [Date.UTC(2026, 10, 1) / 1000, Date.UTC(2026, 10, 2) / 1000]
  const timed = rows.map(one => ({ ...one, time: `${one.day}T00:00:00.000000+00:00` }))
  t.match(describeCourse(timed, parts, 'api_key_name'), [
    { label: 'web', values: [0, 4], whole: 4 },
    { label: 'ci', values: [3, 0.5], whole: 3.5 }
  ])
  t.match(totalSpend(rows), { requests: 60, inputTokens: 25, unpricedTokens: 7 })
  t.equal(formatCosts(new Map()), '–')
  t.same(monthOf(nowMs), { fromMs: Date.UTC(2026, 0, 1), toMs: nowMs })
})

t.test('members of an unexpected kind are text, not failures', async t => {
  const record = { metadata: 'text', model_requested: { a: 1 }, latency_ms: 'x' } as unknown as TrafficSummary
  t.same(listTimings(record), [])
  t.same(describeRecord(record)[0]?.facts, [['Requested model', { a: 1 }]])
  t.equal(formatText({ a: 1 }), '{"a":1}')
  t.equal(formatTime(5), '–')
  t.equal(formatDuration(null), '–')
})

t.test('the upstream call ends the time of the request, and the moments of a stream are on the same scale', async t => {
  const metadata = { first_token_ms: 35, stream: { first_event_ms: 40, last_event_ms: 99, event_count: 7 } }
  const record = { latency_ms: 100, upstream_latency_ms: 70, metadata } as unknown as TrafficSummary
  t.same(listTimings(record), [
    { label: 'Gateway', fromMs: 0, toMs: 100 },
    { label: 'Upstream', fromMs: 30, toMs: 100 },
    { label: 'First token', fromMs: 35, toMs: 35, isMoment: true },
    { label: 'First event', fromMs: 40, toMs: 40, isMoment: true },
    { label: 'Last event', fromMs: 99, toMs: 99, isMoment: true }
  ])
})

t.test('the facts of a record name the fields without effect (decisions.md 70)', async t => {
  const factsOf = (metadata: object) =>
    describeRecord({ metadata } as unknown as TrafficSummary).flatMap(({ facts }) => facts)
  t.strictSame(factsOf({ ignored_fields: ['reasoning.summary', 'tools[8]', '?'] }), [
    ['Fields without effect', 'reasoning.summary, tools[8], ?']
  ])
  t.strictSame(factsOf({ ignored_fields: [] }), [])
  t.strictSame(factsOf({}), [])
})
