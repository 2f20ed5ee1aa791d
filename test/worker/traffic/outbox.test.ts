import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { countRecordCharacters, type OutgoingRecord, type RecordBatch } from '../../../shared/traffic/batch.ts'
import { MemoryRoom } from '../../../worker/performance/memory-room.ts'
import { type DropReason, Outbox, type OutboxOptions } from '../../../worker/traffic/outbox.ts'
import { EMPTY_RECORD } from '../../support/outgoing-record.ts'
import * as fc from '../../support/properties.ts'

const OPTIONS: OutboxOptions = {
  recordsMax: 20,
  charactersMax: 10_000,
  batchRecordsMax: 3,
  recordCharactersMax: 1000,
  batchCharactersMax: 1000,
  lingerMs: 1_000_000,
  dropsWhenFull: true,
  windowBatches: 2,
  windowCharacters: 10_000
}

/** Of a record whose request has an id of one digit. */
const CHARACTERS = countRecordCharacters(EMPTY_RECORD) + 1

interface Line {
  sequence: number
  /** The ids of their requests. */
  records: readonly string[]
}

/** A record of this request: what else is in it is of no concern here. */
function record(requestId: string): OutgoingRecord {
  return { ...EMPTY_RECORD, requestId, traceId: requestId }
}

function readLine(line: Uint8Array): Line {
  const { sequence, requestIds } = JSON.parse(Buffer.from(line).toString()) as RecordBatch
  return { sequence, records: requestIds }
}

/** An outbox with everything that it sends and drops. */
function createOutbox(options: Partial<OutboxOptions> = {}) {
  const lines: Line[] = []
  const dropped: DropReason[] = []
  const outbox = new Outbox({ ...OPTIONS, ...options }, { onDropped: reason => dropped.push(reason) })
  const sender = { send: (line: Uint8Array) => void lines.push(readLine(line)) }
  return { outbox, lines, dropped, sender }
}

t.test('records go out in full batches, the rest at a flush', async t => {
  const { outbox, lines, sender } = createOutbox()
  outbox.connected(sender)
  for (let index = 0; index < 4; index += 1) outbox.add(record(String(index)))
  t.same(
    lines.map(({ records }) => records),
    [['0', '1', '2']]
  )
  const flushed = outbox.flush()
  t.same(
    lines.map(({ records }) => records),
    [['0', '1', '2'], ['3']]
  )
  outbox.acknowledged(2)
  await flushed
  t.equal(outbox.size, 0)
})

t.test('what was not acknowledged is sent again under its number, before anything else', async t => {
  const { outbox, lines, sender } = createOutbox()
  outbox.connected(sender)
  for (let index = 0; index < 7; index += 1) outbox.add(record(String(index)))
  t.same(
    lines.map(({ sequence }) => sequence),
    [1, 2]
  )
  outbox.acknowledged(1)
  outbox.disconnected()
  lines.length = 0
  outbox.connected(sender)
  t.same(lines, [{ sequence: 2, records: ['3', '4', '5'] }])
})

t.test('a full outbox drops new records and counts them; room comes with an acknowledgement', async t => {
  const { outbox, dropped, sender } = createOutbox({ recordsMax: 3 })
  for (let index = 0; index < 5; index += 1) outbox.add(record(String(index)))
  t.same(dropped, ['queue_full', 'queue_full'])
  let calls = 0
  outbox.whenRoom(() => (calls += 1))
  const takeBack = outbox.whenRoom(() => t.fail('it was taken back'))
  takeBack()
  outbox.connected(sender)
  t.equal(calls, 0)
  outbox.acknowledged(1)
  t.equal(outbox.isFull, false)
  outbox.close()
  t.equal(calls, 1)
})

t.test(
  'where requests wait, a full outbox takes the records of those that run, within its bound of characters',
  async t => {
    const { outbox, dropped } = createOutbox({ recordsMax: 1, charactersMax: 10 * CHARACTERS, dropsWhenFull: false })
    let calls = 0
    for (let index = 0; index < 20; index += 1) outbox.add(record('x'))
    t.equal(outbox.size, 10)
    t.equal(dropped.length, 10)
    outbox.whenRoom(() => (calls += 1))
    outbox.close()
    t.equal(calls, 1)
  }
)

