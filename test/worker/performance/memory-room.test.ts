import t from 'tap'
import { BodyShare } from '../../../worker/http/request/body-share.ts'
import { MemoryRoom } from '../../../worker/performance/memory-room.ts'

const OVERLOADED = { code: 'gateway_overloaded', status: 503, retryAfter: '1' }

t.test('a room without a limit takes everything', async t => {
  const room = new MemoryRoom()
  t.equal(room.isLimited, false)
  room.open().hold(1e12)
})

t.test('what finds no room is refused, and what is released makes room', async t => {
  const room = new MemoryRoom()
  room.limit(100)
  const [first, second] = [room.open(), room.open()]
  first.hold(60)
  t.throws(() => second.hold(41), OVERLOADED)
  t.equal(room.heldBytes, 60, 'a refused share holds what it held before')
  second.hold(40)
  first.hold(20)
  second.hold(80)
  t.throws(() => first.hold(21), OVERLOADED)
  first.hold(0)
  second.hold(0)
  t.equal(room.heldBytes, 0)
})

t.test('a body counts with its copies until its response begins', async t => {
  const room = new MemoryRoom()
  room.limit(1000)
  const body = new BodyShare(room)
  body.grow(100)
  body.grow(200)
  body.grow(150)
  t.equal(room.heldBytes, 800)
  t.throws(() => new BodyShare(room).grow(51), OVERLOADED)
  body.shrink()
  t.equal(room.heldBytes, 200)
  body.release()
  t.equal(room.heldBytes, 0)
})
