// Gateways whose Redis goes away and comes back, in both modes (keys.md 3).
import t, { type Test } from 'tap'
import { readLog, type ServingGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { startProfileProcesses } from '../../support/profile-processes.ts'
import { type RedisServer, startRedis, whyWithoutRedis } from '../../support/redis.ts'
import { ask, COST, prepareShared, type SharedGateways } from './shared-support.ts'

const skip = whyWithoutRedis
/** No request waits for a Redis that is away for longer than an exchange; the rest is for a loaded machine. */
const REQUEST_MS = 5_000
const BUDGET = 1_000
const LIMITS = {
  requests_per_minute: 1_000,
  tokens_per_minute: 1_000_000,
  concurrent_requests: 20,
  budget: { amount: BUDGET, period: 'total' }
}
const SPEND_KEY = 'gateway:limits:spend:total:key:ci:budget'

interface Shared {
  readonly redis: RedisServer
  readonly gateways: SharedGateways
}

async function prepare(t: Test, mode: 'local' | 'refuse', start?: typeof startProfileProcesses): Promise<Shared> {
  const redis = await startRedis(t, { isDurable: true })
  const env = { GATEWAY_LIMITS_REDIS_URL: redis.url, GATEWAY_LIMITS_ON_OUTAGE: mode }
  return { redis, gateways: await prepareShared(t, { limits: LIMITS, env }, start) }
}

const outageLines = (gateway: ServingGateway) =>
  readLog(gateway).filter(({ event }) => /^(limits_outage|shared_limits)/.test(String(event)))
const warnings = (gateway: ServingGateway) =>
  outageLines(gateway).filter(({ event }) => event === 'limits_outage' || event === 'shared_limits_unavailable')
/** Whether the last line says that an outage has begun. */
const isOut = (gateway: ServingGateway) =>
  readLog(gateway).findLast(({ event }) => /^limits_outage/.test(String(event)))?.event === 'limits_outage'

async function askMany(t: Test, gateway: ServingGateway, count: number): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  const all = await Promise.all(Array.from({ length: count }, () => ask(gateway)))
  for (const { status, sentMs, answeredMs } of all) {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (answeredMs - sentMs > REQUEST_MS) t.fail(`a request took ${answeredMs - sentMs} ms`)
  }
  return statuses
}

async function waitForSpend(redis: RedisServer, cost: number): Promise<void> {
  await waitUntil(
    async () => (await redis.command('GET', SPEND_KEY)) === String(cost * 1e9),
    `${cost} is spent`,
    15_000
  )
}

t.test('keys 13: in mode local a gateway goes on alone, and adds its spend afterwards', { skip }, async t => {
  const { redis, gateways } = await prepare(t, 'local')
  const gateway = await gateways.start()
  t.same([...(await askMany(t, gateway, 10))], [[200, 10]])
  await waitForSpend(redis, 10 * COST)
  await redis.kill()
  for (let round = 0; round < 5; round++) t.same([...(await askMany(t, gateway, 5))], [[200, 5]])
  await redis.start()
  await waitForSpend(redis, 35 * COST)
  t.same([...(await askMany(t, gateway, 5))], [[200, 5]])
  await waitForSpend(redis, 40 * COST)
  // A loaded machine can have an outage of its own: an answer that takes too long.
  const unreachable = warnings(gateway).filter(({ cause }) => cause === 'unreachable')
  t.equal(unreachable.length, 1, JSON.stringify(outageLines(gateway)))
})

t.test('keys 13: in mode refuse limited requests are 503 until Redis is back', { skip }, async t => {
  const { redis, gateways } = await prepare(t, 'refuse')
  const gateway = await gateways.start()
  t.same([...(await askMany(t, gateway, 5))], [[200, 5]])
  await redis.kill()
  await waitUntil(async () => (await ask(gateway)).status === 503, 'the outage is seen')
  const { response } = await ask(gateway)
  t.match(response.json, { error: { code: 'limits_unavailable' } })
  t.equal(response.headers.get('retry-after'), '1')
  t.same([...(await askMany(t, gateway, 10))], [[503, 10]])
  await redis.start()
  await waitUntil(async () => (await ask(gateway)).status === 200, 'the gateway counts again', 15_000)
  t.same([...(await askMany(t, gateway, 5))], [[200, 5]])
})

