import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createTurnBudget } from '../../../worker/performance/turn-budget.ts'

t.test('the budget of a turn is spent by the take that reaches it, and the next turn has a new one', async t => {
  const budget = createTurnBudget(100)
  t.same([budget.take(60), budget.take(60), budget.take(1)], [true, true, false])
  await nextTurn()
  t.same([budget.take(100), budget.take(1)], [true, false])
})

t.test('waiters go on one per turn, in their order, also those that come meanwhile', async t => {
  const budget = createTurnBudget(100)
  const gone: number[] = []
  const go = async (number: number) => {
    await budget.wait()
    gone.push(number)
    if (number === 1) void go(3)
  }
  void go(1)
  void go(2)
  t.same(gone, [])
  for (const expected of [[1], [1, 2], [1, 2, 3]]) {
    await nextTurn()
    t.same(gone, expected)
  }
  void go(4)
  await nextTurn()
  t.same(gone, [1, 2, 3, 4])
})

t.test('a waiter has the budget of its turn', async t => {
  const budget = createTurnBudget(100)
  budget.take(100)
  await budget.wait()
  t.same([budget.take(100), budget.take(1)], [true, false])
})
