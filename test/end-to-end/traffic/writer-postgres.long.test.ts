// A started gateway whose traffic log goes to Postgres: the writer is killed, the database is down.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readLog } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { waitUntil } from '../../support/processes.ts'
import { scrapeUntil } from '../../support/scrape.ts'
import {
  compareRecords,
  gathering,
  killUnderLoad,
  killWriter,
  prompt,
  readJsonl,
  readPostgres,
  sendPings,
  startTrafficGateway
} from '../../support/traffic.ts'

const exactly = { missing: 0, repeated: 0 }

t.test('Postgres', async t => {
  const server = await startPostgres(t)
  const postgres = {
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: server.dsn,
    GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: 'true'
  }

  t.test('operations 79: a killed writer loses and repeats nothing in Postgres', async t => {
    const gateway = await startTrafficGateway(t, 'postgres', { env: { ...postgres, ...gathering } })
    const ids = await killUnderLoad(gateway, 'postgres')
    t.same(await readPostgres(server.dsn), [], 'all were in flight')
    t.equal(await gateway.stop(), 0)
    t.same(compareRecords(await readPostgres(server.dsn), ids), exactly)
  })

  t.test('a database that is down keeps no request waiting, and gets every record when it is back', async t => {
    const gateway = await startTrafficGateway(t, 'jsonl,postgres', {
      env: { ...postgres, ...prompt, GATEWAY_TRAFFIC_LOG_SPILL_DIR: 'spill', GATEWAY_TRAFFIC_LOG_QUEUE_SIZE: '500' }
    })
    const ids = await sendPings(gateway.url, 100)
    await server.stop()
    const hasAll = () => compareRecords(readJsonl(gateway.jsonlPath), ids).missing === 0
    // No burst fills the queue of a worker, however slow the machine is; together they are more than the writer's queue takes.
    while (ids.length < 3_000) {
      ids.push(...(await sendPings(gateway.url, 400)))
      await waitUntil(hasAll, 'the other sink has every record meanwhile')
    }
    await scrapeUntil(
      gateway,
      'the records are on disk',
      metrics =>
        metrics.sum('gateway_traffic_log_postgres_spill_bytes') > 0 &&
        metrics.sum('gateway_traffic_log_postgres_queue_depth') < 500
    )
    const spilled = readdirSync(join(gateway.folder, 'spill'))
    t.match(spilled, [/^postgres\.\d+\.ndjson$/])
    t.equal(statSync(join(gateway.folder, 'spill', spilled[0] ?? '')).mode & 0o777, 0o600)
    // A writer that exits meanwhile leaves its spill to the next one.
    await killWriter(gateway)
    await server.start()
    await waitUntil(
      async () => compareRecords(await readPostgres(server.dsn), ids).missing === 0,
      'the database has every record',
      60_000
    )
    const metrics = await scrapeUntil(
      gateway,
      'nothing is left on disk',
      metrics => metrics.sum('gateway_traffic_log_postgres_spill_bytes') === 0
    )
    t.ok(metrics.sum('gateway_traffic_log_postgres_written_total') >= 3_000)
    t.ok(metrics.sum('gateway_traffic_log_postgres_write_errors_total') > 0)
    t.equal(metrics.sum('gateway_traffic_log_dropped_total'), 0)
    t.equal(await gateway.stop(), 0)
    t.same(compareRecords(await readPostgres(server.dsn), ids), exactly)
    t.match(
      readLog(gateway).find(({ event }) => event === 'traffic_sink_unavailable'),
      { sink: 'postgres' }
    )
  })

  t.test('without a spill a database that is down costs its own records beyond the queue, and no others', async t => {
    const gateway = await startTrafficGateway(t, 'jsonl,postgres', {
      env: { ...postgres, ...prompt, GATEWAY_TRAFFIC_LOG_QUEUE_SIZE: '300' }
    })
    await server.stop()
    const ids = [...(await sendPings(gateway.url, 200))]
    while (ids.length < 1_200) {
      ids.push(...(await sendPings(gateway.url, 100)))
      await waitUntil(
        () => compareRecords(readJsonl(gateway.jsonlPath), ids).missing === 0,
        'the file has every record'
      )
    }
    const metrics = await scrapeUntil(
      gateway,
      'what does not fit is counted',
      metrics => metrics.sum('gateway_traffic_log_postgres_dropped_total') > 0
    )
    t.equal(
      metrics.sum('gateway_traffic_log_dropped_total'),
      metrics.sum('gateway_traffic_log_postgres_dropped_total'),
      'no worker has dropped a record'
    )
    t.match(
      readLog(gateway).find(({ event }) => event === 'traffic_records_dropped'),
      { sink: 'postgres', reason: 'queue_full', msg: 'Traffic log queue is full; dropping event' }
    )
    t.equal(await gateway.stop(), 0)
    t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
    await server.start()
  })
})
