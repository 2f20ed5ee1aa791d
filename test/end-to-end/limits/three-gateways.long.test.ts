// Three gateways of processes and one Redis: the limit of a key is exact over all of them (keys.md 6, case 12).
import t from 'tap'
import { startProfileProcesses } from '../../support/profile-processes.ts'
import { startRedis, whyWithoutRedis } from '../../support/redis.ts'
import { type Asked, ask, prepareShared } from './shared-support.ts'

const LIMIT = 300
const WINDOW_MS = 60_000
const CLIENTS = 24
const RETRY_MS = 100

t.test(`keys 12: three gateways admit ${LIMIT} requests in a minute together`, { skip: whyWithoutRedis }, async t => {
  const redis = await startRedis(t)
  const gateways = await prepareShared(
    t,
    {
      limits: { requests_per_minute: LIMIT },
      // On a loaded machine an exchange can take too long: counted alone, requests would go beyond the limit.
      env: { GATEWAY_LIMITS_REDIS_URL: redis.url, GATEWAY_LIMITS_ON_OUTAGE: 'refuse' }
    },
    startProfileProcesses
  )
  const started = [await gateways.start(), await gateways.start(), await gateways.start()]
  const asked: Asked[] = []
  const firstMs = performance.now()
  const endMs = firstMs + WINDOW_MS
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, index) => {
      const gateway = started[index % started.length]
      while (gateway !== undefined && performance.now() < endMs) {
        const one = await ask(gateway)
        asked.push(one)
        // The pause of a client between its attempts is an input of the test.
        if (one.status !== 200) await new Promise(resolve => setTimeout(resolve, RETRY_MS))
      }
    })
  )
  const statuses = new Set(asked.map(({ status }) => status))
  t.ok(statuses.has(429) && [...statuses].every(status => [200, 429, 503].includes(status)), [...statuses].join())
  // Sent and answered in one minute.
  const admitted = asked.filter(({ status, answeredMs }) => status === 200 && answeredMs - firstMs <= WINDOW_MS)
  t.ok(admitted.length <= LIMIT, `${admitted.length} of ${LIMIT} were admitted`)
  t.ok(admitted.length >= 0.95 * LIMIT, `${admitted.length} of ${LIMIT} were admitted`)
  const slowestMs = Math.max(...asked.map(({ sentMs, answeredMs }) => answeredMs - sentMs))
  t.ok(slowestMs < 5_000, `no request hangs: ${slowestMs} ms`)
  for (const { response } of asked.filter(({ status }) => status === 429).slice(0, 20)) {
    t.match(response.headers.get('retry-after'), /^[1-9]\d*$/)
  }
})
