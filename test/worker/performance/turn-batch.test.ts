import t from 'tap'
import { createTurnBatch } from '../../../worker/performance/turn-batch.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

t.test('the items of one turn are run together, in order of arrival, at the end of the turn', async t => {
  const seen: number[] = []
  const add = createTurnBatch<number>(item => seen.push(item))
  add(1)
  add(2)
  await Promise.resolve()
  t.same(seen, [])
  await turn()
  t.same(seen, [1, 2])
})

t.test('an item that is added while a batch runs is run in the next turn', async t => {
  const seen: string[] = []
  const add = createTurnBatch<string>(item => {
    seen.push(item)
    if (item === 'first') add('later')
  })
  add('first')
  add('second')
  await turn()
  t.same(seen.slice(0, 2), ['first', 'second'])
  await turn()
  t.same(seen, ['first', 'second', 'later'])
})

t.test('steps of different kinds are not mixed', async t => {
  const seen: string[] = []
  const read = createTurnBatch<number>(item => seen.push(`read ${item}`))
  const write = createTurnBatch<number>(item => seen.push(`write ${item}`))
  for (const item of [1, 2]) {
    read(item)
    write(item)
  }
  await turn()
  t.same(seen, ['read 1', 'read 2', 'write 1', 'write 2'])
})

t.test('after a step that throws, the remaining items are still run', async t => {
  const seen: number[] = []
  const add = createTurnBatch<number>(item => {
    if (item === 2) throw new Error('broken step')
    seen.push(item)
  })
  const thrown: unknown[] = []
  const caught = new Promise<void>(resolve => {
    process.setUncaughtExceptionCaptureCallback(error => {
      thrown.push(error)
      resolve()
    })
  })
  for (const item of [1, 2, 3]) add(item)
  await caught
  await turn()
  process.setUncaughtExceptionCaptureCallback(null)
  t.match(thrown, [/broken step/])
  t.same(seen, [1, 3])
})
