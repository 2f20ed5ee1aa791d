import { pino } from 'pino'
import t, { type Test } from 'tap'
import { readRedisUrl } from '../../../../shared/limits/redis-url.ts'
import type { CounterQuestion } from '../../../../shared/limits/shared-counters.ts'
import { createRedisCounters } from '../../../../supervisor/limits/redis/client.ts'
import { COUNTER_TIMES } from '../../../../supervisor/limits/redis/exchange-format.ts'
import { type RedisServer, redisServers, startRedis } from '../../../support/redis.ts'

async function open(t: Test, { url }: RedisServer, gatewayId = 'one') {
  const address = readRedisUrl(url)
  if (address === undefined) throw new Error('The address has another form.')
  const counters = createRedisCounters(
    { log: pino({ enabled: false }), nowMs: () => performance.now(), random: () => 0 },
    { address, prefix: 'test:', gatewayId, times: COUNTER_TIMES }
  )
  t.teardown(() => counters.close())
  await counters.tried
  return counters
}

const window = (
  take: number,
  limit = 10,
  givenBack: Array<{ amount: number; ageMs: number }> = []
): CounterQuestion => ({
  kind: 'window',
  counter: 'key:a:requests_per_minute',
  limit,
  take,
  givenBack
})
const slots = (hold: number, limit = 5): CounterQuestion => ({
  kind: 'slots',
  counter: 'group:g:concurrent_requests',
  limit,
  hold
})
const spend = (addNanos: number, period = 'total'): CounterQuestion => ({
  kind: 'spend',
  counter: 'key:a:budget',
  period,
  addNanos
})

for (const { program, skip } of redisServers) {
  t.test(`keys 12: two gateways count together in ${program}`, { skip }, async t => {
    const server = await startRedis(t, { program })
    const one = await open(t, server, 'one')
    const two = await open(t, server, 'two')

    t.match(await one.exchange('1', [window(4), slots(3), spend(70)]), [
      { kind: 'window', granted: 4, remaining: 6, retryAfterMs: 0, resetMs: Number },
      { kind: 'slots', held: 3, remaining: 2 },
      { kind: 'spend', spentNanos: 70 }
    ])
    const second = await two.exchange('1', [window(8), slots(3), spend(5)])
    t.match(second, [{ granted: 6, remaining: 0 }, { held: 2, remaining: 0 }, { spentNanos: 75 }])
    const [counted] = second ?? []
    const { retryAfterMs, resetMs } = counted?.kind === 'window' ? counted : { retryAfterMs: 0, resetMs: 0 }
    t.ok(
      retryAfterMs > 50_000 && retryAfterMs <= resetMs && resetMs <= 61_000,
      'all of it fits when the window has moved on'
    )
    t.match(await two.exchange('2', [window(1, 10, [{ amount: 3, ageMs: 0 }]), slots(0), spend(0)]), [
      { granted: 1, remaining: 2 },
      { held: 0, remaining: 2 },
      { spentNanos: 75 }
    ])
    t.match(await one.exchange('2', [window(0, 10, [{ amount: -1, ageMs: 0 }]), slots(9)]), [
      { granted: 0, remaining: 1 },
      { held: 5, remaining: 0 }
    ])
    // What runs stays held under a lower limit, and a window over its limit grants nothing.
    t.match(await one.exchange('3', [window(1, 3), slots(4, 2)]), [
      { granted: 0, remaining: 0 },
      { held: 4, remaining: 0 }
    ])
  })

  t.test(`keys 13: spend that is repeated is added once in ${program}`, { skip }, async t => {
    const server = await startRedis(t, { program })
    const one = await open(t, server, 'one')
    const two = await open(t, server, 'two')
    await one.exchange('7', [spend(70, '2026-11-01'), spend(1)])
    t.match(await one.exchange('7', [spend(70, '2026-11-01'), spend(1)]), [{ spentNanos: 70 }, { spentNanos: 1 }])
    // Another gateway has exchanges of its own.
    t.match(await two.exchange('7', [spend(70, '2026-11-01'), spend(1)]), [{ spentNanos: 140 }, { spentNanos: 2 }])
    // A server that has forgotten the script is sent it again.
    await server.command('SCRIPT', 'FLUSH')
    const large = 2 ** 53 - 10
    t.match(await one.exchange('8', [spend(large), spend(large)]), [
      { spentNanos: 2 ** 53 - 8 },
      { spentNanos: 2 ** 53 - 1 }
    ])
    t.equal(await server.command('PTTL', 'test:spend:total:key:a:budget'), -1)
    const ttl = Number(await server.command('PTTL', 'test:spend:2026-11-01:key:a:budget'))
    t.ok(ttl === -2 || ttl > 0, 'a period expires')
  })
}
