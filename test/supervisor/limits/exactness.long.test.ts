// What all workers of a host admit together, over many ways in which times, deaths of workers and reloads fall.
import t from 'tap'
import { measureMinutes, startClients } from '../../support/limit-clients.ts'
import { keySetOf } from '../../support/limit-keys.ts'
import { openLimitsHost } from '../../support/limits-host.ts'
import * as fc from '../../support/properties.ts'
import { createRandom } from '../../support/random.ts'
import { createVirtualTime } from '../../support/virtual-time.ts'

const MINUTE = 60_000

t.test('keys 11: tokens of a group over its keys are used to the full, and returned where they were taken', async t => {
  const time = createVirtualTime()
  const random = createRandom(12)
  const keys = keySetOf({ ci: { group: 'team' }, web: { group: 'team' } }, { team: { tokensPerMinute: 100_000 } })
  const host = openLimitsHost(time, { keys, workers: 4, latencyMs: () => random() * 5 })
  const options = {
    count: 12,
    durationMs: () => 200 + random() * 2_000,
    tokens: () => 500 + Math.floor(random() * 1_000),
    usedTokens: (reserved: number) => Math.floor(reserved / 4)
  }
  const all = ['ci', 'web'].map(key => startClients(time, [host], { ...options, key }))
  await time.advance(4 * MINUTE)
  const admitted = all.flatMap(clients => [...clients.admitted]).sort((left, right) => left.atMs - right.atMs)
  const { most, least } = measureMinutes(admitted, { fromMs: MINUTE, toMs: 4 * MINUTE })
  t.ok(most <= 100_000, `${most} in a minute`)
  t.ok(least >= 90_000, `${least} in a minute; what runs holds its reservation`)
})

t.test('no minute has more than the limit, at random times, also when workers exit and keys are reloaded', async () => {
  const runs = fc.record({
    seed: fc.integer({ min: 1, max: 1_000_000 }),
    workers: fc.integer({ min: 1, max: 6 }),
    clients: fc.integer({ min: 1, max: 12 }),
    limit: fc.integer({ min: 1, max: 80 }),
    slots: fc.integer({ min: 1, max: 20 }),
    latencyMs: fc.integer({ min: 0, max: 40 }),
    deaths: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 3 })
  })
  await fc.assert(
    fc.asyncProperty(runs, async ({ seed, workers, clients: count, limit, slots, latencyMs, deaths }) => {
      const time = createVirtualTime()
      const random = createRandom(seed)
      const keys = keySetOf({ ci: { requestsPerMinute: limit, concurrentRequests: slots } })
      const host = openLimitsHost(time, { keys, workers, latencyMs: () => random() * latencyMs })
      const clients = startClients(time, [host], { key: 'ci', count, durationMs: () => random() * 2_000 })
      for (let second = 0; second < 90; second += 1) {
        await time.advance(1_000)
        if (deaths.includes(second)) host.kill(second % workers)
        if (second === 30)
          host.replaceKeys(keySetOf({ ci: { requestsPerMinute: limit, concurrentRequests: slots }, other: {} }))
      }
      clients.stop()
      const { most } = measureMinutes(clients.admitted, { fromMs: 0, toMs: 0 })
      // A worker that dies gives back what its last lease held beyond one request, though it may have used it.
      const batch = Math.max(1, Math.floor(limit * 0.05))
      return most <= limit + deaths.length * batch && (deaths.length > 0 || clients.runningMax <= slots)
    }),
    { numRuns: 100 }
  )
})
