import t from 'tap'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { END, granted, limitedKey, openBench, refused, start } from './support.ts'

const perMinute = limitedKey({ requestsPerMinute: 60 })

t.test('requests of one turn are one question, and its lease admits later ones without a message', async t => {
  const bench = openBench()
  const first = [start(bench, perMinute), start(bench, perMinute)]
  await bench.endTurn()
  t.strictSame(bench.log, ['lease ci 2/0/0'])
  bench.questions[0]?.answer(granted({ amounts: { requests: 4 } }))
  await bench.endTurn()
  t.ok(first.every(({ outcome }) => outcome === 'admitted'))
  t.equal(start(bench, perMinute).outcome, 'admitted', 'from the lease')
  t.equal(start(bench, perMinute).outcome, 'admitted')
  t.equal(bench.log.length, 1)
  const next = start(bench, perMinute)
  t.equal(next.outcome, undefined, 'the lease is used up')
  await bench.endTurn()
  t.strictSame(bench.log, ['lease ci 2/0/0', 'lease ci 1/0/0'])
})

t.test('what is left of an old lease goes back, with the settlements, in one message', async t => {
  const bench = openBench()
  start(bench, perMinute)
  start(bench, limitedKey({ tokensPerMinute: 1000 }, { name: 'other' }), { input: 10, output: 10 })
  await bench.endTurn()
  bench.questions[0]?.answer(granted({ amounts: { requests: 4 }, grantedAtMs: 70 }))
  bench.questions[1]?.answer(granted({ amounts: { tokens: 50 }, grantedAtMs: 71 }))
  await bench.endTurn()
  bench.advance(99)
  t.strictSame(bench.settlements, [])
  bench.advance(1)
  t.strictSame(bench.settlements, [
    { key: 'ci', grantedAtMs: 70, unusedRequests: 3, unusedTokens: 0, freedSlots: 0, costNanos: 0 },
    { key: 'other', grantedAtMs: 71, unusedRequests: 0, unusedTokens: 30, freedSlots: 0, costNanos: 0 }
  ])
  t.equal(bench.log.at(-1), 'settle ci,other')
  t.equal(start(bench, perMinute).outcome, undefined, 'nothing is admitted from an old lease')
})

t.test('a short lease is given back before more is asked for', async t => {
  const bench = openBench()
  const key = limitedKey({ tokensPerMinute: 1000 })
  start(bench, key, { input: 50, output: 50 })
  await bench.endTurn()
  bench.questions[0]?.answer(granted({ amounts: { tokens: 130 } }))
  await bench.endTurn()
  start(bench, key, { input: 20, output: 20 })
  await bench.endTurn()
  t.strictSame(bench.log, ['lease ci 0/100/0', 'settle ci', 'lease ci 0/40/0'])
  t.match(bench.settlements, [{ grantedAtMs: 7, unusedTokens: 30 }])
})

t.test('where several are refused together, those that fit are admitted', async t => {
  const bench = openBench()
  const requests = Array.from({ length: 5 }, () => start(bench, perMinute))
  let left = 3
  for (let asked = 0; asked < 9; asked += 1) {
    await bench.endTurn()
    const question = bench.questions[asked]
    if (question === undefined) break
    const { requests: wanted } = question.amounts
    if (wanted > left) question.answer(refused('requests_per_minute'))
    else {
      left -= wanted
      question.answer(granted({ amounts: { requests: wanted } }))
    }
  }
  t.strictSame(
    requests.map(({ outcome }) => outcome),
    ['admitted', 'admitted', 'admitted', 'rate_limit_exceeded', 'rate_limit_exceeded']
  )
  t.ok(bench.questions.length <= 5, 'a single refusal counts for all that want as much')
})

t.test('a smaller request is admitted though a larger one was refused', async t => {
  const bench = openBench()
  const key = limitedKey({ tokensPerMinute: 1000 })
  const large = start(bench, key, { input: 900, output: 0 })
  const small = start(bench, key, { input: 10, output: 0 })
  await bench.endTurn()
  bench.questions[0]?.answer(refused('tokens_per_minute'))
  await bench.endTurn()
  bench.questions[1]?.answer(refused('tokens_per_minute'))
  await bench.endTurn()
  t.equal(large.outcome, 'rate_limit_exceeded')
  bench.questions[2]?.answer(granted({ amounts: { tokens: 10 } }))
  await bench.endTurn()
  t.equal(small.outcome, 'admitted')
})

