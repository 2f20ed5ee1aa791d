import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createPacer, OTHERS_SERVED_MS, PAUSE_MS } from '../../../worker/performance/pacer.ts'

/** A pacer whose time passes by `pass` alone. */
function createTimed(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let nowMs = 0
  const gone: number[] = []
  const pacer = createPacer(() => nowMs)
  return {
    pacer,
    gone,
    go: (number: number) => void pacer.wait().then(() => gone.push(number)),
    async pass(ms: number): Promise<void> {
      nowMs += ms
      mock.timers.tick(ms)
      await new Promise(next => setImmediate(next))
    }
  }
}

t.test('others are served for a moment after each of them', async t => {
  const { pacer, pass } = createTimed(t)
  t.equal(pacer.areOthersServed, false)
  pacer.noteOther()
  t.equal(pacer.areOthersServed, true)
  await pass(OTHERS_SERVED_MS - 1)
  t.equal(pacer.areOthersServed, true)
  await pass(1)
  t.equal(pacer.areOthersServed, false)
})

t.test('waiters go on one after the other, in their order, with a pause between any two', async t => {
  const { pacer, gone, go, pass } = createTimed(t)
  pacer.noteOther()
  for (const number of [1, 2, 3]) go(number)
  await pass(PAUSE_MS - 1)
  t.same(gone, [])
  for (const expected of [[1], [1, 2], [1, 2, 3]]) {
    await pass(expected.length === 1 ? 1 : PAUSE_MS)
    t.same(gone, expected)
  }
  go(4)
  await pass(PAUSE_MS)
  t.same(gone, [1, 2, 3, 4], 'the pacer waits for further ones')
})

t.test('all waiters go on together when no other request was served for a while', async t => {
  const { pacer, gone, go, pass } = createTimed(t)
  pacer.noteOther()
  await pass(OTHERS_SERVED_MS)
  for (const number of [1, 2, 3]) go(number)
  await pass(PAUSE_MS)
  t.same(gone, [1, 2, 3])
})

t.test('many waiters shorten the pause', async t => {
  const { pacer, gone, go, pass } = createTimed(t)
  pacer.noteOther()
  for (let number = 0; number < 17; number++) go(number)
  // The first pause began with a single waiter.
  await pass(PAUSE_MS)
  t.equal(gone.length, 1)
  await pass(PAUSE_MS / 2)
  t.equal(gone.length, 2)
})
