import { readdirSync, rmSync, stat } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'
import { RecordsRefusedError, type Sink } from '../../../supervisor/writer/sink.ts'
import { type SinkDropReason, SinkQueue, type SinkQueueOptions } from '../../../supervisor/writer/sink-queue.ts'
import { Spill, type SpillOptions } from '../../../supervisor/writer/spill.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { createRecord, createRecords } from './records.ts'

/** A sink whose next writes fail as told. */
class FakeSink implements Sink {
  readonly name = 'postgres'
  readonly batches: string[][] = []
  readonly stored = new Set<string>()
  failures = 0
  refused = new Set<string>()
  /** It stores what is beside the refused records, and says which they are. */
  namesRefused = false
  isClosed = false
  writes = 0
  /** A write ends when this does. */
  held: Promise<void> | undefined

  async write(records: readonly TrafficRecord[]): Promise<void> {
    this.writes += 1
    await this.held
    if (this.failures > 0) {
      this.failures -= 1
      throw new Error('connection refused')
    }
    const refused = records.filter(({ request_id }) => this.refused.has(request_id))
    if (refused.length > 0 && !this.namesRefused) throw new RecordsRefusedError('bad value')
    const stored = records.filter(record => !refused.includes(record)).map(({ request_id }) => request_id)
    this.batches.push(stored)
    for (const requestId of stored) this.stored.add(requestId)
    if (refused.length > 0) throw new RecordsRefusedError('bad value', new Set(refused.map(({ id }) => id)))
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

/** The connection that records come over. */
const worker = {}

const defaultOptions: SinkQueueOptions = {
  recordsMax: 100,
  bytesMax: 1e9,
  batchesAtOnce: 1,
  batchRecordsMax: 10,
  batchBytesMax: 1e6,
  flushIntervalMs: 1,
  dropsWhenFull: true,
  releasesInOutage: false,
  slowWriteMs: 1_000_000,
  isSynchronous: false,
  spill: undefined,
  retryMinMs: 1,
  retryMaxMs: 4,
  reportIntervalMs: 1_000_000
}

function createQueue(t: Test, options: Partial<SinkQueueOptions> = {}) {
  const sink = new FakeSink()
  const dropped: Array<[SinkDropReason, number]> = []
  const held: number[] = []
  const lines: unknown[] = []
  const queue = new SinkQueue(
    sink,
    { ...defaultOptions, ...options },
    {
      log: pino({ base: null, timestamp: false }, { write: line => lines.push(JSON.parse(line)) }),
      random: () => 0,
      nowMs: () => performance.now(),
      onWritten: () => undefined,
      onDropped: (reason, count) => dropped.push([reason, count]),
      onWriteError: () => undefined,
      onHeld: count => held.push(count)
    }
  )
  t.teardown(() => queue.close())
  return { sink, queue, dropped, held, lines }
}

function openSpill(directory: string, onFailure: SpillOptions['onFailure'] = () => undefined): Promise<Spill> {
  return Spill.open({
    directory,
    name: 'postgres',
    bytesMax: 1e6,
    recordBytesMax: 1e5,
    onDropped: () => undefined,
    onFailure
  })
}

t.test('records wait for others up to the interval, and no longer than a full batch', async t => {
  const { sink, queue } = createQueue(t)
  await Promise.all([queue.accept(createRecords(3), 1000, worker), queue.accept(createRecords(2), 1000, worker)])
  t.same(
    sink.batches.map(batch => batch.length),
    [5]
  )
  await queue.accept(createRecords(25), 1000, worker)
  t.same(
    sink.batches.slice(1).map(batch => batch.length),
    [10, 10, 5]
  )
})

t.test('a batch is tried again until the sink is available, and stored once', async t => {
  const { sink, queue, dropped } = createQueue(t)
  sink.failures = 5
  await queue.accept(createRecords(3), 1000, worker)
  t.same(sink.batches, [['0', '1', '2']])
  t.same(dropped, [])
})

t.test('a sink that takes several batches at once gets them only while they are full', async t => {
  const { sink, queue } = createQueue(t, { batchesAtOnce: 2 })
  const { promise, resolve } = Promise.withResolvers<void>()
  sink.held = promise
  const accepted = queue.accept(createRecords(35), 1000, worker)
  t.equal(sink.writes, 2)
  t.equal(queue.depth, 35)
  resolve()
  await accepted
  t.same(
    sink.batches.map(batch => batch.length),
    [10, 10, 10, 5]
  )
})

t.test('of two batches at once the one that fails is stored later, and none twice', async t => {
  const { sink, queue, dropped } = createQueue(t, { batchesAtOnce: 2 })
  sink.failures = 1
  await queue.accept(createRecords(20), 1000, worker)
  t.equal(sink.stored.size, 20)
  t.equal(sink.batches.flat().length, 20)
  t.same(queue.counts, { written: 20, dropped: 0 })
  t.same(dropped, [])
})

t.test('refused records are found and counted, the others are stored', async t => {
  const { sink, queue, dropped } = createQueue(t)
  sink.refused = new Set(['3', '7'])
  await queue.accept(createRecords(10), 1000, worker)
  t.equal(sink.stored.size, 8)
  t.same(dropped, [
    ['refused', 1],
    ['refused', 1]
  ])
})

t.test('a sink that names the records that it refuses gets no batch again', async t => {
  const { sink, queue, dropped } = createQueue(t)
  sink.refused = new Set(['3', '7'])
  sink.namesRefused = true
  await queue.accept(createRecords(10), 1000, worker)
  t.equal(sink.batches.length, 1)
  t.equal(sink.stored.size, 8)
  t.same(dropped, [['refused', 2]])
  t.same(queue.counts, { written: 8, dropped: 2 })
})

t.test('a full queue drops the new records', async t => {
  const { sink, queue, dropped } = createQueue(t, { recordsMax: 4, flushIntervalMs: 1_000_000 })
  sink.failures = Number.POSITIVE_INFINITY
  void queue.accept(createRecords(3), 1000, worker)
  void queue.accept(createRecords(3), 1000, worker)
  t.same(dropped, [['queue_full', 2]])
  t.equal(queue.depth, 4)
})

t.test('during an outage records go to disk, and from there to the sink', async t => {
  const spill = await openSpill(createTemporaryFolder(t))
  const { sink, queue, dropped } = createQueue(t, { spill })
  sink.failures = Number.POSITIVE_INFINITY
  await queue.accept(createRecords(3), 1000, worker)
  await queue.accept([createRecord({ request_id: 'during' })], 1000, worker)
  t.equal(queue.depth, 0)
  t.equal(sink.stored.size, 0)
  sink.failures = 0
  while (!spill.isEmpty) await setImmediate()
  t.same([...sink.stored], ['0', '1', '2', 'during'])
  t.same(dropped, [])
})

t.test('under load that never ends the records of an outage come to their turn', async t => {
  const spill = await openSpill(createTemporaryFolder(t))
  const spilled = Array.from({ length: 60 }, (_, index) => createRecord({ request_id: `spilled ${index}` }))
  await spill.append(spilled)
  const { sink, queue } = createQueue(t, { spill, batchRecordsMax: 10 })
  const ids = new Set(spilled.map(({ request_id }) => request_id))
  let isLoaded = true
  const write = sink.write.bind(sink)
  sink.write = async records => {
    if (isLoaded) void queue.accept(createRecords(3), 1, worker)
    await write(records)
  }
  void queue.accept(createRecords(3), 1, worker)
  while (![...ids].every(id => sink.stored.has(id))) await setImmediate()
  isLoaded = false
  const turns = sink.batches.map(batch => batch.some(id => ids.has(id)))
  const lastOfSpill = turns.lastIndexOf(true)
  t.equal(turns.filter(isSpill => isSpill).length, 6)
  t.ok(lastOfSpill <= 12, 'each second batch at least')
  t.ok(turns.slice(0, lastOfSpill).filter(isSpill => !isSpill).length >= 4, 'new records do not wait for them')
})

t.test('a file of the spill that was deleted does not keep the sink from being available again', async t => {
  const directory = createTemporaryFolder(t)
  const lost: number[] = []
  const spill = await openSpill(directory, (_, count) => lost.push(count))
  const { sink, queue } = createQueue(t, { spill })
  sink.failures = Number.POSITIVE_INFINITY
  await queue.accept(createRecords(3), 1000, worker)
  while (spill.isEmpty) await setImmediate()
  for (const name of readdirSync(directory)) rmSync(join(directory, name))
  sink.failures = 0
  while (!queue.isAvailable) await setImmediate()
  t.same(lost, [3])
  t.equal(queue.counts.dropped, 3, 'the health of the sink tells of it')
  await queue.accept([createRecord({ request_id: 'after' })], 1000, worker)
  await queue.flush()
  t.same([...sink.stored], ['after'])
})

t.test('what is left at the close is counted', async t => {
  const { sink, queue, dropped } = createQueue(t, { retryMinMs: 1_000_000, retryMaxMs: 1_000_000 })
  sink.failures = Number.POSITIVE_INFINITY
  const accepted = queue.accept(createRecords(3), 1000, worker)
  await queue.close()
  await accepted
  t.same(dropped, [['closed', 3]])
  t.ok(sink.isClosed)
})

t.test('a batch and the queue end at their bound of bytes', async t => {
  const { sink, queue, dropped } = createQueue(t, { bytesMax: 1000, batchBytesMax: 300 })
  const accepted = queue.accept(createRecords(12), 1200, worker)
  t.same(dropped, [['queue_full', 2]])
  await accepted
  t.same(
    sink.batches.map(batch => batch.length),
    [3, 3, 3, 1]
  )
})

t.test('workers may drop records that wait for a mirror in an outage, and the records are stored later', async t => {
  const { sink, queue } = createQueue(t, { releasesInOutage: true, retryMinMs: 20, retryMaxMs: 20 })
  sink.failures = Number.POSITIVE_INFINITY
  await queue.accept(createRecords(3), 1000, worker)
  await queue.accept([createRecord({ request_id: 'during' })], 1000, worker)
  t.equal(sink.stored.size, 0)
  t.equal(queue.depth, 4)
  sink.failures = 0
  while (queue.depth > 0) await setImmediate()
  t.same([...sink.stored], ['0', '1', '2', 'during'])
  t.equal(queue.counts.written, 4)
})

t.test('in an outage of a mirror, what only the writer has is told before workers drop it', async t => {
  const { sink, queue, held } = createQueue(t, { releasesInOutage: true, retryMinMs: 1e6, retryMaxMs: 1e6 })
  sink.failures = Number.POSITIVE_INFINITY
  const send = (count: number) => {
    const told = held.length
    return queue.accept(createRecords(count), 1000, worker).then(() => t.ok(held.length > told, 'the number was told'))
  }
  const first = send(1)
  t.same(held, [], 'the worker has it too')
  await queue.flush()
  t.notOk(queue.isAvailable)
  await first
  await send(2)
  await send(4)
  t.same(held, [1, 3, 7])
  sink.failures = 0
  await queue.flush()
  t.equal(held.at(-1), 0)
})

t.test('what came over a connection that has ended is held by the writer alone', async t => {
  const { sink, queue, held } = createQueue(t, { flushIntervalMs: 1e6, retryMinMs: 1e6, retryMaxMs: 1e6 })
  sink.failures = 1
  const ended = {}
  const [first, second] = [
    queue.accept(createRecords(2), 1000, ended),
    queue.accept([createRecord({ request_id: 'kept' })], 1000, worker)
  ]
  await queue.flush()
  queue.release(ended)
  await first
  t.same(held, [2])
  await queue.flush()
  await second
  t.same(held, [2, 0])
})

t.test('a sink that works in the thread of the writer lets another one go on between its batches', async t => {
  const busy = createQueue(t)
  const mirror = createQueue(t)
  const write = busy.sink.write.bind(busy.sink)
  busy.sink.write = records => {
    const end = performance.now() + 2
    while (performance.now() < end);
    return write(records)
  }
  let batchesBefore = Number.POSITIVE_INFINITY
  mirror.sink.write = async () => {
    // Each step of a write to a file takes a turn of the event loop.
    for (let step = 0; step < 5; step += 1) await setImmediate()
    batchesBefore = busy.sink.batches.length
  }
  const stored = busy.queue.accept(createRecords(100), 1000, worker)
  await Promise.all([mirror.queue.accept(createRecords(1), 1000, worker), stored])
  t.equal(busy.sink.batches.length, 10)
  t.ok(batchesBefore < 10, `${batchesBefore} batches before`)
})

t.test('a write that ended while the event loop was busy is not slow', async t => {
  const { sink, queue, held } = createQueue(t, { releasesInOutage: true, slowWriteMs: 1 })
  sink.write = async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    // The event of its end waits for the event loop, as that of a file does.
    stat('.', () => resolve())
    const end = performance.now() + 100
    while (performance.now() < end);
    await promise
  }
  await queue.accept(createRecords(1), 1000, worker)
  t.same(held, [])
})

t.test('a write of a synchronous driver that takes long is reported at its end, and only for its own sink', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const other = createQueue(t, { slowWriteMs: 15 })
  other.sink.write = () => promise
  const { sink, queue, lines } = createQueue(t, { slowWriteMs: 15, isSynchronous: true })
  sink.write = async () => {
    const end = performance.now() + 20
    while (performance.now() < end);
    resolve()
  }
  await Promise.all([other.queue, queue].map(each => each.accept(createRecords(10), 1000, worker)))
  t.match(lines, [{ event: 'traffic_sink_slow', waiting: 10 }])
  t.same(other.lines, [])
})

