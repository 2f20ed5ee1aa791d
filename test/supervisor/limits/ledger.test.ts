import t from 'tap'
import type { KeySet } from '../../../shared/keys/key-set.ts'
import type { LeaseAmounts, Settlement } from '../../../shared/limits/leases.ts'
import { hostLimits } from '../../../supervisor/limits/host-limits.ts'
import { createLedger, type Decision } from '../../../supervisor/limits/ledger.ts'
import { keySetOf } from '../../support/limit-keys.ts'

const MINUTE = 60_000
/** What is granted counts a little longer than a minute. */
const WINDOW_END = MINUTE + 300
const ONE: LeaseAmounts = { requests: 1, tokens: 0, slots: 0 }
const SETTLED = { unusedRequests: 0, unusedTokens: 0, freedSlots: 0, costNanos: 0 }

function openLedger(keys: KeySet, { workers = 1, startMs = 0 } = {}) {
  const time = { ms: 0 }
  const clock = { nowMs: () => time.ms, epochMs: () => startMs + time.ms }
  const ledger = createLedger({ clock, factory: hostLimits }, { keys, workers })
  return {
    time,
    ledger,
    ask: (amounts: Partial<LeaseAmounts>, { key = 'ci', owner = 1, isExact = true, mustAnswer = true } = {}) =>
      ledger.decide(
        { owner, key, questionId: 1, amounts: { requests: 0, tokens: 0, slots: 0, ...amounts } },
        { isExact, mustAnswer, blocked: new Set() }
      ),
    settle: (settlement: Partial<Settlement>, owner = 1) =>
      ledger.settle(owner, { key: 'ci', grantedAtMs: time.ms, ...SETTLED, ...settlement })
  }
}

function grantedAmounts(decision: Decision): LeaseAmounts | undefined {
  return decision.kind === 'granted' ? decision.amounts : undefined
}

t.test('keys 9: slots are taken, refused, and free at the end of a request', async t => {
  const { ask, settle } = openLedger(keySetOf({ ci: { concurrentRequests: 2 } }))
  t.equal(ask({ slots: 1 }).kind, 'granted')
  t.equal(ask({ slots: 1 }).kind, 'granted')
  t.same(ask({ slots: 1 }), {
    kind: 'refused',
    refusal: { limit: 'concurrent_requests', holder: 'key', retryAfterMs: 1000 },
    meters: {}
  })
  settle({ freedSlots: 1 })
  t.equal(ask({ slots: 1 }).kind, 'granted')
})

t.test('requests beyond the limit are refused until the exact time, in the own key and in its group', async t => {
  const { ask, time } = openLedger(
    keySetOf(
      { ci: { requestsPerMinute: 5, group: 'team' }, web: { group: 'team' } },
      { team: { requestsPerMinute: 3 } }
    )
  )
  t.equal(ask(ONE).kind, 'granted')
  time.ms = 1_000
  t.equal(ask(ONE, { key: 'web' }).kind, 'granted')
  t.same(ask(ONE), {
    kind: 'granted',
    amounts: ONE,
    grantedAtMs: 1_000,
    meters: { requests: { limit: 3, remaining: 0, resetMs: WINDOW_END } }
  })
  time.ms = 2_000
  t.same(ask(ONE), {
    kind: 'refused',
    refusal: { limit: 'requests_per_minute', holder: 'group', retryAfterMs: WINDOW_END - 2_000 },
    meters: { requests: { limit: 3, remaining: 0, resetMs: WINDOW_END - 1_000 } }
  })
  time.ms = WINDOW_END
  t.equal(ask(ONE).kind, 'granted')
})

t.test('keys 8: tokens are reserved, corrected where they were reserved, and overruns count now', async t => {
  const { ask, settle, time } = openLedger(keySetOf({ ci: { tokensPerMinute: 1_000 } }))
  t.equal(ask({ tokens: 800 }).kind, 'granted')
  time.ms = 10_000
  t.equal(ask({ tokens: 300 }).kind, 'refused')
  settle({ grantedAtMs: 0, unusedTokens: 700 })
  t.equal(ask({ tokens: 900 }).kind, 'granted')
  settle({ grantedAtMs: 10_000, unusedTokens: -500 })
  time.ms = 10_000 + WINDOW_END
  t.same(ask({ tokens: 500 }).kind, 'granted', 'what was used beyond the reservation has left with it')
  time.ms += 1
  settle({ unusedTokens: -400 })
  const refused = ask({ tokens: 200 })
  t.equal(refused.kind === 'refused' && refused.refusal.retryAfterMs, WINDOW_END - 1)
})

