import t, { type Test } from 'tap'
import { type Candidate, chooseTarget } from '../../../worker/targets/choose-target.ts'
import * as fc from '../../support/properties.ts'

function candidate(key: string, fields: Partial<Candidate> = {}): Candidate {
  return { key, weight: 1, priority: 0, state: 'healthy', restsSinceMs: 0, running: 0, ...fields }
}

const candidates = fc
  .array(
    fc.record({
      weight: fc.integer({ min: 1, max: 100 }),
      priority: fc.integer({ min: 0, max: 3 }),
      state: fc.constantFrom('healthy' as const, 'resting' as const, 'due' as const),
      restsSinceMs: fc.nat(1000),
      running: fc.nat(20)
    }),
    { minLength: 1, maxLength: 16 }
  )
  .map(list => list.map((fields, index) => candidate(`t${index}`, fields)))
const conversation = fc.option(fc.string(), { nil: undefined })
const seed = fc.double({ min: 0, max: 0.999, noNaN: true })

t.test('no priority is skipped while a lower one has a target that takes requests', async () => {
  fc.assert(
    fc.property(candidates, conversation, seed, (list, talk, drawn) => {
      const choice = chooseTarget(list, { conversation: talk, random: () => drawn })
      const open = list.filter(({ state }) => state !== 'resting')
      const lowest = Math.min(...(open.length > 0 ? open : list).map(({ priority }) => priority))
      return choice?.target.priority === lowest
    })
  )
})

t.test('a resting target gets nothing while another one takes requests', async () => {
  fc.assert(
    fc.property(candidates, conversation, seed, (list, talk, drawn) => {
      const choice = chooseTarget(list, { conversation: talk, random: () => drawn })
      const hasOpen = list.some(({ state }) => state !== 'resting')
      return (choice?.mode === 'forced') === !hasOpen && (!hasOpen || choice?.target.state !== 'resting')
    })
  )
})

t.test('where all rest, the longest rest of the lowest priority is over first', async t => {
  const list = [
    candidate('late', { state: 'resting', restsSinceMs: 30 }),
    candidate('early', { state: 'resting', restsSinceMs: 10 }),
    candidate('backup', { state: 'resting', restsSinceMs: 1, priority: 1 })
  ]
  const choice = chooseTarget(list, { conversation: 'x', random: () => 0 })
  t.equal(choice?.target.key, 'early')
  t.equal(choice?.mode, 'forced')
})

t.test('a conversation has the same target whatever order, load and chance are', async () => {
  fc.assert(
    fc.property(candidates, fc.string(), seed, seed, (list, talk, one, other) => {
      const first = chooseTarget(list, { conversation: talk, random: () => one })
      const busier = [...list].reverse().map(entry => ({ ...entry, running: entry.running + 7 }))
      const second = chooseTarget(busier, { conversation: talk, random: () => other })
      return first?.mode === 'forced' || first?.target.key === second?.target.key
    })
  )
})

t.test('only the conversations of a target that rests move', async () => {
  fc.assert(
    fc.property(candidates, fc.string(), fc.nat(15), (list, talk, place) => {
      const healthy = list.map(entry => ({ ...entry, state: 'healthy' as const, priority: 0 }))
      const rested = healthy.map((entry, index) =>
        index === place % healthy.length ? { ...entry, state: 'resting' as const } : entry
      )
      const before = chooseTarget(healthy, { conversation: talk, random: () => 0 })
      const after = chooseTarget(rested, { conversation: talk, random: () => 0 })
      const moved = before?.target.key !== after?.target.key
      return healthy.length === 1 || moved === (before?.target.key === rested[place % healthy.length]?.key)
    })
  )
})

/** Six standard deviations: one chance in a billion. */
const DEVIATIONS = 6

function assertShare(t: Test, { count, of, share }: { count: number; of: number; share: number }): void {
  const deviation = Math.sqrt(of * share * (1 - share))
  t.ok(Math.abs(count - of * share) <= DEVIATIONS * deviation, `${count} of ${of} for a share of ${share}`)
}

t.test('conversations are shared by weight within the noise of their number', async t => {
  const list = [candidate('a', { weight: 6 }), candidate('b', { weight: 3 }), candidate('c', { weight: 1 })]
  const counts = new Map<string | undefined, number>()
  const all = 4000
  for (let index = 0; index < all; index++) {
    const key = chooseTarget(list, { conversation: `talk ${index}`, random: () => 0 })?.target.key
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  for (const { key, weight } of list) assertShare(t, { count: counts.get(key) ?? 0, of: all, share: weight / 10 })
})

t.test('calls one after the other without a conversation are shared by weight', async t => {
  const list = [candidate('a', { weight: 3 }), candidate('b', { weight: 1 })]
  const all = 4000
  let chosen = 0
  for (let index = 0; index < all; index++) {
    // Equidistant draws stand for any generator.
    const choice = chooseTarget(list, { conversation: undefined, random: () => (index + 0.5) / all })
    if (choice?.target.key === 'a') chosen++
  }
  assertShare(t, { count: chosen, of: all, share: 3 / 4 })
})

t.test('a call without a conversation goes where the fewest run for the weight', async t => {
  const list = [candidate('a', { weight: 3, running: 7 }), candidate('b', { weight: 1, running: 2 })]
  t.equal(chooseTarget(list, { conversation: undefined, random: () => 0 })?.target.key, 'b')
  const slower = [candidate('a', { weight: 3, running: 5 }), candidate('b', { weight: 1, running: 2 })]
  t.equal(chooseTarget(slower, { conversation: undefined, random: () => 0.99 })?.target.key, 'a')
})

t.test('there is no choice without a candidate', async t => {
  t.equal(chooseTarget([], { conversation: undefined, random: () => 0 }), undefined)
})
