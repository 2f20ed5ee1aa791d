// Hosts that count together, with a place of shared counters in memory, and what they do while it gives no answer.
import t from 'tap'
import { measureMinutes, startClients } from '../../support/limit-clients.ts'
import { keySetOf } from '../../support/limit-keys.ts'
import { type Admission, type HostOptions, openLimitsHost } from '../../support/limits-host.ts'
import { createSharedCountersDouble } from '../../support/shared-counters-double.ts'
import { createVirtualTime } from '../../support/virtual-time.ts'

const MINUTE = 60_000

function openHosts(count: number, options: Pick<HostOptions, 'keys'> & Partial<HostOptions>) {
  const time = createVirtualTime()
  const place = createSharedCountersDouble(time)
  let turn = 0
  const latencyMs = () => {
    turn += 1
    return turn % 4
  }
  const hosts = Array.from({ length: count }, (_, index) =>
    openLimitsHost(time, { workers: 2, latencyMs, place: place.connect(`host-${index}`), ...options })
  )
  /** The answers of requests of one host that come at once, and how long the last one took, in virtual time. */
  async function ask(host: number, { requests = 1, key = 'ci', tokens = 0, waitMs = 1_000 } = {}) {
    const startMs = time.nowMs
    let endMs = startMs
    const answers: Admission[] = []
    for (let request = 0; request < requests; request += 1) {
      void hosts[host]?.request(request, key, tokens).then(answer => {
        endMs = time.nowMs
        answers.push(answer)
      })
    }
    await time.advance(waitMs)
    const admitted = answers.filter(({ kind }) => kind === 'admitted').length
    const refused = answers.flatMap(answer => (answer.kind === 'refused' ? [answer] : []))
    return { admitted, refused, durationMs: endMs - startMs, answers }
  }
  return { time, place, hosts, ask }
}

t.test('keys 12: three hosts use a shared limit to the full, and no minute has more', async t => {
  const { time, place, hosts } = openHosts(3, { keys: keySetOf({ ci: { requestsPerMinute: 300 } }) })
  let step = 0
  const durationMs = () => {
    step += 1
    return 20 + (step % 7) * 30
  }
  const clients = startClients(time, hosts, { key: 'ci', count: 18, durationMs })
  await time.advance(2 * MINUTE)
  clients.stop()
  const { most, least } = measureMinutes(clients.admitted, { fromMs: 0, toMs: 2 * MINUTE })
  t.ok(most <= 300 + 3 * 15, `${most} in a minute`)
  t.ok(least >= 285, `${least} in a minute`)
  t.ok(place.exchanges.length < clients.admitted.length, `${place.exchanges.length} exchanges`)
})

t.test('keys 12: slots that hosts share are used to the full, and never by more', async t => {
  const { time, place, hosts } = openHosts(3, { keys: keySetOf({ ci: { concurrentRequests: 6 } }) })
  const clients = startClients(time, hosts, { key: 'ci', count: 15, durationMs: () => 700 })
  await time.advance(20_000)
  t.equal(clients.runningMax, 6)
  t.ok(clients.admitted.length > 100, `${clients.admitted.length} requests`)
  clients.stop()
  await time.advance(5_000)
  const last = place.exchanges.flatMap(({ host, questions }) =>
    questions.flatMap(question => (question.kind === 'slots' ? [[host, question.hold] as const] : []))
  )
  t.strictSame(new Set(new Map(last).values()), new Set([0]), 'every host has given its slots back')
})

t.test('tokens that were not used go back to the place, and overruns count there', async t => {
  const { time, ask } = openHosts(2, { keys: keySetOf({ ci: { tokensPerMinute: 1_000 } }) })
  const first = await ask(0, { tokens: 900 })
  t.equal((await ask(1, { tokens: 200 })).admitted, 0)
  for (const answer of first.answers) if (answer.kind === 'admitted') answer.request.end({ tokens: 100 })
  await time.advance(500)
  const second = await ask(1, { tokens: 850 })
  t.equal(second.admitted, 1)
  for (const answer of second.answers) if (answer.kind === 'admitted') answer.request.end({ tokens: 2_000 })
  await time.advance(500)
  const third = await ask(0, { tokens: 1 })
  t.match(third.refused, [{ code: 'rate_limit_exceeded' }])
})

t.test('the time until a request fits is that of this request, though others wait with it', async t => {
  const { time, ask } = openHosts(1, { keys: keySetOf({ ci: { requestsPerMinute: 5 } }) })
  t.equal((await ask(0, { requests: 1 })).admitted, 1)
  await time.advance(10_000)
  t.equal((await ask(0, { requests: 4 })).admitted, 4)
  const { refused } = await ask(0, { requests: 6 })
  t.equal(refused.length, 6)
  for (const { retryAfterMs } of refused) {
    t.ok(typeof retryAfterMs === 'number' && retryAfterMs < 49_000, `fits when the first one has left: ${retryAfterMs}`)
  }
})

