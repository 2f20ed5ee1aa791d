// What all workers of a host admit together, with their own limiters and messages that take their time.
import t from 'tap'
import { measureMinutes, startClients } from '../../support/limit-clients.ts'
import { keySetOf } from '../../support/limit-keys.ts'
import { openLimitsHost } from '../../support/limits-host.ts'
import { createRandom } from '../../support/random.ts'
import { createVirtualTime } from '../../support/virtual-time.ts'

const MINUTE = 60_000

t.test('keys 11: eight workers and 40 clients use a limit to the full, and no minute has more', async t => {
  const time = createVirtualTime()
  const random = createRandom(11)
  const keys = keySetOf({ ci: { requestsPerMinute: 600 } })
  const host = openLimitsHost(time, { keys, workers: 8, latencyMs: () => random() * 5 })
  const clients = startClients(time, [host], { key: 'ci', count: 40, durationMs: () => 20 + random() * 200 })
  await time.advance(2 * MINUTE)
  clients.stop()
  const { most, least } = measureMinutes(clients.admitted, { fromMs: 0, toMs: 2 * MINUTE })
  t.ok(most <= 600, `${most} in a minute`)
  t.ok(least >= 570, `${least} in a minute`)
  t.ok(host.questions < clients.admitted.length * 1.5, `${host.questions} questions for ${clients.admitted.length}`)
})

t.test('keys 9: no more requests run than there are slots, and all slots are used', async t => {
  const time = createVirtualTime()
  const random = createRandom(13)
  const keys = keySetOf({ ci: { concurrentRequests: 10 } })
  const host = openLimitsHost(time, { keys, workers: 4, latencyMs: () => random() * 3 })
  const clients = startClients(time, [host], { key: 'ci', count: 40, durationMs: () => 500 + random() * 3_000 })
  await time.advance(MINUTE / 4)
  t.equal(clients.runningMax, 10)
  t.equal(clients.running, 10)
  host.kill(0)
  clients.stop()
  await time.advance(5_000)
  t.equal(host.service.usage()[0]?.limits[0]?.usedAmount, 0, 'also of the worker that died')
})

t.test('keys 10: a budget stops at its amount and what was in flight', async t => {
  const time = createVirtualTime()
  const random = createRandom(14)
  const keys = keySetOf({ ci: { requestsPerMinute: 100_000, budget: { amount: 1, period: 'total' } } })
  const host = openLimitsHost(time, { keys, workers: 8, latencyMs: () => random() * 5 })
  const clients = startClients(time, [host], {
    key: 'ci',
    count: 40,
    durationMs: () => 100 + random() * 300,
    costNanos: () => 5_000_000
  })
  await time.advance(MINUTE / 2)
  t.ok(clients.costNanos >= 1e9, `${clients.costNanos} spent`)
  t.ok(clients.costNanos <= 1e9 + 40 * 5_000_000, `${clients.costNanos} spent`)
  t.equal(clients.running, 0)
  const last = host.request(0, 'ci')
  await time.advance(1_000)
  t.match(await last, { kind: 'refused', code: 'budget_exceeded', retryAfterMs: null })
})