t.test('a request that comes while a question runs is part of the next one', async t => {
  const bench = openBench()
  start(bench, perMinute)
  await bench.endTurn()
  const late = start(bench, perMinute)
  await bench.endTurn()
  t.equal(bench.questions.length, 1)
  bench.questions[0]?.answer(granted({ amounts: { requests: 1 } }))
  await bench.endTurn()
  t.equal(bench.questions.length, 2)
  bench.questions[1]?.answer({ kind: 'unavailable' })
  await bench.endTurn()
  t.equal(late.outcome, 'limits_unavailable')
  t.match(late.error, { retryAfter: '1', status: 503 })
})

t.test('a client that leaves while it waits gives its part back', async t => {
  const bench = openBench()
  const left = start(bench, perMinute)
  const other = start(bench, perMinute)
  await bench.endTurn()
  left.abortion.abort(new GatewayError('client_disconnected'))
  await bench.endTurn()
  t.equal(left.outcome, 'client_disconnected')
  t.notOk(bench.questions[0]?.signal.aborted, 'another request waits for the same answer')
  bench.questions[0]?.answer(granted({ amounts: { requests: 2 } }))
  await bench.endTurn()
  t.equal(other.outcome, 'admitted')
  bench.advance(100)
  t.match(bench.settlements, [{ unusedRequests: 1 }])
})

t.test('a question ends when all its clients have left', async t => {
  const bench = openBench()
  const left = start(bench, perMinute)
  await bench.endTurn()
  left.abortion.abort(new GatewayError('client_disconnected'))
  await bench.endTurn()
  t.ok(bench.questions[0]?.signal.aborted)
  const next = start(bench, perMinute)
  await bench.endTurn()
  bench.questions[1]?.answer(granted({ amounts: { requests: 1 } }))
  await bench.endTurn()
  t.equal(next.outcome, 'admitted')
})

t.test('no request waits without a deadline', async t => {
  const bench = openBench()
  const request = start(bench, perMinute)
  await bench.endTurn()
  bench.advance(4_000)
  await bench.endTurn()
  t.equal(request.outcome, 'limits_unavailable')
  t.ok(bench.questions[0]?.signal.aborted)
})

t.test('a key with a budget asks as its leases say', async t => {
  const bench = openBench()
  const key = limitedKey({ budget: { amount: 5, period: 'month' } })
  const first = start(bench, key)
  await bench.endTurn()
  bench.questions[0]?.answer(granted({ amounts: { requests: 1 } }))
  await bench.endTurn()
  t.equal(first.outcome, 'admitted')
  const second = start(bench, key)
  t.equal(second.outcome, undefined)
  await bench.endTurn()
  bench.questions[1]?.answer(refused('budget', { retryAfterMs: 86_400_000 }))
  await bench.endTurn()
  t.equal(second.outcome, 'budget_exceeded')
  t.match(second.error, {
    message: "The API key 'ci' has spent its budget of 5 per month. It begins again at 2026-12-01T00:00:00Z.",
    retryAfter: '86400',
    limit: { name: 'budget', holder: 'key', key: 'ci', amount: 5 }
  })
})

t.test('a refusal names the key, the limit and when a request fits again', async t => {
  const bench = openBench()
  const key = limitedKey({ requestsPerMinute: 60, concurrentRequests: 2, budget: { amount: 1, period: 'total' } })
  const messages: unknown[] = []
  for (const [limit, retryAfterMs] of [
    ['requests_per_minute', 1_001],
    ['concurrent_requests', 1],
    ['budget', null]
  ] as const) {
    const request = start(bench, key)
    await bench.endTurn()
    bench.questions.at(-1)?.answer(refused(limit, { retryAfterMs }))
    await bench.endTurn()
    const { message, retryAfter } = request.error as GatewayError
    messages.push([message, retryAfter])
  }
  t.strictSame(messages, [
    ["The API key 'ci' has reached its limit of 60 requests per minute. Try again in 2 s.", '2'],
    ["The API key 'ci' has reached its limit of 2 concurrent requests. Try again in 1 s.", '1'],
    ["The API key 'ci' has spent its budget of 1. It does not begin again.", undefined]
  ])
})

