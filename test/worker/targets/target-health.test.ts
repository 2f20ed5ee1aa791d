import t from 'tap'
import { REST_MS_MAX } from '../../../shared/profile/target-rests.ts'
import { readVerdict } from '../../../worker/targets/read-verdict.ts'
import {
  applyRest,
  findState,
  HEALTHY,
  isNotable,
  judge,
  SERVER_ERRORS_MAX,
  type SendMode,
  type TargetHealth,
  type Verdict
} from '../../../worker/targets/target-health.ts'
import * as fc from '../../support/properties.ts'

const ordinary = (nowMs: number) => ({ mode: 'ordinary' as const, nowMs })
const trial = (nowMs: number) => ({ mode: 'trial' as const, nowMs })
const limited = (retryAfterMs?: number): Verdict => ({ kind: 'limited', retryAfterMs })

t.test('a failed connection lets a target rest for a second', async t => {
  const { health, change } = judge(HEALTHY, { kind: 'unreachable' }, ordinary(100))
  t.same(change, { kind: 'rested', restMs: 1000, round: 1 })
  t.equal(findState(health, 1099), 'resting')
  t.equal(findState(health, 1100), 'due')
})

t.test('a 429 lets it rest as long as the provider asks, within a bound', async t => {
  t.match(judge(HEALTHY, limited(17_000), ordinary(0)).change, { restMs: 17_000 })
  t.match(judge(HEALTHY, limited(), ordinary(0)).change, { restMs: 1000 })
  t.match(judge(HEALTHY, limited(0), ordinary(0)).change, { restMs: 1000 })
  t.match(judge(HEALTHY, limited(1e12), ordinary(0)).change, { restMs: REST_MS_MAX })
})

t.test('only the third 5xx in a row lets it rest', async t => {
  let health: TargetHealth = HEALTHY
  for (let count = 1; count < SERVER_ERRORS_MAX; count++) {
    const judged = judge(health, { kind: 'server-error' }, ordinary(0))
    t.equal(judged.change, undefined)
    health = judged.health
  }
  const interrupted = judge(health, { kind: 'healthy' }, ordinary(0)).health
  t.equal(judge(interrupted, { kind: 'server-error' }, ordinary(0)).change, undefined)
  t.match(judge(health, { kind: 'server-error' }, ordinary(0)).change, { kind: 'rested', round: 1 })
})

t.test('each failed trial doubles the rest up to a minute', async t => {
  let { health } = judge(HEALTHY, { kind: 'unreachable' }, ordinary(0))
  const rests: number[] = []
  let now = 0
  for (let round = 2; round < 10; round++) {
    now += 60_000
    const judged = judge(health, { kind: 'server-error' }, trial(now))
    health = judged.health
    if (judged.change?.kind === 'rested') rests.push(judged.change.restMs)
  }
  t.same(rests, [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000])
})

t.test('a successful trial ends the rest and its rounds', async t => {
  const rested = judge(HEALTHY, { kind: 'unreachable' }, ordinary(0)).health
  const { health, change } = judge(rested, { kind: 'healthy' }, trial(1000))
  t.same(change, { kind: 'restored' })
  t.equal(health, HEALTHY)
})

t.test('requests of before the rest neither end it nor add to it', async t => {
  const rested = judge(HEALTHY, limited(5000), ordinary(0)).health
  t.same(judge(rested, { kind: 'healthy' }, ordinary(10)), { health: rested })
  t.same(judge(rested, { kind: 'unreachable' }, ordinary(10)), { health: rested })
  t.same(judge(rested, limited(1000), ordinary(10)), { health: rested })
  t.match(judge(rested, limited(9000), ordinary(10)), { health: { rest: { untilMs: 9010, round: 1 } } })
})

t.test('a request that was sent because all rest ends the rest where it succeeds', async t => {
  const rested = judge(HEALTHY, { kind: 'unreachable' }, ordinary(0)).health
  t.same(judge(rested, { kind: 'healthy' }, { mode: 'forced', nowMs: 5 }).change, { kind: 'restored' })
  t.same(judge(rested, { kind: 'unreachable' }, { mode: 'forced', nowMs: 5 }), { health: rested })
})

