// After every history of requests of a key, the worker uses what it was granted and nothing more, and gives all of it back in the end.
import t from 'tap'
import type { LeaseAmounts } from '../../../shared/limits/leases.ts'
import * as fc from '../../support/properties.ts'
import { END, granted, limitedKey, openBench, refused, type StartedRequest, start } from './support.ts'

const TOKENS_MAX = 200
const SLOTS_MAX = 3
const key = limitedKey({ tokensPerMinute: TOKENS_MAX, concurrentRequests: SLOTS_MAX })

const step = fc.oneof(
  fc.record({ type: fc.constant('start' as const), tokens: fc.integer({ min: 1, max: 80 }) }),
  fc.record({ type: fc.constant('leave' as const), index: fc.nat(20) }),
  fc.record({ type: fc.constant('end' as const), index: fc.nat(20), used: fc.nat(120) }),
  fc.record({ type: fc.constant('answer' as const), extra: fc.nat(10) }),
  fc.record({ type: fc.constant('turn' as const) }),
  fc.record({ type: fc.constant('time' as const), ms: fc.integer({ min: 1, max: 120 }) })
)

t.test('keys 9: every lease is used up or given back', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const bench = openBench()
      /** What the supervisor counts. */
      const counted = { tokens: 0, slots: 0 }
      let settledTo = 0
      let answered = 0
      let grants = 0
      const requests: StartedRequest[] = []
      const ended = new Set<StartedRequest>()
      let used = 0

      function settleAll(): void {
        for (const { unusedTokens, freedSlots } of bench.settlements.slice(settledTo)) {
          counted.tokens -= unusedTokens
          counted.slots -= freedSlots
        }
        settledTo = bench.settlements.length
      }
      function answer(extra: number): void {
        settleAll()
        const question = bench.questions[answered]
        if (question === undefined) return
        answered += 1
        if (question.signal.aborted) return
        const amounts = {
          tokens: Math.min(TOKENS_MAX, question.amounts.tokens),
          slots: Math.min(SLOTS_MAX, question.amounts.slots)
        }
        const hasTokens = counted.tokens + amounts.tokens <= TOKENS_MAX
        if (!hasTokens || counted.slots + amounts.slots > SLOTS_MAX) {
          question.answer(refused(hasTokens ? 'concurrent_requests' : 'tokens_per_minute'))
          return
        }
        const more = Math.min(extra, TOKENS_MAX - counted.tokens - amounts.tokens)
        counted.tokens += amounts.tokens + more
        counted.slots += amounts.slots
        grants += 1
        question.answer(granted({ amounts: { ...amounts, tokens: amounts.tokens + more }, grantedAtMs: grants }))
      }
      function end(request: StartedRequest, tokens: number): void {
        if (request.outcome !== 'admitted' || ended.has(request)) return
        ended.add(request)
        used += tokens
        bench.limiter.settle(request.request, { ...END, totalTokens: tokens })
      }
      function checkHeld(): void {
        const held = requests.filter(request => request.outcome === 'admitted' && !ended.has(request))
        const sum = (name: keyof LeaseAmounts) =>
          held.reduce((total, { request }) => total + (request.reserved?.[name] ?? 0), 0)
        t.ok(sum('slots') <= counted.slots, 'no more slots than were granted')
      }

      for (const action of steps) {
        if (action.type === 'start') requests.push(start(bench, key, { input: action.tokens, output: 0 }))
        else if (action.type === 'leave') requests[action.index]?.abortion.abort(new Error('left'))
        else if (action.type === 'end') {
          const request = requests[action.index]
          if (request !== undefined) end(request, action.used)
        } else if (action.type === 'answer') answer(action.extra)
        else if (action.type === 'turn') await bench.endTurn()
        else bench.advance(action.ms)
        checkHeld()
      }
      for (let round = 0; round < 200 && requests.some(({ outcome }) => outcome === undefined); round += 1) {
        await bench.endTurn()
        answer(0)
      }
      t.ok(
        requests.every(({ outcome }) => outcome !== undefined),
        'no request waits for ever'
      )
      for (const request of requests) end(request, 0)
      await bench.endTurn()
      bench.advance(100)
      settleAll()
      t.equal(counted.slots, 0)
      t.equal(counted.tokens, used)
    })
  )
})
