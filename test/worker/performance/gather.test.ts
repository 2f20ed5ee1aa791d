import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createGatherer } from '../../../worker/performance/gather.ts'

/** Keeps the process alive while the gatherer's own timer does not. */
async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await wait(5)
}

t.test('so many items are worked on in one go, in order', async t => {
  const seen: number[] = []
  const gatherer = createGatherer<number>({ step: item => seen.push(item), itemsMax: 3, waitMs: 60_000 })
  gatherer.add(1)
  gatherer.add(2)
  t.same(seen, [])
  gatherer.add(3)
  t.same(seen, [1, 2, 3])
  gatherer.add(4)
  gatherer.flush()
  t.same(seen, [1, 2, 3, 4])
  gatherer.flush()
  t.same(seen, [1, 2, 3, 4], 'nothing is worked on twice')
})

t.test('a single item waits for a bounded time, and the next one again', async t => {
  const seen: number[] = []
  const gatherer = createGatherer<number>({ step: item => seen.push(item), itemsMax: 100, waitMs: 5 })
  gatherer.add(1)
  t.same(seen, [])
  await until(() => seen.length === 1)
  gatherer.add(2)
  await until(() => seen.length === 2)
  t.same(seen, [1, 2])
})

t.test('an item that is added by a step waits for the next go', async t => {
  const seen: number[] = []
  const gatherer = createGatherer<number>({
    step(item) {
      seen.push(item)
      if (item < 10) gatherer.add(item + 10)
    },
    itemsMax: 2,
    waitMs: 60_000
  })
  gatherer.add(1)
  gatherer.add(2)
  t.same(seen.slice(0, 2), [1, 2])
  gatherer.flush()
  t.same(seen, [1, 2, 11, 12])
})