t.test('the rest of another worker holds as long as the longer one', async t => {
  const rested = judge(HEALTHY, limited(5000), ordinary(0)).health
  t.match(applyRest(rested, { restMs: 1000, round: 1 }, 10), { rest: { untilMs: 5000, sinceMs: 0 } })
  t.match(applyRest(HEALTHY, { restMs: 1000, round: 3 }, 10), { rest: { untilMs: 1010, sinceMs: 10, round: 3 } })
})

const verdict: fc.Arbitrary<Verdict> = fc.oneof(
  fc.constantFrom<Verdict>({ kind: 'healthy' }, { kind: 'unreachable' }, { kind: 'server-error' }),
  fc.option(fc.nat(100_000), { nil: undefined }).map(limited)
)
const step = fc.record({
  verdict,
  mode: fc.constantFrom<SendMode>('ordinary', 'trial', 'forced'),
  passedMs: fc.nat(70_000)
})

t.test(
  'in any history a change is told exactly when a rest begins, grows or ends, and no rest is without an end',
  async () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        let health: TargetHealth = HEALTHY
        let nowMs = 0
        for (const { verdict: itsVerdict, mode, passedMs } of steps) {
          nowMs += passedMs
          const before = health.rest
          const { health: after, change } = judge(health, itsVerdict, { mode, nowMs })
          const isChanged = before?.untilMs !== after.rest?.untilMs
          if (isChanged && change === undefined) return false
          if (change?.kind === 'restored' && after.rest !== undefined) return false
          if (change?.kind === 'rested' && after.rest?.untilMs !== nowMs + change.restMs) return false
          if (after.rest !== undefined && after.rest.untilMs - nowMs > REST_MS_MAX) return false
          if (after.serverErrors >= SERVER_ERRORS_MAX) return false
          health = after
        }
        return true
      })
    )
  }
)

t.test('the log is told of a rest once, however many requests find its target limited', async t => {
  let { rest } = judge(HEALTHY, limited(4000), ordinary(0)).health
  t.ok(isNotable(undefined, rest))
  for (let nowMs = 1; nowMs < 100; nowMs++) {
    const after = judge({ serverErrors: 0, ...(rest && { rest }) }, limited(4000), ordinary(nowMs)).health.rest
    t.equal(after?.untilMs, nowMs + 4000, 'the rest grows')
    t.notOk(isNotable(rest, after))
    rest = after
  }
  const longer = judge({ serverErrors: 0, ...(rest && { rest }) }, limited(9000), ordinary(100)).health.rest
  t.ok(isNotable(rest, longer))
  const anew = judge({ serverErrors: 0, ...(longer && { rest: longer }) }, limited(), trial(9100)).health.rest
  t.ok(isNotable(longer, anew))
  t.ok(isNotable(anew, undefined))
})

t.test('what an attempt says of its target', async t => {
  const end = { failure: undefined, status: 200, retryAfterMs: undefined, wasSent: true }
  const rows: Array<[Partial<typeof end> | object, string | undefined]> = [
    [{}, 'healthy'],
    [{ failure: 'connect_error', status: undefined, wasSent: false }, 'unreachable'],
    [{ failure: 'tls_error', status: undefined, wasSent: false }, 'unreachable'],
    [{ failure: 'timeout', status: undefined, wasSent: false }, 'unreachable'],
    [{ failure: 'credential_error', status: undefined, wasSent: false }, 'unreachable'],
    [{ failure: 'connect_error', status: undefined }, 'unreachable'],
    [{ failure: 'timeout', status: undefined }, 'server-error'],
    [{ failure: 'http_429', status: 429 }, 'limited'],
    [{ failure: 'http_503', status: 503 }, 'server-error'],
    [{ failure: 'http_529', status: 529 }, 'server-error'],
    [{ failure: 'http_400', status: 400 }, 'healthy'],
    [{ failure: 'http_401', status: 401 }, 'healthy'],
    [{ failure: 'protocol_error', status: 200 }, undefined]
  ]
  for (const [fields, kind] of rows) t.equal(readVerdict({ ...end, ...fields })?.kind, kind, JSON.stringify(fields))
})
