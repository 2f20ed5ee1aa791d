import t from 'tap'
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

t.test('a request takes a whole limit at most', async t => {
  const bench = openBench()
  const small = limitedKey({ tokensPerMinute: 500 }, { group: { tokensPerMinute: 400 } })
  start(bench, small, { input: 100, output: 100_000 })
  await bench.endTurn()
  t.equal(bench.questions[0]?.amounts.tokens, 400)
})
