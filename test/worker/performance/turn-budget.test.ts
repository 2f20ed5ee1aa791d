import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createTurnBudget } from '../../../worker/performance/turn-budget.ts'

t.test('the budget of a turn is spent by the take that reaches it, and the next turn has a new one', async t => {
  const budget = createTurnBudget(100)
  t.same([budget.take(60), budget.take(60), budget.take(1)], [true, true, false])
  await nextTurn()
  t.same([budget.take(100), budget.take(1)], [true, false])
})

t.test('work that waits goes on in its order, as much in one turn as its budget allows', async t => {
  const budget = createTurnBudget(100)
  t.equal(budget.take(100), true)
  const gone: number[] = []
  const go = async (number: number, amount: number) => {
    await budget.wait(amount)
    gone.push(number)
    if (number === 1) void go(5, 1)
  }
  void go(1, 60)
  void go(2, 60)
  void go(3, 500)
  void go(4, 10)
  t.same(gone, [])
  const turns = []
  for (let turn = 0; turn < 3; turn++) {
    await nextTurn()
    turns.push([...gone])
  }
  t.same(turns, [
    [1, 2],
    [1, 2, 3],
    [1, 2, 3, 4, 5]
  ])
})

t.test('new work does not overtake work that waits', async t => {
  const budget = createTurnBudget(10)
  const waiting = budget.wait(1)
  t.equal(budget.take(1), false)
  await waiting
  t.equal(budget.take(1), true)
})
