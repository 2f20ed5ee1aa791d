import { once } from 'node:events'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { TrafficSummary } from '../../../shared/traffic/query.ts'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'
import { createTrafficServer, QuestionFailedError, type TrafficService } from '../../../supervisor/writer/server.ts'
import { Outbox } from '../../../worker/traffic/outbox.ts'
import { connectToWriter, type WriterConnection } from '../../../worker/traffic/writer-connection.ts'
import { createRecords } from '../../supervisor/writer/records.ts'
import { divideRecord } from '../../support/outgoing-record.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

type StoredRecord = Omit<TrafficRecord, 'id'>

class FakeService implements TrafficService {
  /** Without their ids, which they get when they are sent. */
  readonly stored: StoredRecord[] = []
  bytes = 0
  readonly followers = new Set<(summaries: readonly TrafficSummary[]) => void>()
  flushes = 0
  releases = 0
  /** Delays the settling of stored batches while it is set. */
  held: Array<() => void> | undefined

  async store(records: readonly TrafficRecord[], bytes: number): Promise<void> {
    this.stored.push(...records.map(({ id: _id, ...record }) => record))
    this.bytes += bytes
    const { held } = this
    if (held !== undefined) await new Promise<void>(resolve => held.push(resolve))
  }

  async flush(): Promise<void> {
    this.flushes += 1
    for (const settled of this.held?.splice(0) ?? []) settled()
  }

  release(): void {
    this.releases += 1
  }

  async answer(name: string): Promise<null> {
    if (name === 'sums') throw new QuestionFailedError('query_store_not_configured')
    if (name === 'list') throw new Error('the disk is gone')
    return null
  }

  follow(listener: (summaries: readonly TrafficSummary[]) => void): () => void {
    this.followers.add(listener)
    return () => this.followers.delete(listener)
  }
}

const log = pino({ enabled: false })

/** Records with what a worker's have at least. */
function createWorkerRecords(count: number): StoredRecord[] {
  return createRecords(count).map(({ id: _id, ...record }) => ({ ...record, trace_id: 'trace', latency_ms: 1.5 }))
}

function createOutbox(): Outbox {
  const options = {
    recordsMax: 100,
    charactersMax: 1e6,
    batchRecordsMax: 2,
    recordCharactersMax: 1e5,
    batchCharactersMax: 1e5,
    lingerMs: 1_000_000,
    dropsWhenFull: true,
    windowBatches: 4,
    windowCharacters: 1e6
  }
  return new Outbox(options, { onDropped: () => undefined })
}

async function connect(t: Test, path: string, outbox: Outbox | undefined): Promise<WriterConnection> {
  const connection = connectToWriter({ path, workerId: 1, outbox, askTimeoutMs: 60_000, retryMinMs: 1, retryMaxMs: 4 })
  t.teardown(() => connection.close())
  while (!connection.isConnected) await setImmediate()
  return connection
}

async function listen(t: Test, path: string, service: TrafficService) {
  const server = createTrafficServer(service, log)
  await server.listen(path)
  t.teardown(() => server.close())
  return server
}

t.test('the writer counts every record with what it shares', async t => {
  const path = join(createTemporaryFolder(t), 'writer.sock')
  const service = new FakeService()
  await listen(t, path, service)
  const outbox = createOutbox()
  await connect(t, path, outbox)
  const shared = [JSON.stringify({ route: 'r'.repeat(1000) }), '{}', '{}', '{}'] as const
  for (const { route: _route, ...own } of createWorkerRecords(2)) outbox.add(divideRecord(own, shared))
  while (service.stored.length < 2) await setImmediate()
  t.equal(service.stored[1]?.route, 'r'.repeat(1000))
  t.ok(service.bytes > 2000, `${service.bytes}`)
})

t.test('a batch that is none ends the connection, and nothing is stored', async t => {
  const path = join(createTemporaryFolder(t), 'writer.sock')
  const service = new FakeService()
  await listen(t, path, service)
  const socket = createConnection(path)
  socket.on('error', () => undefined)
  socket.write('{"kind":"batch","sequence":1}\n')
  await once(socket, 'close')
  t.same(service.stored, [])
})

