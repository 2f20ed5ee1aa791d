import t from 'tap'
import { importOnce } from '../../../worker/performance/import-once.ts'

t.test('a module is loaded with the first call and kept, and a failed load is tried again', async t => {
  const outcomes = [new Error('no memory'), { name: 'one' }, { name: 'two' }]
  let loads = 0
  const load = importOnce(async () => {
    const outcome = outcomes[loads++]
    if (outcome instanceof Error) throw outcome
    return outcome
  })
  t.equal(loads, 0)
  await t.rejects(load(), { message: 'no memory' })
  const [first, second] = await Promise.all([load(), load()])
  t.same(first, { name: 'one' })
  t.equal(second, first)
  t.equal(await load(), first)
  t.equal(loads, 2)
})
