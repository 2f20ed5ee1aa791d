import t from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { createGate } from '../../../../worker/providers/http/gate.ts'

const never = new AbortController().signal

t.test('a free slot is taken at once and given back once', async t => {
  const gate = createGate({ slotsMax: 1, waitersMax: 1, waitMsMax: 10_000 })
  const release = await gate.enter(never)
  t.equal(gate.active, 1)
  release()
  release()
  t.equal(gate.active, 0)
  await gate.enter(never)
  // A second release of the first slot must not have freed a further one.
  void gate.enter(never)
  t.equal(gate.active, 1)
  t.equal(gate.waiting, 1)
})

t.test('a slot that is free needs no waiting', async t => {
  const gate = createGate({ slotsMax: 1, waitersMax: 1, waitMsMax: 10_000 })
  const release = gate.tryEnter()
  t.equal(gate.tryEnter(), undefined)
  const waiting = gate.enter(never)
  release?.()
  release?.()
  t.equal(gate.tryEnter(), undefined, 'the freed slot belongs to the request that waited')
  const next = await waiting
  next()
  t.equal(gate.active, 0)
})

t.test('waiting requests get slots in the order of their arrival', async t => {
  const gate = createGate({ slotsMax: 1, waitersMax: 3, waitMsMax: 10_000 })
  const order: number[] = []
  const first = await gate.enter(never)
  const waits = [1, 2, 3].map(async number => {
    const release = await gate.enter(never)
    order.push(number)
    release()
  })
  first()
  await Promise.all(waits)
  t.same(order, [1, 2, 3])
  t.equal(gate.active, 0)
  t.equal(gate.waiting, 0)
})

t.test('no request overtakes the queue', async t => {
  const gate = createGate({ slotsMax: 1, waitersMax: 3, waitMsMax: 10_000 })
  const first = await gate.enter(never)
  const second = gate.enter(never)
  first()
  // The slot belongs to the second request already, although it has not seen that yet.
  const third = gate.enter(never)
  t.equal(gate.active, 1)
  t.equal(gate.waiting, 1)
  const release = await second
  release()
  const last = await third
  last()
  t.equal(gate.active, 0)
})

t.test('a full queue refuses at once with 503 and retry-after', async t => {
  const gate = createGate({ slotsMax: 1, waitersMax: 1, waitMsMax: 10_000 })
  const release = await gate.enter(never)
  const waiting = gate.enter(never)
  await t.rejects(gate.enter(never), { code: 'gateway_overloaded', status: 503, retryAfter: '1' })
  release()
  const second = await waiting
  second()
})

t.test('a wait that is too long ends with 503', async t => {
  // The timer of the wait does not keep the process running, so the test does.
  const hold = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(hold))
  const gate = createGate({ slotsMax: 1, waitersMax: 1, waitMsMax: 5 })
  await gate.enter(never)
  await t.rejects(gate.enter(never), { code: 'gateway_overloaded' })
  t.equal(gate.waiting, 0)
})

t.test('an abort leaves the queue with its own error, and the next one gets the slot', async t => {
  const gate = createGate({ slotsMax: 1, waitersMax: 2, waitMsMax: 10_000 })
  const release = await gate.enter(never)
  const abort = new AbortController()
  const leaving = gate.enter(abort.signal)
  const staying = gate.enter(never)
  abort.abort(new GatewayError('client_disconnected'))
  await t.rejects(leaving, { code: 'client_disconnected' })
  release()
  const second = await staying
  t.equal(gate.active, 1)
  second()
  t.equal(gate.active, 0)
})
