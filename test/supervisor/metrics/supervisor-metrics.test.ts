// How a scrape collects what the workers have: deadline, late workers, shared scrapes
// (operations.md 7.5).

import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createMessage, type SupervisorMessageContent } from '../../../shared/ipc/messages.ts'
import { createSupervisorMetrics } from '../../../supervisor/metrics/supervisor-metrics.ts'
import {
  createMetricsChannel,
  type MetricsChannel,
  type MetricsMessage
} from '../../../worker/control/metrics-channel.ts'
import { type MetricsText, readMetricsText } from '../../support/metrics-text.ts'

interface FakeWorker {
  readonly channel: MetricsChannel
  /** Its messages do not arrive while it is stuck. */
  isStuck: boolean
}

/** A supervisor's metrics with real channels of workers, connected without processes. */
function createFleet(t: Test, workerCount: number) {
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: line => logged.push(JSON.parse(line).event) })
  const metrics = createSupervisorMetrics({ log, nowMs: () => 0 }, { modelsMax: 10 })
  const workers = new Map<number, FakeWorker>()
  // The deadlines alone do not keep a process running.
  const keepAlive = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(keepAlive))
  const asked: number[] = []
  for (let owner = 1; owner <= workerCount; owner += 1) {
    const channel = createMetricsChannel({
      send(content) {
        const message = createMessage(content)
        if (worker.isStuck) return
        if (message.kind === 'metrics-delta') metrics.handlers['metrics-delta'](message, { owner })
        else if (message.kind === 'metrics-collected') metrics.handlers['metrics-collected'](message, { owner })
        else metrics.handlers['metrics-scrape'](message, { owner })
      }
    })
    const worker: FakeWorker = { channel, isStuck: false }
    workers.set(owner, worker)
    t.teardown(() => channel.close())
  }
  metrics.connect({
    readyOwners: () => [...workers.keys()],
    send(owner: number, content: SupervisorMessageContent) {
      asked.push(owner)
      workers.get(owner)?.channel.receive(createMessage(content) as MetricsMessage)
    }
  })
  const scrape = async (): Promise<MetricsText> => readMetricsText(Buffer.from(await metrics.scrape('text')).toString())
  return { metrics, workers, scrape, asked, logged }
}

t.test('K1: every worker answers a scrape with what all of them have counted until then', async t => {
  const { workers } = createFleet(t, 3)
  for (let round = 1; round <= 2; round += 1) {
    for (const { channel } of workers.values()) {
      channel.registry.counter('gateway_requests_total').with({ route: '/a' }).add(1)
      const body = await channel.scrape('text')
      t.ok(body)
      readMetricsText(Buffer.from(body ?? []).toString())
    }
    const body = await workers.get(2)?.channel.scrape('text')
    t.equal(readMetricsText(Buffer.from(body ?? []).toString()).sum('gateway_requests_total'), round * 3)
  }
})

t.test('K2: a worker that does not answer is waited for a second, and its last known samples are used', async t => {
  const { workers, scrape } = createFleet(t, 2)
  for (const { channel } of workers.values()) {
    channel.registry.counter('gateway_requests_total').with({ route: '/a' }).add(1)
  }
  t.equal((await scrape()).sum('gateway_requests_total'), 2)
  const stuck = workers.get(1) as FakeWorker
  stuck.isStuck = true
  for (const { channel } of workers.values()) {
    channel.registry.counter('gateway_requests_total').with({ route: '/a' }).add(10)
  }
  const late = await scrape()
  t.equal(late.sum('gateway_requests_total'), 12)
  t.equal(late.sum('gateway_metrics_late_workers'), 1)
})

t.test('K2: a worker that exits during a scrape ends the wait for it', async t => {
  const { metrics, workers, scrape } = createFleet(t, 2)
  const stuck = workers.get(1) as FakeWorker
  stuck.isStuck = true
  const scraping = scrape()
  await new Promise(resolve => setImmediate(resolve))
  metrics.releaseOwner(1)
  workers.delete(1)
  t.equal((await scraping).sum('gateway_metrics_late_workers'), 0)
})

t.test('scrapes that arrive while one runs share the next one, which has all that was counted before them', async t => {
  const { workers, scrape, asked } = createFleet(t, 1)
  const { channel } = workers.get(1) as FakeWorker
  const requests = channel.registry.counter('gateway_requests_total').with({ route: '/a' })
  requests.add(1)
  const first = scrape()
  await new Promise(resolve => setImmediate(resolve))
  requests.add(1)
  const others = [scrape(), scrape(), scrape()]
  t.equal((await first).sum('gateway_requests_total'), 1)
  for (const other of await Promise.all(others)) t.equal(other.sum('gateway_requests_total'), 2)
  t.equal(asked.length, 2)
})

t.test('a malformed delta is dropped with a line in the log', async t => {
  const { metrics, scrape, logged } = createFleet(t, 0)
  const delta = { labelSets: [], cells: Uint32Array.of(7), values: Float64Array.of(1) }
  metrics.handlers['metrics-delta'](createMessage({ kind: 'metrics-delta', delta }), { owner: 1 })
  t.same(logged, ['metrics_delta_dropped'])
  t.equal((await scrape()).sum('gateway_requests_total'), 0)
})

t.test('a worker reports for the last time when it closes, and ends its scrapes', async t => {
  const sent: string[] = []
  const channel = createMetricsChannel({ send: ({ kind }) => sent.push(kind) })
  const scraping = channel.scrape('text')
  channel.registry.counter('gateway_requests_total').with({ route: '/a' }).add(1)
  channel.close()
  t.equal(await scraping, undefined)
  t.same(sent, ['metrics-scrape', 'metrics-delta'])
})
