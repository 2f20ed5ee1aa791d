// Alone: it measures processor times, for a minute on a busy machine.
// The tests of growth find work that grows too fast, and no other.

import t from 'tap'
import { LINEAR_GROWTH_MAX, measureGrowth } from './growth.ts'

const SIZE = 1000
/** Some tens of milliseconds for the larger work. */
const STEPS = 2e7

/** Kept, so that the engine cannot leave the work out. */
let sum = 0

function count(steps: number): void {
  for (let step = 0; step < steps; step++) sum += Math.sqrt(step)
}

t.test('work that grows with the size to the power of 1.7 is found', async t => {
  const growth = measureGrowth(SIZE, size => () => count(STEPS * (size / (8 * SIZE)) ** 1.7))
  t.ok(growth > LINEAR_GROWTH_MAX, `${growth}`)
  t.ok(sum > 0)
})

for (const [how, refuse] of [
  ['is refused', () => undefined],
  [
    'makes it throw',
    () => {
      throw new Error('beyond the bound')
    }
  ]
] as const) {
  t.test(`work that grows too fast is found where a longer list ${how}`, async t => {
    const growth = measureGrowth(SIZE, size => () => {
      if (size > 8 * SIZE) refuse()
      else count(STEPS * (size / (8 * SIZE)) ** 2)
    })
    t.ok(growth > LINEAR_GROWTH_MAX, `${growth}`)
  })
}

t.test('work whose items cost twice as much from some size on is within the bound', async t => {
  const growth = measureGrowth(SIZE, size => () => count(((size > SIZE ? 2 : 1) * STEPS * size) / (16 * SIZE)))
  t.ok(growth <= LINEAR_GROWTH_MAX, `${growth}`)
})

t.test('work that grows as its size does is within the bound', async t => {
  const growth = measureGrowth(SIZE, size => () => count((STEPS * size) / (8 * SIZE)))
  t.ok(growth <= LINEAR_GROWTH_MAX, `${growth}`)
})

t.test(
  'objects of many members are within the bound, although each member costs more once they leave the caches',
  async t => {
    const growth = measureGrowth(10 * SIZE, size => {
      const text = JSON.stringify(Object.fromEntries(Array.from({ length: size }, (_, index) => [`m${index}`, index])))
      return () => void JSON.stringify(JSON.parse(text))
    })
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth}`)
  }
)
