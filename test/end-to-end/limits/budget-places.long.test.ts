// A budget in each of its places: it stops all gateways, and a restart gives none of it back (keys.md 3).
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ServingGateway } from '../../support/in-process-gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { waitUntil } from '../../support/processes.ts'
import { startRedis, whyWithoutRedis } from '../../support/redis.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { type Asked, ask, COST, prepareShared } from './shared-support.ts'

const REQUESTS = 8

/** On a loaded machine an outage can begin: requests are then 503 until the place of the budget answers again. */
async function askCounted(gateway: ServingGateway): Promise<Asked> {
  let asked = await ask(gateway)
  const isCounted = async () => {
    if (asked.status === 503) asked = await ask(gateway)
    return asked.status !== 503
  }
  await waitUntil(isCounted, 'the place of the budget answers', 15_000)
  return asked
}

const places: ReadonlyArray<{ name: string; skip: string | false; prepare(t: Test): Promise<Record<string, string>> }> =
  [
    {
      name: 'Redis',
      skip: whyWithoutRedis,
      prepare: async t => ({ GATEWAY_LIMITS_REDIS_URL: (await startRedis(t, { isDurable: true })).url })
    },
    {
      name: 'SQLite',
      skip: false,
      prepare: async t => ({ GATEWAY_RESPONSES_STORE_DSN: `sqlite:${join(createTemporaryFolder(t), 'store.sqlite')}` })
    },
    {
      name: 'Postgres',
      skip: false,
      prepare: async t => ({
        GATEWAY_RESPONSES_STORE_DSN: (await startPostgres(t)).dsn,
        GATEWAY_RESPONSES_STORE_AUTO_MIGRATE: 'true'
      })
    }
  ]

for (const { name, skip, prepare } of places) {
  t.test(`keys 10: a budget in ${name} survives a restart and holds for all gateways`, { skip }, async t => {
    const limits = { budget: { amount: REQUESTS * COST, period: 'total' } }
    const env = { ...(await prepare(t)), GATEWAY_LIMITS_ON_OUTAGE: 'refuse' }
    const gateways = await prepareShared(t, { limits, env })
    const first = await gateways.start()
    for (let request = 0; request < REQUESTS / 2; request++) t.equal((await askCounted(first)).status, 200)
    t.equal(await first.stop(), 0)
    const second = await gateways.start()
    let admitted = REQUESTS / 2
    // The other half is left; what is in flight near the end is charged beyond it.
    while (admitted < 2 * REQUESTS && (await askCounted(second)).status === 200) admitted += 1
    t.equal(admitted, REQUESTS, 'the half before the restart counts')
    const { status, response } = await askCounted(second)
    t.equal(status, 429)
    t.match(response.json, { error: { code: 'budget_exceeded' } })
    t.equal(response.headers.get('x-should-retry'), 'false')
    const third = await gateways.start()
    await waitUntil(async () => (await ask(third)).status === 429, 'another gateway has read the budget', 8_000)
  })
}