t.test('behind a write that takes long, a mirror holds no worker up', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const mirror = createQueue(t, { releasesInOutage: true, slowWriteMs: 1 })
  mirror.sink.held = promise
  await mirror.queue.accept(createRecords(3), 1000, worker)
  t.equal(mirror.sink.stored.size, 0)

  resolve()
  while (mirror.queue.depth > 0) await setImmediate()
  t.equal(mirror.sink.stored.size, 3)
})

for (const ending of ['succeeds', 'fails'] as const)
  t.test(
    `records of a write that takes long are spilled too, so no worker waits for it, also where it ${ending} later`,
    async t => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const spill = await openSpill(createTemporaryFolder(t))
      const { sink, queue, dropped } = createQueue(t, { spill, slowWriteMs: 1 })
      sink.held = promise
      const first = queue.accept(createRecords(1), 1000, worker)
      while (sink.writes === 0) await setImmediate()
      await Promise.all([first, queue.accept([createRecord({ request_id: 'behind' })], 1000, worker)])
      t.equal(sink.stored.size, 0)
      if (ending === 'fails') sink.failures = 1
      resolve()
      while (!spill.isEmpty || queue.depth > 0) await setImmediate()
      const copies = sink.batches.flat().filter(requestId => requestId === '0').length
      t.equal(copies, ending === 'succeeds' ? 2 : 1, 'a failed write leaves one copy')
      t.same([...sink.stored], ['0', 'behind'])
      t.same(queue.counts, { written: 2, dropped: 0 })
      t.same(dropped, [])
    }
  )