t.test('more than a whole limit never fits, and the whole limit fits when nothing else counts', async t => {
  const { ask, time } = openLedger(keySetOf({ ci: { tokensPerMinute: 100, concurrentRequests: 2 } }))
  t.match(ask({ tokens: 101 }), { refusal: { limit: 'tokens_per_minute', retryAfterMs: null } })
  t.match(ask({ slots: 3 }), { refusal: { limit: 'concurrent_requests', retryAfterMs: null } })
  t.equal(ask({ tokens: 100 }).kind, 'granted')
  t.match(ask({ tokens: 100 }), { refusal: { retryAfterMs: WINDOW_END } })
  time.ms = WINDOW_END
  t.equal(ask({ tokens: 100 }).kind, 'granted')
})

t.test('a lease has a batch of at most a twentieth, and a share of what remains', async t => {
  const { ask } = openLedger(keySetOf({ ci: { requestsPerMinute: 600 } }), { workers: 8 })
  const batches: number[] = []
  for (;;) {
    const amounts = grantedAmounts(ask(ONE, { isExact: false }))
    if (amounts === undefined) break
    batches.push(amounts.requests)
  }
  t.equal(batches[0], 31)
  t.equal(batches.at(-1), 1)
  t.equal(
    batches.reduce((sum, batch) => sum + batch, 0),
    600
  )
})

t.test('a question waits while workers may give back what it needs, then the answer is exact', async t => {
  const { ask, time, settle } = openLedger(keySetOf({ ci: { requestsPerMinute: 40 } }), { workers: 1 })
  t.same(grantedAmounts(ask(ONE, { isExact: false })), { requests: 3, tokens: 0, slots: 0 })
  t.equal(ask({ requests: 37 }).kind, 'granted')
  t.same(ask(ONE, { owner: 2, mustAnswer: false }).kind, 'waiting')
  settle({ unusedRequests: 2, grantedAtMs: 0 })
  t.equal(ask({ requests: 2 }, { owner: 2, mustAnswer: false }).kind, 'granted')
  t.equal(ask(ONE, { owner: 2, mustAnswer: false }).kind, 'waiting')
  time.ms = 200
  t.equal(ask(ONE, { owner: 2, mustAnswer: false }).kind, 'refused')
})

t.test('a worker that dies gives back its slots and its last unused lease', async t => {
  const { ask, ledger } = openLedger(keySetOf({ ci: { requestsPerMinute: 100, concurrentRequests: 40 } }))
  t.same(grantedAmounts(ask({ requests: 1, slots: 1 }, { isExact: false })), { requests: 6, tokens: 0, slots: 3 })
  const usedBefore = ledger.usage()[0]?.limits.map(({ usedAmount }) => usedAmount)
  t.same(usedBefore, [6, 3])
  ledger.releaseOwner(1)
  t.same(
    ledger.usage()[0]?.limits.map(({ usedAmount }) => usedAmount),
    [1, 0],
    'the request that asked has run'
  )
})

t.test('keys 10: a budget stops at its amount, and begins anew with its period', async t => {
  const startMs = Date.UTC(2026, 10, 30, 23, 59)
  const keys = keySetOf({ ci: { budget: { amount: 2, period: 'month' } } })
  const { ask, settle, time } = openLedger(keys, { startMs })
  t.equal(ask(ONE).kind, 'granted')
  settle({ costNanos: 1_999_999_999 })
  t.equal(ask(ONE).kind, 'granted')
  settle({ costNanos: 500_000_000 })
  t.same(ask(ONE), {
    kind: 'refused',
    refusal: { limit: 'budget', holder: 'key', retryAfterMs: 60_000 },
    meters: {}
  })
  time.ms = 60_000
  t.equal(ask(ONE).kind, 'granted')
})

