import t from 'tap'
import { computeCostNanos, type Price, type PricedUsage, readAmount } from '../../shared/prices.ts'
import { createPriceFinder, hasPrices } from '../../shared/profile/price-finder.ts'
import * as fc from '../support/properties.ts'

const noUsage: PricedUsage = {
  inputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
  totalTokens: null
}

const price: Price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, reasoning: 20 }

t.test('keys 17: each token counts once, by the price of its part', async t => {
  const usage = {
    inputTokens: 1000,
    cacheReadTokens: 600,
    cacheWriteTokens: 100,
    outputTokens: 500,
    reasoningTokens: 200,
    totalTokens: 1500
  }
  // 300 at 3, 600 at 0.3, 100 at 3.75, 300 at 15 and 200 at 20, per million.
  t.equal(computeCostNanos(usage, price), 900_000 + 180_000 + 375_000 + 4_500_000 + 4_000_000)
})

t.test('keys 17: a price that is absent is that of the whole', async t => {
  const usage = {
    ...noUsage,
    inputTokens: 10,
    cacheReadTokens: 4,
    cacheWriteTokens: 3,
    outputTokens: 5,
    reasoningTokens: 5
  }
  t.equal(computeCostNanos(usage, { input: 1, output: 2 }), 20_000)
})

t.test('a cost has nine decimal places and is rounded once', async t => {
  t.equal(computeCostNanos({ ...noUsage, inputTokens: 1 }, { input: 0.0375, output: 0 }), 38)
  t.equal(computeCostNanos({ ...noUsage, inputTokens: 3 }, { input: 0.0375, output: 0 }), 113)
  t.equal(computeCostNanos({ ...noUsage, inputTokens: 1_000_000 }, { input: 0.1, output: 0 }), 100_000_000)
  t.equal(readAmount(100_000_001), 0.100000001)
})

t.test('keys 17: nothing is known of the cost where neither input nor output was counted', async t => {
  t.equal(computeCostNanos(noUsage, price), undefined)
  t.equal(computeCostNanos({ ...noUsage, totalTokens: 100 }, price), undefined)
  t.equal(computeCostNanos({ ...noUsage, inputTokens: 0, outputTokens: 0 }, price), 0)
})

t.test('a missing count is settled by the total, or by its parts', async t => {
  const ofBoth = computeCostNanos({ ...noUsage, inputTokens: 7, outputTokens: 3 }, price)
  t.equal(computeCostNanos({ ...noUsage, inputTokens: 7, totalTokens: 10 }, price), ofBoth)
  t.equal(computeCostNanos({ ...noUsage, outputTokens: 3, totalTokens: 10 }, price), ofBoth)
  t.equal(computeCostNanos({ ...noUsage, cacheReadTokens: 10 }, price), 3000)
  t.equal(computeCostNanos({ ...noUsage, reasoningTokens: 10 }, price), 200_000)
})

t.test('a cost above every exact integer is the largest one', async t => {
  const usage = { ...noUsage, inputTokens: Number.MAX_SAFE_INTEGER }
  t.equal(computeCostNanos(usage, { input: 1_000_000_000, output: 0 }), Number.MAX_SAFE_INTEGER)
})

const count = fc.option(fc.integer({ min: -5, max: 2_000_000 }), { nil: null })
const anyUsage: fc.Arbitrary<PricedUsage> = fc.record({
  inputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  totalTokens: count
})
const amount = fc.integer({ min: 0, max: 100_000_000 }).map(millionths => millionths / 1_000_000)
const anyPrice = fc.record(
  { input: amount, output: amount, cacheRead: amount, cacheWrite: amount, reasoning: amount },
  { requiredKeys: ['input', 'output'] }
)

t.test('a cost is a whole number of billionths, and never negative', async () => {
  fc.assert(
    fc.property(anyUsage, anyPrice, (usage, anyOf) => {
      const nanos = computeCostNanos(usage, anyOf)
      return nanos === undefined || (Number.isSafeInteger(nanos) && nanos >= 0)
    })
  )
})

