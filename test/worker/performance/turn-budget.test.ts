import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createTurnBudget } from '../../../worker/performance/turn-budget.ts'

t.test('the budget of a turn is spent by the take that reaches it, and the next turn has a new one', async t => {
  const budget = createTurnBudget(100)
  t.same([budget.take(60), budget.take(60), budget.take(1)], [true, true, false])
  await nextTurn()
  t.same([budget.take(100), budget.take(1)], [true, false])
})

t.test('who waits for a turn goes on', async t => {
  const budget = createTurnBudget(1)
  await budget.turns.wait()
  t.ok(budget.take(1))
})
