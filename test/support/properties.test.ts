import t from 'tap'
import * as fc from './properties.ts'

t.test('a property makes a twentieth of its runs, at least 25, and all of them in the long set', async t => {
  t.equal(fc.reduceRuns(2000, false), 100)
  t.equal(fc.reduceRuns(100, false), 25)
  t.equal(fc.reduceRuns(10, false), 10)
  t.equal(fc.reduceRuns(2000, true), 2000)
  t.equal(fc.reduceRuns(undefined, true), 100)
})

t.test('a property that is asserted makes as many runs, and fails as in fast-check itself', async t => {
  let runs = 0
  fc.assert(
    fc.property(fc.integer(), () => void runs++),
    { numRuns: 1000 }
  )
  t.equal(runs, fc.reduceRuns(1000))
  t.throws(() => fc.assert(fc.property(fc.integer(), value => value < 0)), /Property failed/)
  await t.rejects(fc.assert(fc.asyncProperty(fc.integer(), async value => value < 0)), /Property failed/)
})