t.test('with equal prices the parts cost what the whole costs', async () => {
  fc.assert(
    fc.property(anyUsage, amount, (usage, each) => {
      const whole = { ...usage, cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null }
      if (usage.inputTokens === null || usage.outputTokens === null) return true
      const all = { input: each, output: each, cacheRead: each, cacheWrite: each, reasoning: each }
      return computeCostNanos(usage, all) === computeCostNanos(whole, { input: each, output: each })
    })
  )
})

t.test('a cached part is never counted beside the input', async () => {
  fc.assert(
    fc.property(anyUsage, anyPrice, (usage, { input, output }) => {
      if (usage.inputTokens === null || usage.outputTokens === null) return true
      const free = computeCostNanos(usage, { input, output, cacheRead: 0, cacheWrite: 0, reasoning: 0 }) ?? 0
      return free <= (computeCostNanos(usage, { input, output }) ?? 0)
    })
  )
})

t.test('more tokens never cost less', async () => {
  const more = fc.integer({ min: 0, max: 100_000 })
  fc.assert(
    fc.property(anyUsage, anyPrice, more, more, (usage, anyOf, input, output) => {
      if (usage.inputTokens === null || usage.outputTokens === null) return true
      const larger = { ...usage, inputTokens: usage.inputTokens + input, outputTokens: usage.outputTokens + output }
      return (computeCostNanos(larger, anyOf) ?? 0) >= (computeCostNanos(usage, anyOf) ?? 0)
    })
  )
})

const alias = (publicAlias: string, upstreamModel: string, pricing?: Price) => ({
  publicAlias,
  upstreamModel,
  ...(pricing && { pricing })
})
const costs = (input: number): Price => ({ input, output: input })

t.test('the exact name goes before the longest beginning', async t => {
  const find = createPriceFinder([], { models: { '*': costs(1), 'a/*': costs(2), 'a/b*': costs(3), 'a/b': costs(4) } })
  t.same(
    ['x', 'a/x', 'a/bc', 'a/b'].map(model => find({ model })?.input),
    [1, 2, 3, 4]
  )
  t.equal(createPriceFinder([], { models: { 'a/*': costs(1) } })({ model: 'b' }), undefined)
  t.equal(createPriceFinder([], { models: {} })({}), undefined)
})

t.test('the price of an alias goes before that of the file', async t => {
  const profiles = [{ profileId: 'one', models: [alias('a', 'up', costs(9)), alias('b', 'other')] }]
  const find = createPriceFinder(profiles, { models: { '*': costs(1) } })
  t.equal(find({ model: 'a', profileId: 'one', upstreamModel: 'up' })?.input, 9)
  t.equal(find({ model: 'b', profileId: 'one', upstreamModel: 'other' })?.input, 1)
})

t.test('a deployment has the price of its own profile, else that of the alias', async t => {
  const targets = [
    { profileId: 'one', upstreamModel: 'up', weight: 1, priority: 0 },
    { profileId: 'two', upstreamModel: 'up', weight: 1, priority: 0 }
  ]
  const profiles = [
    { profileId: 'one', models: [{ ...alias('shared', 'up', costs(5)), targets }] },
    { profileId: 'two', models: [alias('own', 'up', costs(7))] }
  ]
  const find = createPriceFinder(profiles, { models: {} })
  t.equal(find({ model: 'shared', profileId: 'one', upstreamModel: 'up', isTarget: true })?.input, 5)
  t.equal(find({ model: 'shared', profileId: 'two', upstreamModel: 'up', isTarget: true })?.input, 7)
})

t.test('prices exist where the file or an alias has one', async t => {
  t.equal(hasPrices([{ profileId: 'one', models: [alias('a', 'up')] }], {}), false)
  t.equal(hasPrices([{ profileId: 'one', models: [alias('a', 'up', costs(0))] }], {}), true)
  t.equal(hasPrices([], { '*': costs(1) }), true)
})
