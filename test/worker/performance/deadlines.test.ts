import t from 'tap'
import { type Deadlined, forgetDeadline, UNWATCHED, watchDeadline } from '../../../worker/performance/deadlines.ts'

function createItem(deadlineMs: number, onDeadline: () => void = () => undefined): Deadlined {
  return { deadlineMs: () => deadlineMs, deadlinePlace: UNWATCHED, onDeadline }
}

t.test('what is due is told once, after its deadline', async t => {
  let calls = 0
  const later = createItem(performance.now() + 600_000, () => t.fail('its deadline is far away'))
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

t.test('what is forgotten, or has no deadline, is never told', async t => {
  const told: string[] = []
  const [first, second, third, fourth] = ['a', 'b', 'c', 'd'].map(name => createItem(0, () => told.push(name))) as [
    Deadlined,
    Deadlined,
    Deadlined,
    Deadlined
  ]
  const endless = createItem(Number.POSITIVE_INFINITY, () => told.push('endless'))
  for (const item of [first, second, third, fourth, endless]) watchDeadline(item)
  // One of them forgets another while the deadlines are looked at.
  third.onDeadline = () => {
    told.push('c')
    forgetDeadline(first)
  }
  forgetDeadline(second)
  forgetDeadline(second)
  const { promise, resolve } = Promise.withResolvers<void>()
  watchDeadline(createItem(0, resolve))
  await promise
  await new Promise(resolve => setImmediate(resolve))
  t.same(told.toSorted(), ['c', 'd'])
  forgetDeadline(endless)
})

t.test('a deadline can be moved while it is watched', async t => {
  let isTold = false
  const moved = createItem(0, () => {
    isTold = true
  })
  watchDeadline(moved)
  moved.deadlineMs = () => Number.POSITIVE_INFINITY
  const { promise, resolve } = Promise.withResolvers<void>()
  watchDeadline(createItem(0, resolve))
  await promise
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(isTold)
  forgetDeadline(moved)
})
