import t from 'tap'
import { type MetricDefinition, metricDefinitions, metricNames } from '../../../shared/metrics/definitions.ts'
import { createMetricRegistry, type MetricRegistry } from '../../../shared/metrics/registry.ts'
import { createMetricsAggregator } from '../../../supervisor/metrics/aggregator.ts'
import { createExposition } from '../../../supervisor/metrics/exposition.ts'
import { readMetricsText } from '../../support/metrics-text.ts'
import * as fc from '../../support/properties.ts'

/** The text of what these calls count. */
async function write(
  count: (registry: MetricRegistry) => void,
  format: 'text' | 'openmetrics' = 'text'
): Promise<string> {
  const aggregator = createMetricsAggregator({ nowMs: () => 1_700_000_000_250 }, { modelsMax: 200 })
  const registry = createMetricRegistry()
  count(registry)
  const delta = registry.takeDelta()
  if (delta !== undefined) aggregator.apply(1, delta)
  return Buffer.from(await createExposition(aggregator).write(format)).toString()
}

t.test(
  'every series is there from the start, in the order of its definition, with zeros and without labels',
  async t => {
    const { families } = readMetricsText(await write(() => undefined))
    t.same(
      families.map(({ name, type, help }) => ({ name, type, help })),
      metricNames.map(name => ({ name, type: metricDefinitions[name].type, help: metricDefinitions[name].help }))
    )
    for (const { name, samples } of families) {
      const definition: MetricDefinition = metricDefinitions[name as (typeof metricNames)[number]]
      t.equal(samples.length, definition.type === 'histogram' ? definition.buckets.length + 3 : 1, name)
      for (const { labels, value } of samples)
        t.same([Object.keys(labels).filter(label => label !== 'le'), value], [[], 0])
    }
  }
)

t.test('the text is exactly that of the contract', async t => {
  const text = await write(registry => {
    const labels = { protocol: 'openai', method: 'POST', route: '/v1/chat/completions', lifecycle: 'request_completed' }
    registry
      .counter('gateway_requests_total')
      .with({ ...labels, provider: 'native', status: '200' })
      .add(2)
    registry.counter('gateway_requests_total').with({ method: 'OTHER', route: 'a"b\\c\nd' }).add(1e15)
    registry
      .histogram('gateway_upstream_duration_seconds')
      .with({ status: '200' })
      .observe(1 / 3)
    registry.histogram('gateway_upstream_duration_seconds').with({ status: '200' }).observe(120)
  })
  const start = text.slice(0, text.indexOf('# HELP gateway_request_duration_seconds'))
  t.equal(
    start,
    [
      '# HELP gateway_requests_total Total number of gateway HTTP requests.',
      '# TYPE gateway_requests_total counter',
      'gateway_requests_total{lifecycle="request_completed",method="POST",protocol="openai",provider="native",route="/v1/chat/completions",status="200"} 2',
      'gateway_requests_total{method="OTHER",route="a\\"b\\\\c\\nd"} 1000000000000000',
      ''
    ].join('\n')
  )
  const durations = text.slice(text.indexOf('# HELP gateway_upstream_d'), text.indexOf('# HELP gateway_upstream_e'))
  const bounds = ['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '30', '60', '+Inf']
  const counts = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2]
  t.equal(
    durations,
    [
      '# HELP gateway_upstream_duration_seconds Upstream provider call duration in seconds.',
      '# TYPE gateway_upstream_duration_seconds histogram',
      ...bounds.map(
        (le, index) => `gateway_upstream_duration_seconds_bucket{status="200",le="${le}"} ${counts[index]}`
      ),
      'gateway_upstream_duration_seconds_sum{status="200"} 120.333333333',
      'gateway_upstream_duration_seconds_count{status="200"} 2',
      ''
    ].join('\n')
  )
  readMetricsText(text)
})

t.test('OpenMetrics has creation times and an end, and no exemplars (specification.md 6.2)', async t => {
  const text = await write(registry => {
    registry.counter('gateway_upstream_retries_total').with({ provider: 'native' }).add(2)
    const overheads = registry.histogram('gateway_overhead_seconds').with({ protocol: 'openai' })
    overheads.observe(0.75)
    overheads.observe(0.0001)
  }, 'openmetrics')
  const scrape = readMetricsText(text, 'openmetrics')
  t.match(scrape.family('gateway_upstream_retries').samples, [
    { name: 'gateway_upstream_retries_total', labels: { provider: 'native' }, value: 2 },
    { name: 'gateway_upstream_retries_created', labels: { provider: 'native' }, value: 1700000000.25 }
  ])
  const overheads = scrape.family('gateway_overhead_seconds').samples
  t.match(overheads.at(-1), { name: 'gateway_overhead_seconds_created', value: 1700000000.25 })
  t.notOk(overheads.some(({ exemplar }) => exemplar !== undefined))
  t.equal(scrape.families.length, metricNames.length)
  t.notMatch(await write(() => undefined), /_created|# EOF/)
})

t.test('every counted value is read back unchanged', async t => {
  const value = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\n', '{}', '}', ' 1', '\\n', ','))
  const sample = fc.record({ route: value, status: value, amount: fc.nat(1e6) })
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { maxLength: 40 }), async samples => {
      const wanted = new Map<string, number>()
      const text = await write(registry => {
        for (const { route, status, amount } of samples) {
          const labels = { ...(route !== '' && { route }), ...(status !== '' && { status }) }
          registry.counter('gateway_upstream_errors_total').with({ route, status }).add(amount)
          registry.histogram('gateway_upstream_duration_seconds').with({ route, status }).observe(amount)
          const key = JSON.stringify(labels)
          wanted.set(key, (wanted.get(key) ?? 0) + amount)
        }
      })
      const scrape = readMetricsText(text)
      const read = scrape
        .family('gateway_upstream_errors_total')
        .samples.map(one => [JSON.stringify(one.labels), one.value])
      const sums = scrape.samples('gateway_upstream_duration_seconds_sum')
      const all = new Map(samples.length === 0 ? [['{}', 0]] : wanted)
      t.same(new Map(read as Array<[string, number]>), all)
      t.same(new Map(sums.map(one => [JSON.stringify(one.labels), one.value])), all)
    }),
    { numRuns: 50 }
  )
})

t.test('K4: the text of many samples is written in slices', async t => {
  const aggregator = createMetricsAggregator({ nowMs: () => 0 }, { modelsMax: 200 })
  const registry = createMetricRegistry()
  const durations = registry.histogram('gateway_request_duration_seconds')
  for (let index = 0; index < 1000; index += 1) durations.with({ route: `/${index}` }).observe(1)
  const delta = registry.takeDelta()
  if (delta !== undefined) aggregator.apply(1, delta)
  let turns = 0
  let isWritten = false
  const count = () => {
    turns += 1
    if (!isWritten) setImmediate(count)
  }
  setImmediate(count)
  const text = Buffer.from(await createExposition(aggregator).write('text')).toString()
  isWritten = true
  t.ok(turns >= 16, `${turns} turns of the event loop for ${text.split('\n').length} lines`)
  t.equal(readMetricsText(text).samples('gateway_request_duration_seconds_count').length, 1000)
})