t.test('records reach the writer and are acknowledged in their order', async t => {
  const path = join(createTemporaryFolder(t), 'writer.sock')
  const service = new FakeService()
  await listen(t, path, service)
  const outbox = createOutbox()
  await connect(t, path, outbox)
  service.held = []
  const records = createWorkerRecords(4)
  for (const record of records) outbox.add(divideRecord(record))
  while (service.held.length < 2) await setImmediate()
  t.same(service.stored, records)
  const [first, second] = service.held
  second?.()
  t.equal(outbox.size, 4, 'the first batch is not settled yet')
  first?.()
  await outbox.flush()
  t.equal(outbox.size, 0)
})

t.test('a writer that comes back gets what the one before it had not acknowledged', async t => {
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'writer.sock')
  const first = new FakeService()
  first.held = []
  const server = await listen(t, path, first)
  const outbox = createOutbox()
  await connect(t, path, outbox)
  const records = createWorkerRecords(2)
  for (const record of records) outbox.add(divideRecord(record))
  while (first.stored.length < 2) await setImmediate()
  await server.close()
  const second = new FakeService()
  await listen(t, path, second)
  await outbox.flush()
  t.same(second.stored, records)
})

t.test('questions get their answers or the reason why there is none', async t => {
  const path = join(createTemporaryFolder(t), 'writer.sock')
  const server = await listen(t, path, new FakeService())
  const connection = await connect(t, path, undefined)
  const page = { filter: {}, start: { kind: 'offset', offset: 0 }, limit: 1 } as const
  t.same(await connection.ask('find', { id: 'x' }), { ok: true, answer: null })
  t.same(await connection.ask('sums', { from: '', to: '', by: [], limit: 1 }), {
    ok: false,
    failure: 'query_store_not_configured'
  })
  t.same(await connection.ask('list', page), { ok: false, failure: 'query_store_unavailable' })
  await server.close()
  while (connection.isConnected) await setImmediate()
  t.same(await connection.ask('find', { id: 'x' }), { ok: false, failure: 'disconnected' })
})

t.test('a question finds a writer that came after the last attempt to connect', async t => {
  const path = join(createTemporaryFolder(t), 'writer.sock')
  const never = 1_000_000
  const connection = connectToWriter({
    path,
    workerId: 1,
    outbox: undefined,
    askTimeoutMs: 60_000,
    retryMinMs: never,
    retryMaxMs: never
  })
  t.teardown(() => connection.close())
  t.same(await connection.ask('find', { id: 'x' }), { ok: false, failure: 'disconnected' })
  await listen(t, path, new FakeService())
  const questions = ['x', 'y'].map(id => connection.ask('find', { id }))
  t.same(await Promise.all(questions), [
    { ok: true, answer: null },
    { ok: true, answer: null }
  ])
})

t.test('a follower gets new records until it ends', async t => {
  const path = join(createTemporaryFolder(t), 'writer.sock')
  const service = new FakeService()
  await listen(t, path, service)
  const connection = await connect(t, path, undefined)
  const got: unknown[] = []
  const unfollow = connection.follow(summaries => got.push(...summaries))
  while (service.followers.size === 0) await setImmediate()
  for (const follower of service.followers) follower([{ id: 'one' } as TrafficSummary])
  while (got.length === 0) await setImmediate()
  t.same(got, [{ id: 'one' }])
  unfollow()
  while (service.followers.size > 0) await setImmediate()
})

t.test('a worker that closes has everything stored at once, also what it sends afterwards', async t => {
  const path = join(createTemporaryFolder(t), 'writer.sock')
  const service = new FakeService()
  await listen(t, path, service)
  const outbox = createOutbox()
  const connection = await connect(t, path, outbox)
  service.held = []
  // More batches than may be unacknowledged at a time.
  for (const record of createWorkerRecords(20)) outbox.add(divideRecord(record))
  const flushed = outbox.flush()
  connection.requestFlush()
  await flushed
  t.equal(service.stored.length, 20)
  t.same(outbox.close(), { lost: 0, unconfirmed: 0 })
})

t.test('a follower is told when the writer is there again', async t => {
  const path = join(createTemporaryFolder(t), 'writer.sock')
  const server = await listen(t, path, new FakeService())
  const connection = await connect(t, path, undefined)
  let reconnections = 0
  connection.follow(
    () => undefined,
    () => (reconnections += 1)
  )
  await server.close()
  const service = new FakeService()
  await listen(t, path, service)
  while (service.followers.size === 0) await setImmediate()
  t.equal(reconnections, 1)
})
