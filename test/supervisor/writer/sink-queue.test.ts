import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'
import { RecordsRefusedError, type Sink } from '../../../supervisor/writer/sink.ts'
import { type SinkDropReason, SinkQueue, type SinkQueueOptions } from '../../../supervisor/writer/sink-queue.ts'
import { Spill } from '../../../supervisor/writer/spill.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { createRecord, createRecords } from './records.ts'

/** A sink whose next writes fail as told. */
class FakeSink implements Sink {
  readonly name = 'postgres'
  readonly batches: string[][] = []
  readonly stored = new Set<string>()
  failures = 0
  refused = new Set<string>()
  isClosed = false

  async write(records: readonly TrafficRecord[]): Promise<void> {
    if (this.failures > 0) {
      this.failures -= 1
      throw new Error('connection refused')
    }
    if (records.some(({ request_id }) => this.refused.has(request_id))) throw new RecordsRefusedError('bad value')
    this.batches.push(records.map(({ request_id }) => request_id))
    for (const { request_id } of records) this.stored.add(request_id)
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

function createQueue(t: Test, options: Partial<SinkQueueOptions> = {}) {
  const sink = new FakeSink()
  const dropped: Array<[SinkDropReason, number]> = []
  const queue = new SinkQueue(
    sink,
    {
      recordsMax: 100,
      batchRecordsMax: 10,
      flushIntervalMs: 1,
      dropsWhenFull: true,
      spill: undefined,
      retryMinMs: 1,
      retryMaxMs: 4,
      ...options
    },
    {
      log: pino({ enabled: false }),
      random: () => 0,
      onWritten: () => undefined,
      onDropped: (reason, count) => dropped.push([reason, count]),
      onWriteError: () => undefined
    }
  )
  t.teardown(() => queue.close())
  return { sink, queue, dropped }
}

t.test('records wait for others up to the interval, and no longer than a full batch', async t => {
  const { sink, queue } = createQueue(t)
  await Promise.all([queue.accept(createRecords(3)), queue.accept(createRecords(2))])
  t.same(
    sink.batches.map(batch => batch.length),
    [5]
  )
  await queue.accept(createRecords(25))
  t.same(
    sink.batches.slice(1).map(batch => batch.length),
    [10, 10, 5]
  )
})

t.test('a batch is tried again until the sink is available, and stored once', async t => {
  const { sink, queue, dropped } = createQueue(t)
  sink.failures = 5
  await queue.accept(createRecords(3))
  t.same(sink.batches, [['0', '1', '2']])
  t.same(dropped, [])
})

t.test('refused records are found and counted, the others are stored', async t => {
  const { sink, queue, dropped } = createQueue(t)
  sink.refused = new Set(['3', '7'])
  await queue.accept(createRecords(10))
  t.equal(sink.stored.size, 8)
  t.same(dropped, [
    ['refused', 1],
    ['refused', 1]
  ])
})

t.test('a full queue drops the new records', async t => {
  const { sink, queue, dropped } = createQueue(t, { recordsMax: 4, flushIntervalMs: 1_000_000 })
  sink.failures = Number.POSITIVE_INFINITY
  void queue.accept(createRecords(3))
  void queue.accept(createRecords(3))
  t.same(dropped, [['queue_full', 2]])
  t.equal(queue.depth, 4)
})

t.test('during an outage records go to disk, and from there to the sink', async t => {
  const directory = createTemporaryFolder(t)
  const spill = await Spill.open({
    directory,
    name: 'postgres',
    bytesMax: 1e6,
    recordBytesMax: 1e5,
    onDropped: () => undefined
  })
  const { sink, queue, dropped } = createQueue(t, { spill })
  sink.failures = Number.POSITIVE_INFINITY
  await queue.accept(createRecords(3))
  await queue.accept([createRecord({ request_id: 'during' })])
  t.equal(queue.depth, 0)
  t.equal(sink.stored.size, 0)
  sink.failures = 0
  while (!spill.isEmpty) await setImmediate()
  t.same([...sink.stored], ['0', '1', '2', 'during'])
  t.same(dropped, [])
})

t.test('what is left at the close is counted', async t => {
  const { sink, queue, dropped } = createQueue(t, { retryMinMs: 1_000_000, retryMaxMs: 1_000_000 })
  sink.failures = Number.POSITIVE_INFINITY
  const accepted = queue.accept(createRecords(3))
  await queue.close()
  await accepted
  t.same(dropped, [['closed', 3]])
  t.ok(sink.isClosed)
})
