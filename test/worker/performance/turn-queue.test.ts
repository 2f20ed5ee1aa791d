import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createTurnQueue } from '../../../worker/performance/turn-queue.ts'

t.test('waiters go on one per turn, in their order, also those that come meanwhile', async t => {
  const queue = createTurnQueue()
  const gone: number[] = []
  const go = async (number: number) => {
    await queue.wait()
    gone.push(number)
    if (number === 1) void go(3)
  }
  void go(1)
  void go(2)
  t.same(gone, [])
  for (const expected of [[1], [1, 2], [1, 2, 3]]) {
    await nextTurn()
    await null
    t.same(gone, expected)
  }
  void go(4)
  await nextTurn()
  t.same(gone, [1, 2, 3, 4])
})