t.test('keys 9: a slot is free in the turn in which its request ends, once', async t => {
  const bench = openBench()
  const key = limitedKey({ concurrentRequests: 2 })
  const { request } = start(bench, key)
  await bench.endTurn()
  bench.questions[0]?.answer(granted({ amounts: { slots: 1 } }))
  await bench.endTurn()
  bench.limiter.settle(request, END)
  bench.limiter.settle(request, END)
  await bench.endTurn()
  t.strictSame(bench.settlements, [
    { key: 'ci', grantedAtMs: 7, unusedRequests: 0, unusedTokens: 0, freedSlots: 1, costNanos: 0 }
  ])
})

t.test('what needs no hurry is settled with the next batch', async t => {
  const bench = openBench()
  const key = limitedKey({ tokensPerMinute: 1000 })
  const { request } = start(bench, key, { input: 10, output: 90 })
  await bench.endTurn()
  bench.questions[0]?.answer(granted({ amounts: { tokens: 100 } }))
  await bench.endTurn()
  bench.limiter.settle(request, { ...END, totalTokens: 30 })
  await bench.endTurn()
  t.strictSame(bench.settlements, [])
  bench.advance(100)
  t.match(bench.settlements, [{ unusedTokens: 70 }])
})

t.test('cost is told of keys with a budget alone', async t => {
  const bench = openBench()
  for (const key of [
    perMinute,
    limitedKey({ requestsPerMinute: 9, budget: { amount: 5, period: 'day' } }, { name: 'b' })
  ]) {
    const { request } = start(bench, key)
    await bench.endTurn()
    bench.questions.at(-1)?.answer(granted({ amounts: { requests: 1 } }))
    await bench.endTurn()
    bench.limiter.settle(request, { ...END, costNanos: 123 })
    await bench.endTurn()
  }
  t.match(bench.settlements, [{ key: 'b', costNanos: 123 }])
  t.equal(bench.settlements.length, 1)
})

t.test('a request that was admitted before takes nothing more', async t => {
  const bench = openBench()
  const { request } = start(bench, perMinute)
  await bench.endTurn()
  bench.questions[0]?.answer(granted({ amounts: { requests: 1 } }))
  await bench.endTurn()
  t.equal(bench.limiter.admit(request, undefined, new AbortController().signal), undefined)
  t.equal(bench.questions.length, 1)
})

t.test('the counters that a client sees have what the worker itself holds', async t => {
  const bench = openBench()
  const { request } = start(bench, perMinute)
  t.equal(request.readMeters(), undefined)
  await bench.endTurn()
  const meters = { requests: { limit: 60, remaining: 50, resetMs: 30_000 } }
  bench.questions[0]?.answer(granted({ amounts: { requests: 4 }, meters }))
  await bench.endTurn()
  t.strictSame(request.readMeters(), { requests: { limit: 60, remaining: 53, resetMs: 30_000 } })
  start(bench, perMinute)
  bench.advance(50)
  t.strictSame(request.readMeters(), { requests: { limit: 60, remaining: 52, resetMs: 29_950 } })
  bench.advance(30_000)
  t.strictSame(request.readMeters(), { requests: { limit: 60, remaining: 60, resetMs: 0 } })
})

t.test('a closed limiter has given everything back and admits nothing', async t => {
  const bench = openBench()
  const { request } = start(bench, limitedKey({ requestsPerMinute: 60, concurrentRequests: 9 }))
  await bench.endTurn()
  bench.questions[0]?.answer(granted({ amounts: { requests: 4, slots: 2 } }))
  await bench.endTurn()
  bench.limiter.settle(request, END)
  bench.limiter.close()
  t.match(bench.settlements, [{ unusedRequests: 3, freedSlots: 2 }])
  const late = start(bench, perMinute)
  await bench.endTurn()
  t.equal(late.outcome, 'limits_unavailable')
})

t.test('requests of one turn that need more than a whole limit are admitted one after the other', async t => {
  const bench = openBench()
  const key = limitedKey({ tokensPerMinute: 100 })
  const requests = [1, 2, 3].map(() => start(bench, key, { input: 40, output: 10 }))
  await bench.endTurn()
  t.equal(bench.questions[0]?.amounts.tokens, 150)
  // The supervisor bounds a question by the whole limit.
  bench.questions[0]?.answer(granted({ amounts: { tokens: 100 } }))
  await bench.endTurn()
  t.strictSame(
    requests.map(({ outcome }) => outcome),
    ['admitted', 'admitted', undefined]
  )
  bench.questions[1]?.answer(refused('tokens_per_minute'))
  await bench.endTurn()
  t.equal(requests[2]?.outcome, 'rate_limit_exceeded')
})
