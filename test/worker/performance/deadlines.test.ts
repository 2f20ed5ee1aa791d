import t from 'tap'
import { type Deadlined, forgetDeadline, UNWATCHED, watchDeadline } from '../../../worker/performance/deadlines.ts'

function createItem(deadlineMs: number, onDeadline: () => void = () => undefined): Deadlined {
  return { deadlineMs: () => deadlineMs, watchIndex: UNWATCHED, onDeadline }
}

t.test('an item is called once, after its deadline', async t => {
  let calls = 0
  const later = createItem(performance.now() + 600_000, () => t.fail('an item is called before its deadline'))
  watchDeadline(later)
  await new Promise<void>(resolve => {
    const item = createItem(performance.now() + 20, () => {
      calls++
      resolve()
    })
    watchDeadline(item)
    watchDeadline(item)
  })
  forgetDeadline(later)
  const { promise, resolve } = Promise.withResolvers<void>()
  watchDeadline(createItem(0, resolve))
  await promise
  t.equal(calls, 1)
})

t.test('an item that is forgotten or has no deadline is never called', async t => {
  const called: string[] = []
  const [first, second, third, fourth] = ['a', 'b', 'c', 'd'].map(name => createItem(0, () => called.push(name))) as [
    Deadlined,
    Deadlined,
    Deadlined,
    Deadlined
  ]
  const endless = createItem(Number.POSITIVE_INFINITY, () => called.push('endless'))
  for (const item of [first, second, third, fourth, endless]) watchDeadline(item)
  // One item forgets another during the check.
  third.onDeadline = () => {
    called.push('c')
    forgetDeadline(first)
  }
  forgetDeadline(second)
  forgetDeadline(second)
  const { promise, resolve } = Promise.withResolvers<void>()
  watchDeadline(createItem(0, resolve))
  await promise
  await new Promise(resolve => setImmediate(resolve))
  t.same(called.toSorted(), ['c', 'd'])
  forgetDeadline(endless)
})

t.test('a deadline can be moved while it is watched', async t => {
  let isCalled = false
  const moved = createItem(0, () => {
    isCalled = true
  })
  watchDeadline(moved)
  moved.deadlineMs = () => Number.POSITIVE_INFINITY
  const { promise, resolve } = Promise.withResolvers<void>()
  watchDeadline(createItem(0, resolve))
  await promise
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(isCalled)
  forgetDeadline(moved)
})
