import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { RequestLifetime } from '../../../worker/http/request-lifetime.ts'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { stepTimers } from '../../support/stepped-timers.ts'

/** `isQueued`: the response waits behind that of an earlier request of its connection. */
function setUp(t: Test, { isQueued = false } = {}) {
  const pass = stepTimers(t)
  const socket = new EventEmitter()
  const outgoing = Object.assign(new EventEmitter(), {
    socket: isQueued ? null : socket,
    writableFinished: false,
    destroy: () => outgoing.emit('close')
  })
  const ends: boolean[] = []
  const lifetime = new RequestLifetime({
    incoming: { socket } as unknown as IncomingMessage,
    outgoing: outgoing as unknown as ServerResponse,
    onEnded: (_, isComplete) => ends.push(isComplete)
  })
  const reason = () => (GatewayError.is(lifetime.signal.reason) ? lifetime.signal.reason.code : undefined)
  return { lifetime, outgoing, socket, ends, reason, pass }
}

t.test('the close of a connection ends a request once; it aborts the one whose response is not complete', async t => {
  const broken = setUp(t)
  broken.outgoing.emit('close')
  broken.outgoing.emit('close')
  t.same(broken.ends, [false])
  t.equal(broken.reason(), 'client_disconnected')

  for (const how of ['finished', 'cut', 'sent']) {
    const { lifetime, outgoing, ends, reason } = setUp(t)
    if (how === 'finished') outgoing.writableFinished = true
    if (how === 'cut') lifetime.isCut = true
    if (how === 'sent') lifetime.isSent = true
    outgoing.emit('close')
    t.same(ends, [true], how)
    t.equal(reason(), undefined, how)
  }
})

t.test('a queued response ends with its connection, and leaves no listener on it', async t => {
  const left = setUp(t, { isQueued: true })
  left.socket.emit('close')
  t.same(left.ends, [false])
  const served = setUp(t, { isQueued: true })
  served.outgoing.writableFinished = true
  served.outgoing.emit('close')
  t.equal(served.socket.listenerCount('close'), 0)
  t.equal(setUp(t).socket.listenerCount('close'), 0, 'the response tells of its own connection')
})

t.test('the first reason of an abort is kept, and the reading of the body ends with it', async t => {
  const { lifetime, outgoing, ends, reason } = setUp(t)
  const reasons: string[] = []
  lifetime.cancelBody = ({ code }) => reasons.push(code)
  lifetime.cut(new GatewayError('internal_error'))
  lifetime.abort(new GatewayError('provider_timeout'))
  t.equal(reason(), 'internal_error')
  t.same(reasons, ['internal_error'])
  t.same(ends, [false], 'its connection was closed')
  outgoing.emit('close')
  t.equal(reason(), 'internal_error')
})

t.test('a deadline aborts a request unless it ended, asks for a stream or is detached (H5)', async t => {
  const late = setUp(t)
  late.lifetime.startDeadline(100)
  late.pass(99)
  t.equal(late.reason(), undefined)
  late.pass(1)
  t.equal(late.reason(), 'provider_timeout')

  for (const how of ['ended', 'stream', 'detached']) {
    const { lifetime, outgoing, reason, pass } = setUp(t)
    lifetime.startDeadline(100)
    outgoing.writableFinished = true
    if (how === 'ended') outgoing.emit('close')
    if (how === 'stream') lifetime.expectStream()
    if (how === 'detached') lifetime.detach()
    pass(1_000)
    t.equal(reason(), undefined, how)
  }
})

t.test('a detached request ends once its connection is closed and its work is done, in either order', async t => {
  const away = setUp(t)
  const finish = away.lifetime.detach()
  away.outgoing.emit('close')
  t.same(away.ends, [])
  t.equal(away.reason(), undefined)
  finish()
  finish()
  t.same(away.ends, [true])

  const done = setUp(t)
  done.lifetime.detach()()
  t.same(done.ends, [])
  done.outgoing.writableFinished = true
  done.outgoing.emit('close')
  t.same(done.ends, [true])
})
