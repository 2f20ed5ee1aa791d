import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createTurnBudget } from '../../../worker/performance/turn-budget.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

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

t.test('waiters that were served are forgotten while others wait all the time', async t => {
  const budget = createTurnBudget(1)
  const served: Array<WeakRef<object>> = []
  const wait = () => {
    const waiting = budget.wait()
    served.push(new WeakRef(waiting))
    return waiting
  }
  const running = new Set([1, 2, 3].map(() => keepWaiting()))
  async function keepWaiting(): Promise<void> {
    while (served.length < 300) await wait()
  }
  while (served.length < 200) await nextTurn()
  collectGarbage()
  const remembered = served.filter(reference => reference.deref() !== undefined).length
  t.ok(remembered < 20, `${remembered} of ${served.length}`)
  await Promise.all(running)
})

t.test('a waiter has the budget of its turn', async t => {
  const budget = createTurnBudget(100)
  budget.take(100)
  await budget.wait()
  t.same([budget.take(100), budget.take(1)], [true, false])
})
