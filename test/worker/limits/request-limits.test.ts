import t from 'tap'
import type { NormalizedUsage } from '../../../worker/normalized/index.ts'
import { END, granted, limitedKey, openBench, start } from './support.ts'

const key = limitedKey({ tokensPerMinute: 10_000 })

/** A request that has reserved 1,000 tokens for its input and 200 for its response. */
async function admit() {
  const bench = openBench()
  const { request } = start(bench, key, { input: 1000, output: 200 })
  await bench.endTurn()
  bench.questions[0]?.answer(granted({ amounts: { tokens: 1200 } }))
  await bench.endTurn()
  const unused = (end: Partial<typeof END>) => request.settle({ ...END, ...end })?.unusedTokens ?? 0
  return { request, unused }
}

t.test('keys 8: the usage of the provider settles what was reserved', async t => {
  t.equal((await admit()).unused({ inputTokens: 300, outputTokens: 100, totalTokens: 450 }), 750)
  t.equal((await admit()).unused({ inputTokens: 300, outputTokens: 100 }), 800)
  t.equal((await admit()).unused({ inputTokens: 1300, outputTokens: 900 }), -1000, 'more was used')
})

t.test('keys 8: where a provider counts nothing, the estimate and what was generated are used', async t => {
  const { request, unused } = await admit()
  request.attemptStarted()
  request.attemptEnded({ wasSent: true, status: 200 })
  request.generated([
    { type: 'text-delta', text: 'x'.repeat(80) },
    { type: 'tool-call-start', index: 0, id: 'call_1', name: 'find' },
    { type: 'tool-call-delta', index: 0, arguments: '{"city":"Oslo"}' },
    { type: 'file', file: { fileId: 'f' } }
  ])
  t.equal(unused({}), 1200 - 1000 - Math.ceil((80 + 4 + 15) / 4) - 1000)
})

t.test('keys 8: a broken stream has used what was generated, where the provider had counted less', async t => {
  const { request, unused } = await admit()
  request.attemptStarted()
  request.generated([{ type: 'text-delta', text: 'x'.repeat(400) }])
  t.equal(unused({ isWhole: false, inputTokens: 900, outputTokens: 1 }), 1200 - 900 - 100)
})

t.test('keys 8: a broken stream has the input that its provider had counted at its start', async t => {
  const { request, unused } = await admit()
  request.attemptStarted()
  const usage = {
    inputTokens: 700,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: 1,
    reasoningTokens: null,
    totalTokens: null
  }
  request.generated([
    { type: 'start', providerModel: null, metadata: {}, usage },
    { type: 'text-delta', text: 'x'.repeat(40) }
  ])
  t.equal(unused({ isWhole: false }), 1200 - 700 - 10)
})

t.test('keys 8: a client that leaves at the last event has used what the provider counted', async t => {
  const { request, unused } = await admit()
  request.attemptStarted()
  request.generated([{ type: 'text-delta', text: 'x'.repeat(400) }])
  request.generated([{ type: 'finish', reason: 'stop', providerReason: null, metadata: {} }])
  t.equal(unused({ isWhole: false, inputTokens: 300, outputTokens: 70, totalTokens: 370 }), 1200 - 370)
})

t.test('keys 8: a request that was not sent, or that the provider refused, has used nothing', async t => {
  const unsent = await admit()
  t.equal(unsent.unused({ isWhole: false }), 1200)
  const failed = await admit()
  failed.request.attemptStarted()
  failed.request.attemptEnded({ wasSent: false, status: undefined })
  failed.request.attemptStarted()
  failed.request.attemptEnded({ wasSent: true, status: 503 })
  t.equal(failed.unused({ isWhole: false }), 1200)
})

t.test('keys 8: a client that leaves before the response has used its input', async t => {
  const { request, unused } = await admit()
  request.attemptStarted()
  t.equal(unused({ isWhole: false }), 200)
})

const NO_USAGE: NormalizedUsage = {
  inputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
  totalTokens: null
}
const price = { input: 2, output: 10, cacheRead: 1 }
/** What tokens cost at that price, in billionths. */
const cost = (input: number, output: number) => input * 2000 + output * 10_000