t.test('a budget without a period has no time after which it helps to ask again', async t => {
  const { ask, settle } = openLedger(keySetOf({ ci: { budget: { amount: 1, period: 'total' } } }))
  settle({ costNanos: 1_000_000_000 })
  t.same(ask(ONE), { kind: 'refused', refusal: { limit: 'budget', holder: 'key', retryAfterMs: null }, meters: {} })
})

t.test('near the end of a budget no lease outlives its request', async t => {
  const keys = keySetOf({ ci: { requestsPerMinute: 100, budget: { amount: 100, period: 'total' } } })
  const { ask, settle } = openLedger(keys)
  t.equal(grantedAmounts(ask(ONE, { isExact: false }))?.requests, 6)
  settle({ costNanos: 40e9 })
  t.equal(grantedAmounts(ask(ONE, { isExact: false }))?.requests, 6)
  settle({ costNanos: 25e9 })
  t.equal(grantedAmounts(ask(ONE, { isExact: false }))?.requests, 1, 'one more such request uses the rest up')
})

t.test('a change of the keys file keeps what is used, and settles what was admitted before', async t => {
  const { ask, settle, ledger, time } = openLedger(
    keySetOf(
      { ci: { requestsPerMinute: 3, concurrentRequests: 3, group: 'a' } },
      { a: { concurrentRequests: 5 }, b: {} }
    )
  )
  t.equal(ask({ requests: 2, slots: 2 }).kind, 'granted')
  ledger.replaceKeys(
    keySetOf(
      { ci: { requestsPerMinute: 4, concurrentRequests: 3, group: 'b' } },
      { a: { concurrentRequests: 5 }, b: { concurrentRequests: 9 } }
    )
  )
  time.ms = 10
  t.equal(ask({ requests: 2, slots: 1 }).kind, 'granted')
  t.equal(ask({ requests: 1 }).kind, 'refused')
  const slots = () =>
    ledger.usage()[0]?.limits.flatMap(({ limit, usedAmount }) => (limit === 'concurrent_requests' ? [usedAmount] : []))
  t.same(slots(), [3, 1])
  settle({ grantedAtMs: 0, freedSlots: 2 })
  t.same(slots(), [1, 1], 'the group of now has nothing of them')
  settle({ grantedAtMs: 10, freedSlots: 1 })
  t.same(slots(), [0, 0])
})

t.test('a key that was removed settles without harm, and is not counted any more', async t => {
  const { ask, settle, ledger, time } = openLedger(keySetOf({ ci: { requestsPerMinute: 3 }, web: {} }))
  ask(ONE)
  ledger.replaceKeys(keySetOf({ web: {} }))
  time.ms = 10
  settle({ grantedAtMs: 0, unusedRequests: 1 })
  settle({ unusedRequests: 1, key: 'unknown' })
  t.same(ask({ requests: 100 }), {
    kind: 'granted',
    amounts: { requests: 100, tokens: 0, slots: 0 },
    grantedAtMs: 10,
    meters: {}
  })
  t.same(ledger.usage(), [])
})

t.test('what keys use is listed with their limits, and those of their groups', async t => {
  const startMs = Date.UTC(2026, 10, 29)
  const { ask, settle, ledger } = openLedger(
    keySetOf(
      { ci: { tokensPerMinute: 100, group: 'team' }, web: { group: 'team' }, free: {} },
      { team: { budget: { amount: 5, period: 'week' } } }
    ),
    { startMs }
  )
  ask({ tokens: 30 })
  settle({ costNanos: 7 })
  const budget = {
    limit: 'budget',
    holder: 'group',
    limitAmount: 5e9,
    usedAmount: 7,
    periodEndsAtMs: startMs + 86_400_000
  }
  t.same(ledger.usage(), [
    {
      key: 'ci',
      lastUsedAtMs: startMs,
      limits: [
        { limit: 'tokens_per_minute', holder: 'key', limitAmount: 100, usedAmount: 30, periodEndsAtMs: null },
        budget
      ]
    },
    { key: 'web', lastUsedAtMs: null, limits: [budget] }
  ])
})
