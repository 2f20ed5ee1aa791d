import t from 'tap'
import { findBucket, type MetricName, metricDefinitions, metricNames } from '../../../shared/metrics/definitions.ts'
import type { MetricsDelta } from '../../../shared/metrics/delta.ts'
import { createModelBound } from '../../../shared/metrics/limits.ts'
import { createMetricRegistry } from '../../../shared/metrics/registry.ts'

const indexOf = (name: MetricName) => metricNames.indexOf(name)

function plain(delta: MetricsDelta | undefined) {
  if (delta === undefined) return undefined
  return { ...delta, cells: [...delta.cells], values: [...delta.values] }
}

t.test('every label name of every series is one of the seven, and sorted', async t => {
  for (const [name, { labels }] of Object.entries(metricDefinitions)) {
    t.same(labels, [...labels].sort(), name)
    t.ok(/^gateway_[a-z0-9_]+$/.test(name), name)
  }
})

t.test('a delta holds each label set once and what was added since the last one', async t => {
  const registry = createMetricRegistry()
  const requests = registry.counter('gateway_requests_total')
  const labels = { protocol: 'openai', method: 'POST', status: '200' }
  requests.with(labels).add(1)
  requests.with({ ...labels, status: '500' }).add(2)
  requests.with(labels).add(3)
  const series = indexOf('gateway_requests_total')
  t.same(plain(registry.takeDelta()), {
    labelSets: [
      [series, [null, 'POST', 'openai', null, null, '200']],
      [series, [null, 'POST', 'openai', null, null, '500']]
    ],
    cells: [0, 1],
    values: [4, 2]
  })
  t.equal(registry.takeDelta(), undefined, 'nothing changed')
  requests.with(labels).add(5)
  t.same(plain(registry.takeDelta()), { labelSets: [], cells: [0], values: [5] })
})

t.test('values in the order of the labels find the same sample as labels by name', async t => {
  const registry = createMetricRegistry()
  const errors = registry.counter('gateway_upstream_errors_total')
  t.equal(
    errors.at('openai', 'native', '/a', '500'),
    errors.with({ protocol: 'openai', provider: 'native', route: '/a', status: '500' })
  )
  t.equal(errors.at(undefined, undefined, '/a', undefined), errors.with({ route: '/a' }))
  const overflow = registry.counter('gateway_metrics_overflow_total')
  t.equal(overflow.at(), overflow.with({}))
})

t.test('a histogram travels as the counts of its buckets and its sum', async t => {
  const registry = createMetricRegistry()
  const cell = registry.histogram('gateway_overhead_seconds').with({ protocol: 'openai' })
  cell.observe(0.0001)
  cell.observe(0.002)
  cell.observe(0.0021)
  cell.observe(7)
  const delta = plain(registry.takeDelta())
  t.same(delta?.values, [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0.0001 + 0.002 + 0.0021 + 7])
})

t.test('a gauge travels as its value, and probes set theirs before a delta', async t => {
  const registry = createMetricRegistry()
  const inFlight = registry.gauge('gateway_requests_in_flight').with({ protocol: 'openai' })
  inFlight.add(3)
  inFlight.add(-1)
  let late = 0
  registry.onCollect(() => registry.gauge('gateway_metrics_late_workers').with({}).set(late))
  t.same(plain(registry.takeDelta())?.values, [2, 0])
  t.equal(registry.takeDelta(), undefined, 'a gauge with the same value did not change')
  late = 1
  inFlight.add(1)
  t.same(plain(registry.takeDelta())?.values, [3, 1])
})

t.test('beyond the limit of label sets samples are counted under one overflow route', async t => {
  const registry = createMetricRegistry({ labelSetsMax: 3 })
  const requests = registry.counter('gateway_requests_total')
  for (let index = 0; index < 10; index += 1) requests.with({ route: `/r${index}` }).add(1)
  const delta = plain(registry.takeDelta())
  t.same(delta?.labelSets.slice(0, 4), [
    [0, [null, null, null, null, '/r0', null]],
    [0, [null, null, null, null, '/r1', null]],
    [0, [null, null, null, null, '/r2', null]],
    [0, [null, null, null, null, 'overflow', null]]
  ])
  t.equal(delta?.labelSets[4]?.[0], indexOf('gateway_metrics_overflow_total'))
  const readCell = (cell: number) => delta?.values[delta.cells.indexOf(cell)]
  t.same([0, 1, 2, 3, 4].map(readCell), [1, 1, 1, 7, 7])
})

t.test('the array of numbers grows with the samples', async t => {
  const registry = createMetricRegistry()
  const durations = registry.histogram('gateway_request_duration_seconds')
  for (let index = 0; index < 500; index += 1) durations.with({ route: `/r${index}` }).observe(index)
  const delta = registry.takeDelta()
  t.equal(delta?.values.length, 500 * 15)
  for (let index = 0; index < 500; index += 1) t.equal(delta?.values[index * 15 + 14], index)
})

t.test('a value belongs to the first bucket whose bound is not below it', async t => {
  t.same(
    [0, 1, 1.5, 2, 3].map(value => findBucket([1, 2], value)),
    [0, 0, 1, 1, 2]
  )
})

t.test('a model keeps its name while there are not too many', async t => {
  const nameOf = createModelBound(2)
  t.same(['a', 'b', 'c', 'a', 'other'].map(nameOf), ['a', 'b', 'other', 'a', 'other'])
})