t.test('a full queue and the close spill what is left, for the next process', async t => {
  const spill = await openSpill(createTemporaryFolder(t))
  const { sink, queue, dropped } = createQueue(t, { spill, recordsMax: 2, retryMinMs: 1e6, retryMaxMs: 1e6 })
  const { promise, resolve } = Promise.withResolvers<void>()
  // A write that never ends would keep the process of the test alive.
  t.teardown(resolve)
  sink.held = promise
  const first = queue.accept(createRecords(1), 1000, worker)
  void queue.flush()
  const second = queue.accept(createRecords(4), 4000, worker)
  while (spill.isEmpty) await setImmediate()
  await queue.close()
  await Promise.all([first, second])
  t.same(dropped, [])
  t.equal((await spill.read(100, 1e6)).records.length, 5)
})

t.test('a flush ends with a failed attempt, and the workers may drop the remaining records', async t => {
  const { sink, queue, dropped } = createQueue(t, { flushIntervalMs: 1e6, retryMinMs: 1e6, retryMaxMs: 1e6 })
  sink.failures = Number.POSITIVE_INFINITY
  const accepted = queue.accept(createRecords(3), 1000, worker)
  await queue.flush()
  queue.release(worker)
  await accepted
  t.equal(queue.depth, 3)
  await queue.close()
  t.same(dropped, [['closed', 3]])
})

t.test('the lag is the age of the oldest record that is not stored', async t => {
  let nowMs = 1000
  const sink = new FakeSink()
  const queue = new SinkQueue(
    sink,
    { ...defaultOptions, flushIntervalMs: 1e6 },
    {
      log: pino({ enabled: false }),
      random: () => 0,
      nowMs: () => nowMs,
      onWritten: () => undefined,
      onDropped: () => undefined,
      onWriteError: () => undefined,
      onHeld: () => undefined
    }
  )
  t.teardown(() => queue.close())
  t.equal(queue.lagMs, 0)
  void queue.accept(createRecords(1), 1000, worker)
  nowMs += 5000
  void queue.accept(createRecords(1), 1000, worker)
  t.equal(queue.lagMs, 5000)
  await queue.flush()
  t.equal(queue.lagMs, 0)
})
