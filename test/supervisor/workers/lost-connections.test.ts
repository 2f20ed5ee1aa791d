import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import t from 'tap'
import { closeLostConnections } from '../../../supervisor/workers/lost-connections.ts'

/** A process that notes what is sent to it, and the names of closed connections. */
function createChild() {
  const sent: unknown[] = []
  const closed: string[] = []
  const child = Object.assign(new EventEmitter(), { send: (message: unknown) => sent.push(message) > 0 })
  closeLostConnections(child as unknown as ChildProcess)
  const connection = (name: string) => ({ close: () => closed.push(name) })
  return { child, sent, closed, connection }
}

for (const end of ['exit', 'disconnect']) {
  t.test(`connections that a worker has not acknowledged are closed at its ${end}, once`, async t => {
    const { child, closed, connection, sent } = createChild()
    const send = child.send as unknown as (message: unknown, handle: unknown) => boolean
    send({ cmd: 'NODE_CLUSTER', act: 'newconn', seq: 1 }, connection('one'))
    send({ cmd: 'NODE_CLUSTER', act: 'newconn', seq: 2 }, connection('two'))
    child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: 1, accepted: true })
    t.equal(sent.length, 2, 'both were sent')
    t.strictSame(closed, [])
    child.emit(end)
    t.strictSame(closed, ['two'])
    child.emit('exit')
    t.strictSame(closed, ['two'])
  })
}

t.test('messages of another form are sent and not tracked', async t => {
  const { child, closed, connection, sent } = createChild()
  const send = child.send as unknown as (message: unknown, handle?: unknown) => boolean
  for (const message of [{ v: 1, kind: 'ping' }, 'text', null, { act: 'newconn' }]) send(message, connection('other'))
  send({ act: 'newconn', seq: 1 })
  child.emit('internalMessage', 'text')
  child.emit('exit')
  t.equal(sent.length, 5)
  t.strictSame(closed, [])
})
