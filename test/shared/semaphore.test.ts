import t from 'tap'
import { createLanes, createSemaphore } from '../../shared/semaphore.ts'
import * as fc from '../support/properties.ts'

t.test('free slots are taken without waiting, and a released slot is free again', async t => {
  const semaphore = createSemaphore({ slotsMax: 2, waitersMax: 1, waitMsMax: undefined })
  t.same([semaphore.tryAcquire(), semaphore.tryAcquire(), semaphore.tryAcquire()], [true, true, false])
  t.equal(semaphore.held, 2)
  semaphore.release()
  t.equal(semaphore.held, 1)
  t.equal(semaphore.tryAcquire(), true)
})

t.test('a full queue takes no further waiter', async t => {
  const semaphore = createSemaphore({ slotsMax: 1, waitersMax: 1, waitMsMax: undefined })
  semaphore.tryAcquire()
  const leave = semaphore.wait(() => t.fail('a waiter that has left was called'))
  t.equal(
    semaphore.wait(() => t.fail('a refused waiter was called')),
    undefined
  )
  leave?.()
  leave?.()
  t.equal(semaphore.waiting, 0)
  t.ok(semaphore.wait(() => undefined))
  t.equal(semaphore.waiting, 1)
})

t.test('the weights of the waiters bound the queue', async t => {
  const semaphore = createSemaphore({ slotsMax: 1, waitersMax: 10, waitMsMax: undefined })
  semaphore.tryAcquire()
  const ignore = (): void => undefined
  const leaveSix = semaphore.wait(ignore, 6)
  t.ok(semaphore.wait(ignore, 4))
  t.equal(semaphore.wait(ignore), undefined)
  leaveSix?.()
  leaveSix?.()
  t.equal(semaphore.wait(ignore, 7), undefined)
  t.ok(semaphore.wait(ignore, 6))
  semaphore.release()
  t.equal(semaphore.waiting, 1, 'the first waiter got the slot')
  t.ok(semaphore.wait(ignore, 4))
})

t.test('a wait beyond its limit ends without a slot', async t => {
  const hold = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(hold))
  const semaphore = createSemaphore({ slotsMax: 1, waitersMax: 1, waitMsMax: 5 })
  semaphore.tryAcquire()
  t.equal(await new Promise<boolean>(resolve => semaphore.wait(resolve)), false)
  t.equal(semaphore.waiting, 0)
  semaphore.release()
  t.equal(semaphore.held, 0)
})

t.test('refusing all waiters keeps the slots that are held', async t => {
  const semaphore = createSemaphore({ slotsMax: 1, waitersMax: 2, waitMsMax: 10_000 })
  semaphore.tryAcquire()
  const outcomes: boolean[] = []
  semaphore.wait(isGranted => outcomes.push(isGranted))
  semaphore.wait(isGranted => outcomes.push(isGranted))
  semaphore.refuseWaiters()
  t.same(outcomes, [false, false])
  t.equal(semaphore.held, 1)
})

const step = fc.oneof(
  fc.constant({ kind: 'acquire' } as const),
  fc.constant({ kind: 'release' } as const),
  fc.record({ kind: fc.constant('leave' as const), place: fc.nat(5) })
)

t.test('any sequence keeps the bounds, grants in the order of arrival, and loses no slot', async () => {
  const sizes = [fc.integer({ min: 1, max: 3 }), fc.nat(4)] as const
  fc.assert(
    fc.property(...sizes, fc.array(step, { maxLength: 60 }), (slotsMax, waitersMax, steps) => {
      const semaphore = createSemaphore({ slotsMax, waitersMax, waitMsMax: undefined })
      const queue: Array<{ id: number; leave: () => void }> = []
      const granted: number[] = []
      const expectedGrants: number[] = []
      let held = 0
      for (const [id, action] of steps.entries()) {
        if (action.kind === 'acquire') {
          const isTaken = semaphore.tryAcquire()
          if (isTaken !== held < slotsMax) return false
          if (isTaken) held += 1
          else {
            const leave = semaphore.wait(() => granted.push(id))
            if ((leave === undefined) !== queue.length >= waitersMax) return false
            if (leave !== undefined) queue.push({ id, leave })
          }
        } else if (action.kind === 'leave') {
          queue.splice(action.place, 1)[0]?.leave()
        } else if (held > 0) {
          const next = queue.shift()
          if (next === undefined) held -= 1
          else expectedGrants.push(next.id)
          semaphore.release()
        }
        if (semaphore.held !== held || semaphore.waiting !== queue.length) return false
      }
      return granted.join() === expectedGrants.join()
    })
  )
})

t.test('lanes have their slots in common, and the first lane that has a waiter gets the next one', async t => {
  const queue = { waitersMax: 9, waitMsMax: undefined }
  const { first, second } = createLanes(2, { first: queue, second: queue })
  t.same([first.tryAcquire(), second.tryAcquire(), first.tryAcquire(), second.tryAcquire()], [true, true, false, false])
  t.same([first.held, second.held], [2, 2])
  const granted: string[] = []
  for (const [lane, name] of [
    [second, 'second, early'],
    [first, 'first'],
    [second, 'second, late']
  ] as const) {
    lane.wait(isGranted => granted.push(isGranted ? name : `not ${name}`))
  }
  t.same([first.waiting, second.waiting], [1, 2])
  for (const lane of [first, second, second]) lane.release()
  t.same(granted, ['first', 'second, early', 'second, late'])
  first.release()
  t.equal(second.tryAcquire(), true)
  second.refuseWaiters()
  t.equal(second.held, 2)
})
