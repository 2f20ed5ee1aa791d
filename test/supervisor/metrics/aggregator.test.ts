import t from 'tap'
import type { MetricName } from '../../../shared/metrics/definitions.ts'
import { createMetricRegistry, type MetricRegistry } from '../../../shared/metrics/registry.ts'
import { createMetricsAggregator, type MetricsAggregator } from '../../../supervisor/metrics/aggregator.ts'
import * as fc from '../../support/properties.ts'

const nowMs = () => 1000

function create(options: { modelsMax?: number; labelSetsMax?: number } = {}) {
  return createMetricsAggregator({ nowMs }, { modelsMax: 200, ...options })
}

function report(aggregator: MetricsAggregator, owner: number, registry: MetricRegistry): void {
  const delta = registry.takeDelta()
  if (delta !== undefined) t.ok(aggregator.apply(owner, delta))
}

/** Labels and numbers of all samples of a series. */
function read(aggregator: MetricsAggregator, name: MetricName) {
  return aggregator.read(name).map(({ labels, values }) => [labels, ...values])
}

t.test('K1: the counts of all processes are added up, sorted by label tuples', async t => {
  const aggregator = create()
  const workers = [createMetricRegistry(), createMetricRegistry()]
  for (const [index, worker] of workers.entries()) {
    const requests = worker.counter('gateway_requests_total')
    requests.with({ route: '/b', provider: 'native' }).add(1)
    requests.with({ route: '/a' }).add(10)
    requests.with({ method: 'GET', route: `/only-${index}` }).add(100)
    report(aggregator, index + 1, worker)
  }
  t.same(read(aggregator, 'gateway_requests_total'), [
    [{ method: 'GET', route: '/only-0' }, 100],
    [{ method: 'GET', route: '/only-1' }, 100],
    [{ provider: 'native', route: '/b' }, 2],
    [{ route: '/a' }, 20]
  ])
})

t.test('K3: what an exited process counted stays, its gauges vanish', async t => {
  const aggregator = create()
  const workers = [createMetricRegistry(), createMetricRegistry()]
  for (const [index, worker] of workers.entries()) {
    worker.counter('gateway_requests_total').with({ route: '/a' }).add(1)
    worker
      .gauge('gateway_requests_in_flight')
      .with({ protocol: 'openai' })
      .add(index + 2)
    report(aggregator, index + 1, worker)
  }
  t.same(read(aggregator, 'gateway_requests_in_flight'), [[{ protocol: 'openai' }, 5]])
  aggregator.releaseOwner(1)
  t.same(read(aggregator, 'gateway_requests_in_flight'), [[{ protocol: 'openai' }, 3]])
  aggregator.releaseOwner(2)
  t.same(read(aggregator, 'gateway_requests_in_flight'), [])
  t.same(read(aggregator, 'gateway_requests_total'), [[{ route: '/a' }, 2]])
  const respawned = createMetricRegistry()
  respawned.counter('gateway_requests_total').with({ route: '/a' }).add(4)
  report(aggregator, 3, respawned)
  t.same(read(aggregator, 'gateway_requests_total'), [[{ route: '/a' }, 6]])
})

t.test('K5: the bound of model names holds for all processes together', async t => {
  const aggregator = create({ modelsMax: 2 })
  for (const owner of [1, 2]) {
    const worker = createMetricRegistry()
    for (const model of [`m${owner}`, `n${owner}`]) {
      worker.counter('gateway_tokens_input_total').with({ model }).add(1)
    }
    report(aggregator, owner, worker)
  }
  t.same(read(aggregator, 'gateway_tokens_input_total'), [
    [{ model: 'm1' }, 1],
    [{ model: 'n1' }, 1],
    [{ model: 'other' }, 2]
  ])
})