t.test('keys 13: a Redis that is stopped holds no request up', { skip }, async t => {
  for (const mode of ['local', 'refuse'] as const) {
    const { redis, gateways } = await prepare(t, mode)
    const gateway = await gateways.start()
    t.same([...(await askMany(t, gateway, 5))], [[200, 5]], mode)
    redis.pause()
    for (let round = 0; round < 4; round++) {
      const statuses = await askMany(t, gateway, 5)
      t.ok(
        [...statuses.keys()].every(status => status === 200 || (mode === 'refuse' && status === 503)),
        mode
      )
      // The rounds after the first one meet an outage that has begun.
      await waitUntil(() => isOut(gateway), `${mode}: the outage is logged`)
    }
    redis.resume()
    await waitUntil(async () => (await ask(gateway)).status === 200, `${mode}: the gateway counts again`, 15_000)
    await gateway.stop()
    await waitUntil(
      async () => Number(await redis.command('GET', SPEND_KEY)) % (COST * 1e9) === 0,
      'every request is charged whole'
    )
  }
})

t.test('keys 13: a gateway starts without its Redis, and a wrong password stands nowhere', { skip }, async t => {
  for (const [mode, status] of [
    ['local', 200],
    ['refuse', 503]
  ] as const) {
    const { redis, gateways } = await prepare(t, mode)
    const url = redis.url.replace('redis://', 'redis://:canary-redis-password@')
    const gateway = await gateways.start({ GATEWAY_LIMITS_REDIS_URL: url })
    t.same([...(await askMany(t, gateway, 5))], [[status, 5]], mode)
    await waitUntil(() => warnings(gateway).some(({ cause }) => cause === 'access_denied'), 'the log says why')
    t.notOk(JSON.stringify(readLog(gateway)).includes('canary-redis-password'))
  }
})

t.test('keys 13: a Redis that is a replica for a while is an outage', { skip }, async t => {
  for (const [mode, status] of [
    ['local', 200],
    ['refuse', 503]
  ] as const) {
    const { redis, gateways } = await prepare(t, mode)
    const gateway = await gateways.start()
    t.same([...(await askMany(t, gateway, 5))], [[200, 5]], mode)
    await waitForSpend(redis, 5 * COST)
    await redis.command('REPLICAOF', '127.0.0.1', '9')
    await waitUntil(async () => {
      await ask(gateway)
      return warnings(gateway).some(({ cause }) => cause === 'read_only')
    }, 'the outage is seen')
    t.same([...(await askMany(t, gateway, 5))], [[status, 5]], mode)
    await redis.command('REPLICAOF', 'NO', 'ONE')
    await waitUntil(async () => (await ask(gateway)).status === 200, `${mode}: the gateway counts again`, 15_000)
  }
})

t.test('keys 13: the process of shared limits is started again, and nothing is lost', { skip }, async t => {
  const { redis, gateways } = await prepare(t, 'local', startProfileProcesses)
  const gateway = await gateways.start()
  const pids = () =>
    readLog(gateway).flatMap(({ event, limits_pid: pid }) => (event === 'limits_ready' ? [Number(pid)] : []))
  t.same([...(await askMany(t, gateway, 5))], [[200, 5]])
  for (const round of [1, 2]) {
    process.kill(pids().at(-1) ?? 0, 'SIGKILL')
    t.same([...(await askMany(t, gateway, 5))], [[200, 5]])
    await waitUntil(() => pids().length > round, 'another process is ready')
  }
  t.equal(await gateway.stop(), 0)
  await waitForSpend(redis, 15 * COST)
  t.same(await redis.command('KEYS', '*slots*'), [], 'a gateway that stops gives its slots back')
})