/** A request of a key with a budget alone, whose input is 1,000 tokens by the estimate. */
async function admitWithBudget() {
  const bench = openBench()
  const key = limitedKey({ budget: { amount: 5, period: 'month' } })
  const { request } = start(bench, key, { input: 1000, output: 200 })
  await bench.endTurn()
  t.strictSame(bench.questions[0]?.amounts, { requests: 1, tokens: 0, slots: 0 }, 'an estimate reserves nothing')
  bench.questions[0]?.answer(granted({ amounts: { requests: 1 } }))
  await bench.endTurn()
  const charge = (end: Partial<typeof END>) => request.settle({ ...END, price, ...end })?.costNanos ?? 0
  return { request, charge }
}

t.test('keys 8: a budget is charged the cost of the record where the whole usage was reported', async t => {
  for (const usage of [
    { inputTokens: 300, outputTokens: 7 },
    { inputTokens: 300, totalTokens: 307 }
  ]) {
    const { request, charge } = await admitWithBudget()
    request.attemptStarted()
    request.generated([{ type: 'text-delta', text: 'x'.repeat(400) }])
    request.reported({ ...NO_USAGE, ...usage })
    request.generated([{ type: 'finish', reason: 'stop', providerReason: null, metadata: {} }])
    t.equal(charge({ ...usage, isWhole: false, costNanos: 12_345 }), 12_345, 'also of a client that leaves at the end')
  }
})

t.test('keys 8: a budget is charged the estimate for what no usage was reported of', async t => {
  const cases: [name: string, usage: Partial<NormalizedUsage>, isWhole: boolean, charged: number][] = [
    ['nothing, whole', {}, true, cost(1000, 100)],
    ['nothing, broken', {}, false, cost(1000, 100)],
    ['the input alone', { inputTokens: 300 }, true, cost(300, 100)],
    ['the output alone', { outputTokens: 7 }, true, cost(1000, 7)],
    ['the total alone', { totalTokens: 1040 }, true, cost(1000, 40)],
    ['a total below the estimate of the input', { totalTokens: 900 }, true, cost(900, 0)],
    [
      'the input and its cached part, broken',
      { inputTokens: 300, cacheReadTokens: 200 },
      false,
      200_000 + cost(100, 100)
    ],
    ['the output so far, broken', { inputTokens: 300, outputTokens: 1 }, false, cost(300, 100)],
    ['more than was generated, broken', { inputTokens: 300, outputTokens: 130 }, false, cost(300, 130)]
  ]
  for (const [name, usage, isWhole, charged] of cases) {
    const { request, charge } = await admitWithBudget()
    request.attemptStarted()
    request.generated([{ type: 'text-delta', text: 'x'.repeat(400) }])
    if (Object.keys(usage).length > 0) request.reported({ ...NO_USAGE, ...usage })
    const { inputTokens, outputTokens, totalTokens } = { ...NO_USAGE, ...usage }
    const counts = {
      inputTokens: inputTokens ?? undefined,
      outputTokens: outputTokens ?? undefined,
      totalTokens: totalTokens ?? undefined
    }
    t.equal(charge({ ...counts, isWhole, costNanos: 1 }), charged, name)
  }
})

t.test(
  'keys 8: a budget is charged nothing where nothing was sent, it was refused, or the model has no price',
  async t => {
    t.equal((await admitWithBudget()).charge({ isWhole: false }), 0)
    const refused = await admitWithBudget()
    refused.request.attemptStarted()
    refused.request.attemptEnded({ wasSent: true, status: 503 })
    t.equal(refused.charge({ isWhole: false }), 0)
    const unpriced = await admitWithBudget()
    unpriced.request.attemptStarted()
    t.equal(unpriced.charge({ isWhole: false, price: undefined }), 0)
    const left = await admitWithBudget()
    left.request.attemptStarted()
    t.equal(
      left.charge({ isWhole: false }),
      cost(1000, 0),
      'a client that leaves before the response has used its input'
    )
  }
)

t.test('a request takes a whole limit at most', async t => {
  const bench = openBench()
  const small = limitedKey({ tokensPerMinute: 500 }, { group: { tokensPerMinute: 400 } })
  start(bench, small, { input: 100, output: 100_000 })
  await bench.endTurn()
  t.equal(bench.questions[0]?.amounts.tokens, 400)
})
