import t from 'tap'
import { createSlidingWindow } from '../../../supervisor/limits/sliding-window.ts'
import * as fc from '../../support/properties.ts'

const MINUTE = 60_000

t.test('what was taken counts for a minute, and a little longer than leases live', async t => {
  const window = createSlidingWindow()
  window.add(3, 1_050)
  window.add(2, 30_000)
  t.equal(window.used(1_050 + MINUTE), 5)
  t.equal(window.used(1_050 + MINUTE + 350), 2)
  t.equal(window.used(30_000 + MINUTE + 350), 0)
})

t.test('the time until an amount fits is exact: then it fits, and a moment before it does not', async t => {
  const window = createSlidingWindow()
  window.add(3, 1_050)
  window.add(2, 30_000)
  for (const [used, atMs] of [
    [4, 40_000],
    [2, 40_000],
    [1, 40_000],
    [0, 45_123]
  ] as const) {
    const waitMs = window.msUntil(used, atMs)
    const probe = createSlidingWindow()
    probe.add(3, 1_050)
    probe.add(2, 30_000)
    t.ok(probe.used(atMs + waitMs - 1) > used, `${used} does not fit before`)
    t.ok(probe.used(atMs + waitMs) <= used, `${used} fits then`)
  }
  t.equal(window.msUntil(5, 45_123), 0)
})

t.test('what is given back leaves the bucket in which it was taken, and no other one', async t => {
  const window = createSlidingWindow()
  window.add(3, 1_000)
  window.add(3, 2_000)
  window.remove(5, 1_000)
  t.equal(window.used(2_000), 3, 'no more than was taken there')
  window.remove(1, 7_000)
  t.equal(window.used(7_000), 3)
  window.remove(1, 2_000)
  t.equal(window.used(2_000 + MINUTE), 2)
  window.remove(2, 2_000)
  t.equal(window.used(2_000 + MINUTE + 400), 0)
})

t.test('no minute holds more than a window that was never passed, at random times', async () => {
  const steps = fc.array(
    fc.record({ waitMs: fc.integer({ min: 0, max: 9_000 }), wanted: fc.integer({ min: 1, max: 5 }) }),
    {
      maxLength: 200
    }
  )
  fc.assert(
    fc.property(steps, list => {
      const limit = 10
      const window = createSlidingWindow()
      const taken: Array<{ atMs: number; amount: number }> = []
      let nowMs = 0
      for (const { waitMs, wanted } of list) {
        nowMs += waitMs
        const amount = Math.min(wanted, limit - window.used(nowMs))
        window.add(amount, nowMs)
        taken.push({ atMs: nowMs, amount })
        const lastMinute = taken.filter(({ atMs }) => atMs > nowMs - MINUTE)
        if (lastMinute.reduce((sum, one) => sum + one.amount, 0) > limit) return false
      }
      return true
    })
  )
})