t.test('no more is in flight than the window holds', async t => {
  const { outbox, lines, sender } = createOutbox({
    windowBatches: 100,
    windowCharacters: 5 * CHARACTERS,
    batchRecordsMax: 1
  })
  outbox.connected(sender)
  for (let index = 0; index < 20; index += 1) outbox.add(record(String(index)))
  t.equal(lines.length, 5)
  outbox.acknowledged(2)
  t.equal(lines.length, 7)
})

t.test('the last record behind full batches goes out as well once there is room', async t => {
  const { outbox, lines, sender } = createOutbox({ windowBatches: 1, lingerMs: 1 })
  outbox.connected(sender)
  for (const id of ['0', '1', '2', '3', '4', '5', '6']) outbox.add(record(id))
  t.equal(lines.length, 1)
  outbox.acknowledged(1)
  outbox.acknowledged(2)
  while (lines.length < 3) await setImmediate()
  t.same(lines.at(-1)?.records, ['6'])
})

t.test('a record that no batch can hold, and one after the close, are dropped', async t => {
  const { outbox, dropped } = createOutbox()
  outbox.add({ ...EMPTY_RECORD, others: `{"x":"${'x'.repeat(2000)}"}` })
  t.same(outbox.close(), { lost: 0, unconfirmed: 0 })
  outbox.add(record('1'))
  t.same(dropped, ['too_large', 'closed'])
})

t.test('records that were sent and not acknowledged are no lost ones while the writer is there', async t => {
  const { outbox, sender } = createOutbox({ windowBatches: 1 })
  outbox.connected(sender)
  for (let index = 0; index < 7; index += 1) outbox.add(record(String(index)))
  t.same(outbox.close(), { lost: 4, unconfirmed: 3 })
  outbox.disconnected()
  t.same(outbox.close(), { lost: 7, unconfirmed: 0 })
})

type Step = 'add' | 'connect' | 'disconnect' | 'acknowledge' | 'flush'

t.test('after any events of the connection, every record is acknowledged, dropped or still waiting', async t => {
  const step = fc.constantFrom<Step>('add', 'add', 'add', 'connect', 'disconnect', 'acknowledge', 'flush')
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const { outbox, lines, dropped, sender } = createOutbox()
      const stored = new Set<unknown>()
      let added = 0
      let isConnected = false
      let acknowledgedSequence = 0
      for (const one of steps) {
        if (one === 'add') outbox.add(record(String(added++)))
        else if (one === 'connect' && !isConnected) {
          isConnected = true
          outbox.connected(sender)
        } else if (one === 'disconnect') {
          isConnected = false
          outbox.disconnected()
        } else if (one === 'acknowledge' && isConnected) {
          const next = lines.find(({ sequence }) => sequence === acknowledgedSequence + 1)
          if (next === undefined) continue
          acknowledgedSequence += 1
          for (const one of next.records) stored.add(one)
          outbox.acknowledged(acknowledgedSequence)
        } else if (one === 'flush') void outbox.flush()
      }
      t.equal(stored.size + dropped.length + outbox.size, added)
    })
  )
})

t.test(
  'records take their memory where large bodies take theirs, and give it back when the writer has them',
  async t => {
    const room = new MemoryRoom()
    room.limit(100_000)
    const dropped: string[] = []
    const outbox = new Outbox(OPTIONS, { onDropped: reason => dropped.push(reason), memory: room.open() })
    outbox.connected({ send: () => undefined })
    outbox.add(record('1'))
    const heldBytes = room.heldBytes
    t.ok(heldBytes > 0)
    const body = room.open()
    body.hold(100_000 - heldBytes)
    outbox.add(record('2'))
    t.same(dropped, ['queue_full'])
    t.throws(() => body.hold(100_000), { code: 'gateway_overloaded' })
    body.hold(0)
    outbox.add(record('3'))
    t.equal(room.heldBytes, 2 * heldBytes)
    const flushed = outbox.flush()
    outbox.acknowledged(1)
    await flushed
    t.equal(room.heldBytes, 0)
    t.same(dropped, ['queue_full'])
  }
)
