import t from 'tap'
import { shareDeadline, withDeadline } from '../../shared/deadline.ts'

const never = new Promise<never>(() => undefined)

t.test('work that ends in time gives its result or its error', async t => {
  t.equal(await withDeadline(Promise.resolve('done'), 60_000), 'done')
  await t.rejects(withDeadline(Promise.reject(new Error('failed')), 60_000), { message: 'failed' })
})

t.test('work that does not end gives what stands for that, and a later failure of it is ignored', async t => {
  t.equal(await withDeadline(never, 1), undefined)
  t.equal(await withDeadline(never, 1, 'expired'), 'expired')
  const { promise, reject } = Promise.withResolvers<void>()
  t.equal(await withDeadline(promise, 1), undefined)
  reject(new Error('late'))
  await new Promise(resolve => setImmediate(resolve))
})

t.test('a deadline that is not needed keeps no process alive', async t => {
  const timersBefore = process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  await withDeadline(Promise.resolve(), 60_000)
  t.equal(process.getActiveResourcesInfo().filter(name => name === 'Timeout').length, timersBefore)
})

t.test('steps share one bound, and a step with a least time has it in any case', t => {
  let nowMs = 100
  const share = shareDeadline(3000, () => nowMs)
  t.equal(share(2000), 2000)
  nowMs += 2000
  t.equal(share(2000), 1000)
  nowMs += 1000
  t.equal(share(2000), 0)
  t.equal(share(2000, 500), 500)
  t.end()
})