t.test('keys 13: without an answer each host counts alone, and what it used counts afterwards', async t => {
  const { time, place, hosts, ask } = openHosts(2, { keys: keySetOf({ ci: { requestsPerMinute: 10 } }) })
  t.equal((await ask(0, { requests: 4 })).admitted, 4)
  place.outage = 'down'
  place.latencyMs = 250
  const first = await ask(0, { requests: 8 })
  t.equal(first.admitted, 6, 'what this host has used counts')
  t.ok(first.durationMs < 900, `${first.durationMs} ms`)
  t.strictSame(hosts[0]?.events, ['limits_outage'])
  t.equal(hosts[0]?.service.isOutage, true)
  const second = await ask(0, { requests: 1 })
  t.equal(second.admitted, 0)
  t.ok(second.durationMs < 50, `no question waits for the place: ${second.durationMs} ms`)
  t.equal((await ask(1, { requests: 12 })).admitted, 10, 'the other host counts alone as well')
  place.outage = 'none'
  place.latencyMs = 1
  await time.advance(2_000)
  t.strictSame(hosts[0]?.events, ['limits_outage', 'limits_outage_over'])
  t.equal(hosts[0]?.service.isOutage, false)
  t.equal((await ask(0)).admitted, 0)
  await time.advance(MINUTE)
  t.equal((await ask(0, { requests: 12 })).admitted, 10)
})

t.test('keys 13: where the operator wants it, requests are refused while there is no answer', async t => {
  const { time, place, hosts, ask } = openHosts(1, {
    keys: keySetOf({ ci: { requestsPerMinute: 10, concurrentRequests: 4 } }),
    onOutage: 'refuse'
  })
  place.outage = 'down'
  place.latencyMs = 250
  const first = await ask(0, { requests: 3 })
  t.match(first.refused, [
    { code: 'limits_unavailable' },
    { code: 'limits_unavailable' },
    { code: 'limits_unavailable' }
  ])
  t.ok(first.durationMs < 900, `${first.durationMs} ms`)
  t.ok((await ask(0)).durationMs < 50)
  place.outage = 'none'
  await time.advance(3_000)
  t.strictSame(hosts[0]?.events, ['limits_outage', 'limits_outage_over'])
  t.equal((await ask(0)).admitted, 1)
})

const monthly = keySetOf({ ci: { budget: { amount: 1, period: 'month' } } })
const counter = 'key:ci:budget'
const period = '2026-11-01'
const epochMs = Date.UTC(2026, 10, 29)

async function spend(answers: readonly Admission[], costNanos: number): Promise<void> {
  for (const answer of answers) if (answer.kind === 'admitted') answer.request.end({ costNanos })
}

t.test('keys 10: a budget is that of all hosts, and survives a restart', async t => {
  const { time, place, ask } = openHosts(2, { keys: monthly, epochMs, countsAll: false })
  await spend((await ask(0)).answers, 600_000_000)
  await time.advance(2_000)
  t.equal(place.spent(counter, period), 600_000_000)
  await spend((await ask(1)).answers, 400_000_000)
  await time.advance(6_000)
  t.match((await ask(0)).refused, [{ code: 'budget_exceeded' }])
  const restarted = openLimitsHost(time, { keys: monthly, workers: 1, epochMs, place: place.connect('again') })
  const answer = restarted.request(0, 'ci')
  await time.advance(100)
  t.match(await answer, { kind: 'refused', code: 'budget_exceeded' })
})

t.test(
  'what a budget has spent is shown before the first request after a start, and in an outage as it was last read',
  async t => {
    const { time, place, hosts, ask } = openHosts(2, { keys: monthly, epochMs, countsAll: false })
    await spend((await ask(0)).answers, 600_000_000)
    await time.advance(2_000)
    const shown = async (host = hosts[1]) => {
      const usages = host?.usage()
      await time.advance(1_000)
      return (await usages)?.find(({ key }) => key === 'ci')?.limits.find(({ limit }) => limit === 'budget')?.usedAmount
    }
    t.equal(await shown(), 600_000_000)
    place.outage = 'down'
    await spend((await ask(0)).answers, 100_000_000)
    await time.advance(10_000)
    t.equal(await shown(), 600_000_000)
    place.outage = 'none'
    await time.advance(10_000)
    t.equal(await shown(), 700_000_000, 'what the other host has spent meanwhile')
  }
)

t.test('keys 13: spend of an outage is kept and added once, also where the place had it without an answer', async t => {
  const { time, place, ask } = openHosts(1, { keys: monthly, epochMs, countsAll: false })
  await spend((await ask(0)).answers, 100_000_000)
  place.outage = 'lost'
  await time.advance(2_000)
  t.equal(place.spent(counter, period), 100_000_000)
  await spend((await ask(0)).answers, 200_000_000)
  await time.advance(3_000)
  place.outage = 'none'
  await time.advance(5_000)
  t.equal(place.spent(counter, period), 300_000_000)
})

t.test('what was spent at last goes to the place when the gateway closes', async t => {
  const { time, place, hosts, ask } = openHosts(1, { keys: monthly, epochMs, countsAll: false })
  await spend((await ask(0)).answers, 100_000_000)
  await time.advance(200)
  hosts[0]?.service.close()
  await time.advance(10)
  t.equal(place.spent(counter, period), 100_000_000)
})

t.test('a place that keeps budgets alone is asked for nothing else', async t => {
  const keys = keySetOf({ ci: { requestsPerMinute: 5, concurrentRequests: 3 } })
  const { place, ask } = openHosts(1, { keys, countsAll: false })
  t.equal((await ask(0, { requests: 7 })).admitted, 3)
  t.strictSame(place.exchanges, [])
})