t.test('the bound of label sets holds for all processes together', async t => {
  const aggregator = create({ labelSetsMax: 2 })
  for (const owner of [1, 2]) {
    const worker = createMetricRegistry()
    for (const route of ['/a', '/b'])
      worker
        .counter('gateway_requests_total')
        .with({ route: route + owner })
        .add(1)
    worker.counter('gateway_upstream_retries_total').with({ provider: 'native' }).add(1)
    report(aggregator, owner, worker)
  }
  t.same(read(aggregator, 'gateway_requests_total'), [
    [{ route: '/a1' }, 1],
    [{ route: '/b1' }, 1],
    [{ route: 'overflow' }, 2]
  ])
  t.same(read(aggregator, 'gateway_upstream_retries_total'), [[{}, 2]])
  t.same(read(aggregator, 'gateway_metrics_overflow_total'), [[{}, 4]])
})

t.test('a delta that fits nothing is refused as a whole', async t => {
  const aggregator = create()
  const nothing = { labelSets: [], cells: new Uint32Array(), values: new Float64Array() }
  const one = { ...nothing, labelSets: [[0, [null, null, null, null, '/a', null]]] as const }
  for (const delta of [
    { ...nothing, cells: Uint32Array.of(0), values: Float64Array.of(1) },
    { ...one, cells: Uint32Array.of(0), values: Float64Array.of(1, 2) },
    { ...one, cells: Uint32Array.of(1), values: Float64Array.of(1) },
    { ...nothing, labelSets: [[9999, []]] as const },
    { ...nothing, labelSets: [[0, ['x']]] as const },
    { ...nothing, labelSets: [[0, [null, null, null, null, 5, null]]] as unknown as typeof one.labelSets }
  ]) {
    t.notOk(aggregator.apply(1, delta))
  }
  t.same(read(aggregator, 'gateway_requests_total'), [])
  t.ok(aggregator.apply(1, { ...one, cells: Uint32Array.of(0), values: Float64Array.of(1) }))
})

t.test('the totals are the sum of everything that was reported, whichever processes exit in between', async () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('count' as const), worker: fc.nat(3), route: fc.nat(4) }) },
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('observe' as const), worker: fc.nat(3), route: fc.nat(4) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('report' as const), worker: fc.nat(3), route: fc.nat(4) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('exit' as const), worker: fc.nat(3), route: fc.nat(4) }) }
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const aggregator = create()
      let lastOwner = 4
      const workers = [1, 2, 3, 4].map(owner => ({ owner, registry: createMetricRegistry() }))
      const reported = { counts: 0, observations: 0, seconds: 0 }
      const pending = workers.map(() => ({ counts: 0, observations: 0, seconds: 0 }))
      const flush = (index: number) => {
        const worker = workers[index]
        const waiting = pending[index]
        if (worker === undefined || waiting === undefined) return
        const delta = worker.registry.takeDelta()
        if (delta !== undefined && !aggregator.apply(worker.owner, delta)) throw new Error('refused')
        for (const key of ['counts', 'observations', 'seconds'] as const) {
          reported[key] += waiting[key]
          waiting[key] = 0
        }
      }
      for (const { kind, worker: index, route } of steps) {
        const worker = workers[index]
        const waiting = pending[index]
        if (worker === undefined || waiting === undefined) continue
        if (kind === 'count') {
          worker.registry
            .counter('gateway_requests_total')
            .with({ route: `/${route}` })
            .add(1)
          waiting.counts += 1
        } else if (kind === 'observe') {
          worker.registry
            .histogram('gateway_request_duration_seconds')
            .with({ route: `/${route}` })
            .observe(route)
          waiting.observations += 1
          waiting.seconds += route
        } else if (kind === 'report') {
          flush(index)
        } else {
          // What it has not reported is lost with it.
          pending[index] = { counts: 0, observations: 0, seconds: 0 }
          aggregator.releaseOwner(worker.owner)
          lastOwner += 1
          workers[index] = { owner: lastOwner, registry: createMetricRegistry() }
        }
      }
      for (const index of workers.keys()) flush(index)
      const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
      const durations = aggregator.read('gateway_request_duration_seconds').map(({ values }) => [...values])
      const totals = {
        counts: sum(aggregator.read('gateway_requests_total').map(({ values }) => values[0] ?? 0)),
        observations: sum(durations.map(values => sum(values.slice(0, -1)))),
        seconds: sum(durations.map(values => values.at(-1) ?? 0))
      }
      return JSON.stringify(totals) === JSON.stringify(reported)
    })
  )
})
