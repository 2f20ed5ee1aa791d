// A started gateway with both Postgres stores behind PgBouncer in each of its modes: records and responses, also over a killed writer
// (decisions.md 115).
import pg from 'pg'
import t, { type Test } from 'tap'
import { post } from '../../support/client.ts'
import { emulatorVariables, startEmulator } from '../../support/gateway.ts'
import { startPgBouncer, whyWithoutPgBouncer } from '../../support/pgbouncer.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres.ts'
import { waitUntil } from '../../support/processes.ts'
import { scrape } from '../../support/scrape.ts'
import {
  compareRecords,
  killWriter,
  prompt,
  readPostgres,
  sendPings,
  startTrafficGateway
} from '../../support/traffic.ts'
import { adminVariables, createCalls } from '../admin/support.ts'

const exactly = { missing: 0, repeated: 0 }

async function createDatabase(server: PostgresServer, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server.dsn })
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  return server.dsn.replace(/[^/]+$/, name)
}

/** Starts a gateway whose stores are both behind a pool of this mode. */
async function startPooledGateway(t: Test, server: PostgresServer, mode: 'session' | 'transaction') {
  const directDsn = await createDatabase(server, `pooled_${mode}`)
  const dsnOf = await startPgBouncer(t, server, { mode })
  const dsn = `${dsnOf(`pooled_${mode}`)}?sslmode=prefer`
  const emulator = await startEmulator(t)
  const gateway = await startTrafficGateway(t, 'postgres', {
    env: {
      ...emulatorVariables(emulator),
      ...adminVariables(dsn),
      ...prompt,
      GATEWAY_STARTUP_TIMEOUT_SECONDS: '55',
      GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: 'true',
      GATEWAY_RESPONSES_STORE_DSN: dsn,
      GATEWAY_RESPONSES_STORE_AUTO_MIGRATE: 'true'
    }
  })
  const ask = async (body: object): Promise<string> => {
    const { status, json } = await post(`${gateway.url}/v1/responses`, { model: 'GigaChat-2-Max', ...body })
    t.equal(status, 200)
    return json.id as string
  }
  return { gateway, emulator, directDsn, ask, ...createCalls(gateway) }
}

t.test('both stores behind PgBouncer', { skip: whyWithoutPgBouncer }, async t => {
  const server = await startPostgres(t)
  for (const mode of ['session', 'transaction'] as const) {
    t.test(`in ${mode} mode`, async t => {
      const { gateway, emulator, directDsn, ask, call, logs } = await startPooledGateway(t, server, mode)
      const first = await ask({ input: 'one' })
      const second = await ask({ input: 'two', previous_response_id: first })
      const read = await call(`/v1/responses/${second}`)
      t.match(read, { status: 200, json: { id: second, previous_response_id: first, status: 'completed' } })
      const calls = emulator.requests.map(({ body }) => JSON.stringify(body))
      t.match(
        calls.find(body => body?.includes('"two"')),
        /"one".*"two"/,
        'the chain goes to the upstream with both inputs'
      )

      const ids = await sendPings(gateway.url, 500)
      const loading = sendPings(gateway.url, 500)
      await killWriter(gateway)
      ids.push(...(await loading))
      await waitUntil(
        async () => compareRecords(await readPostgres(directDsn), ids).missing === 0,
        'every record is stored'
      )
      t.same(compareRecords(await readPostgres(directDsn), ids), exactly)
      const listed = await logs('?route=/v1/responses')
      t.match(listed, { status: 200, json: { data: [{ status_code: 200 }, { status_code: 200 }] } })
      t.equal((await scrape(gateway)).sum('gateway_traffic_log_dropped_total'), 0)

      // A third answer needs the chain after the kill, and a deleted one is gone on every worker.
      const third = await ask({ input: 'three', previous_response_id: second })
      t.equal((await call(`/v1/responses/${third}`, { method: 'DELETE' })).status, 200)
      for (let repeat = 0; repeat < 4; repeat += 1) t.equal((await call(`/v1/responses/${third}`)).status, 404)
      t.equal(await gateway.stop(), 0)
    })
  }
})
