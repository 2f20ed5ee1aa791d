// The writer of traffic records in a started gateway: killed, stopped, with a database that is down, with a full disk.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { writeRecordTime } from '../../../shared/traffic/record.ts'
import { openSqliteQueries } from '../../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../../supervisor/writer/store/sqlite/sink.ts'
import { createRecord } from '../../supervisor/writer/records.ts'
import { post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { waitUntil } from '../../support/processes.ts'
import { whyWithout } from '../../support/programs.ts'
import { scrape, scrapeUntil } from '../../support/scrape.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import {
  compareRecords,
  killWriter,
  readJsonl,
  readPostgres,
  readSqlite,
  readWriterPids,
  sendPings,
  startTrafficGateway,
  type TrafficGateway
} from '../../support/traffic.ts'

const exactly = { missing: 0, repeated: 0 }
/** Records wait until a test wants them stored. */
const gathering = { GATEWAY_TRAFFIC_LOG_BATCH_SIZE: '100000', GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '3600000' }
const prompt = { GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '100' }

async function killUnderLoad(gateway: TrafficGateway, sink: string): Promise<string[]> {
  const ids = await sendPings(gateway.url, 1_000)
  await scrapeUntil(
    gateway,
    'the writer has a thousand records that no sink has',
    metrics => metrics.sum(`gateway_traffic_log_${sink}_queue_depth`) >= 1_000
  )
  await killWriter(gateway)
  const loading = sendPings(gateway.url, 2_000)
  await killWriter(gateway)
  ids.push(...(await loading))
  return ids
}

t.test('operations 79: a killed writer loses and repeats nothing in files', async t => {
  const gateway = await startTrafficGateway(t, 'jsonl,sqlite', { env: gathering })
  const ids = await killUnderLoad(gateway, 'sqlite')
  t.same(readJsonl(gateway.jsonlPath), [], 'all were in flight')
  t.equal(await gateway.stop(), 0)
  t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
  t.same(compareRecords(readSqlite(gateway.sqlitePath), ids), exactly)
})

t.test('a writer that is killed while it stores loses and repeats nothing', async t => {
  const env = { GATEWAY_TRAFFIC_LOG_BATCH_SIZE: '50', GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '10' }
  const gateway = await startTrafficGateway(t, 'jsonl,sqlite', { env })
  const loading = sendPings(gateway.url, 4_000)
  for (let kill = 0; kill < 3; kill += 1) {
    const { length } = readJsonl(gateway.jsonlPath)
    await waitUntil(() => readJsonl(gateway.jsonlPath).length > length + 50, 'some records are stored')
    await killWriter(gateway)
  }
  const ids = await loading
  t.equal(await gateway.stop(), 0)
  t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
  t.same(compareRecords(readSqlite(gateway.sqlitePath), ids), exactly)
  t.same(readdirSync(gateway.folder).filter(name => name.endsWith('-wal')), [])
})

t.test('Postgres', async t => {
  const server = await startPostgres(t)
  const postgres = {
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: server.dsn,
    GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: 'true'
  }

  t.test('tables that may not be made refuse the start by name', async t => {
    await t.rejects(
      startTrafficGateway(t, 'postgres', { env: { ...postgres, GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: 'false' } }),
      /exited with 2 .*startup_failed: configuration: [^\n]*GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE/s
    )
  })

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
    ids.push(...(await sendPings(gateway.url, 3_000)))
    await scrapeUntil(
      gateway,
      'the records are on disk',
      metrics =>
        metrics.sum('gateway_traffic_log_postgres_spill_bytes') > 0 &&
        metrics.sum('gateway_traffic_log_postgres_queue_depth') < 500
    )
    await waitUntil(
      () => compareRecords(readJsonl(gateway.jsonlPath), ids).missing === 0,
      'the other sink has every record meanwhile'
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
      await waitUntil(() => compareRecords(readJsonl(gateway.jsonlPath), ids).missing === 0, 'the file has every record')
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

t.test('operations 76: a search server that is down hurts neither requests nor the relational store', async t => {
  const emulator = await startEmulator(t)
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  const gateway = await startTrafficGateway(t, 'sqlite,opensearch', {
    env: {
      ...emulatorVariables(emulator),
      ...prompt,
      GATEWAY_SEARCH_INDEX_URL: `http://127.0.0.1:${port}`,
      GATEWAY_OPENSEARCH_FLUSH_INTERVAL_MS: '100',
      GATEWAY_TRAFFIC_LOG_QUEUE_SIZE: '100'
    }
  })
  const ids: string[] = []
  for (let count = 0; count < 10; count += 1) {
    const body = { model: 'GigaChat-2', messages: [{ role: 'user', content: 'hi' }] }
    const { status, headers } = await post(`${gateway.url}/v1/chat/completions`, body)
    t.equal(status, 200)
    ids.push(headers.get('x-request-id') ?? '')
  }
  while (ids.length < 600) {
    ids.push(...(await sendPings(gateway.url, 50)))
    await waitUntil(() => compareRecords(readSqlite(gateway.sqlitePath), ids).missing === 0, 'the store has all rows')
  }
  t.match(
    readLog(gateway).find(({ event }) => event === 'traffic_sink_unavailable'),
    { level: /^warn/i, sink: 'opensearch' }
  )
  t.equal(await gateway.stop(), 0)
  t.same(compareRecords(readSqlite(gateway.sqlitePath), ids), exactly)
})

interface Outcome {
  id: string
  status: number
}

/** Clients that ask one after the other until the gateway refuses connections. */
async function askUntilRefused(url: string, onResponse: () => void): Promise<Outcome[]> {
  const body = JSON.stringify({ model: 'GigaChat-2', messages: [{ role: 'user', content: '[[slow:5]] hi' }] })
  const outcomes: Outcome[] = []
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      for (let isRefused = false; !isRefused; ) {
        isRefused = await new Promise<boolean>(resolve => {
          const sent = request(`${url}/v1/chat/completions`, { method: 'POST', agent }, response => {
            response.resume()
            response.on('end', () => {
              outcomes.push({ id: String(response.headers['x-request-id']), status: response.statusCode ?? 0 })
              onResponse()
              resolve(false)
            })
            response.on('error', () => resolve(false))
          })
          sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'))
          sent.end(body)
        })
      }
      agent.destroy()
    })
  )
  return outcomes
}

t.test('SIGTERM under load: every exchange that ended has its record in every sink', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startTrafficGateway(t, 'jsonl,sqlite', { env: emulatorVariables(emulator) })
  let responses = 0
  const asking = askUntilRefused(gateway.url, () => {
    responses += 1
  })
  await waitUntil(() => responses > 300, 'some load has passed')
  t.equal(await gateway.stop(), 0)
  const outcomes = await asking
  for (const records of [readJsonl(gateway.jsonlPath), readSqlite(gateway.sqlitePath)]) {
    const ids = outcomes.map(({ id }) => id)
    t.same(compareRecords(records, ids), exactly)
    const statuses = new Map(records.map(record => [record.request_id, record.status_code]))
    t.same(
      outcomes.filter(({ id, status }) => statuses.get(id) !== status),
      []
    )
  }
})

t.test('operations 58: at the deadline what runs is cancelled, and queued records are on disk', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startTrafficGateway(t, 'jsonl,sqlite', {
    env: { ...emulatorVariables(emulator), ...gathering, GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '1' }
  })
  const ids = await sendPings(gateway.url, 50)
  const content = '[[slow:60000]] hi'
  const running = post(`${gateway.url}/v1/chat/completions`, {
    model: 'GigaChat-2',
    messages: [{ role: 'user', content }]
  })
  await emulator.waitFor(() => emulator.stats.activeChatRequests > 0)
  t.same(readJsonl(gateway.jsonlPath), [])
  t.equal(await gateway.stop(), 0)
  const cancelled = await running
  t.equal(cancelled.status, 503)
  ids.push(cancelled.headers.get('x-request-id') ?? '')
  const events = readLog(gateway).filter(({ event }) => event === 'shutdown_initiated' || event === 'requests_cancelled')
  const [initiated = 0, cancelledAt = 0] = events.map(({ time }) => new Date(String(time)).getTime())
  t.ok(Math.abs(cancelledAt - initiated - 1_000) <= 300, 'at one second')
  t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
  t.same(compareRecords(readSqlite(gateway.sqlitePath), ids), exactly)
})

/** Bounds how large files of the writer may become: what a full disk does to it. */
function limitFiles(gateway: TrafficGateway, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(readWriterPids(gateway).at(-1)), `--fsize=${bytes}:`])
}

const noLimits = { skip: whyWithout('prlimit') }

t.test('a full disk stops no request, and everything is stored when there is room again', noLimits, async t => {
  const gateway = await startTrafficGateway(t, 'jsonl,sqlite', { env: prompt })
  const ids = await sendPings(gateway.url, 100)
  await waitUntil(() => compareRecords(readJsonl(gateway.jsonlPath), ids).missing === 0, 'records are stored')
  limitFiles(gateway, 4096)
  ids.push(...(await sendPings(gateway.url, 500)))
  await scrapeUntil(
    gateway,
    'both sinks have failed',
    metrics =>
      metrics.sum('gateway_traffic_log_jsonl_write_errors_total') > 0 &&
      metrics.sum('gateway_traffic_log_sqlite_write_errors_total') > 0
  )
  limitFiles(gateway, 'unlimited')
  await waitUntil(
    () =>
      compareRecords(readJsonl(gateway.jsonlPath), ids).missing === 0 &&
      compareRecords(readSqlite(gateway.sqlitePath), ids).missing === 0,
    'records are stored again',
    60_000
  )
  t.equal((await scrape(gateway)).sum('gateway_traffic_log_dropped_total'), 0)
  t.equal(await gateway.stop(), 0)
  t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
  t.same(compareRecords(readSqlite(gateway.sqlitePath), ids), exactly)
})

t.test('a full disk does not keep the gateway from stopping, and the lost records are counted', noLimits, async t => {
  const gateway = await startTrafficGateway(t, 'jsonl', { env: prompt })
  const ids = await sendPings(gateway.url, 100)
  await waitUntil(() => compareRecords(readJsonl(gateway.jsonlPath), ids).missing === 0, 'records are stored')
  limitFiles(gateway, 4096)
  await sendPings(gateway.url, 200)
  await scrapeUntil(gateway, 'it has failed', metrics => metrics.sum('gateway_traffic_log_jsonl_write_errors_total') > 0)
  t.equal(await gateway.stop(), 0)
  t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
  for (const line of readFileSync(gateway.jsonlPath, 'utf8').split('\n').slice(0, -1)) {
    t.doesNotThrow(() => JSON.parse(line), 'no line is cut')
  }
})

/** Runs a gateway whose socket is in a folder of the test. */
async function startWithSocketFolder(t: Test) {
  const folder = createTemporaryFolder(t)
  const env = { TMPDIR: folder, GATEWAY_API_KEY: 'hunter2-gateway', UPSTREAM_CREDENTIALS: 'aHVudGVyMjp1cHN0cmVhbQ==' }
  const gateway = await startTrafficGateway(t, 'jsonl', { env: { ...env, ...gathering } })
  return { gateway, listSockets: () => readdirSync(folder).filter(name => name.startsWith('llm-gateway-')) }
}

t.test('the socket of the writer is private, and no folder of it is left', async t => {
  const { gateway, listSockets } = await startWithSocketFolder(t)
  t.equal(listSockets().length, 1)
  const [pid = 0] = readWriterPids(gateway)
  t.notMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /hunter2|aHVudGVy/)
  await killWriter(gateway)
  t.equal(await gateway.stop(), 0)
  t.same(listSockets(), [])
})

t.test('a killed supervisor leaves no writer and no folder, and what the writer had is stored', async t => {
  const { gateway, listSockets } = await startWithSocketFolder(t)
  const ids = await sendPings(gateway.url, 100)
  await scrapeUntil(
    gateway,
    'the writer has the records',
    metrics => metrics.sum('gateway_traffic_log_jsonl_queue_depth') >= 100
  )
  gateway.process.kill('SIGKILL')
  await waitUntil(() => listSockets().length === 0, 'the folder is removed')
  t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
})

t.test('records beyond the retention are deleted at the start', async t => {
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'old.sqlite')
  const store = openSqliteStore(path, openSqliteQueries)
  const day = 24 * 60 * 60 * 1000
  const ages = [31, 40, 400, 29].map(days => writeRecordTime(Date.now() - days * day))
  await store.write(ages.map((created_at, index) => createRecord({ created_at, request_id: `r${index}` })))
  await store.close()
  const gateway = await startTrafficGateway(t, 'sqlite', { env: { GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: path } })
  await waitUntil(() => readSqlite(path).filter(({ request_id }) => /^r[012]$/.test(request_id)).length === 0, 'a purge')
  t.equal(readSqlite(path).filter(({ request_id }) => request_id === 'r3').length, 1)
  t.equal(await gateway.stop(), 0)
})

t.test('operations 80: an unknown sink, or a contradiction, refuses the start and names its setting', async t => {
  const refuse = (env: Record<string, string | undefined>, message: RegExp) =>
    t.rejects(startTrafficGateway(t, '', { env: { GATEWAY_TRAFFIC_LOG_SINKS: undefined, ...env } }), message)
  await refuse({ GATEWAY_TRAFFIC_LOG_SINK: 'kafka' }, /exited with 2 .*GATEWAY_TRAFFIC_LOG_SINK /s)
  await refuse({ GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,kafka' }, /exited with 2 .*GATEWAY_TRAFFIC_LOG_SINKS /s)
  await refuse(
    { GATEWAY_TRAFFIC_LOG_SINK: 'postgres', GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: undefined },
    /exited with 2 .*GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN must be set/s
  )
  await refuse(
    { GATEWAY_TRAFFIC_LOG_SINK: 'postgres', GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: 'sqlite:x' },
    /exited with 2 .*GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN must be the address of a postgres database/s
  )
})

t.test('a file that cannot be used refuses the start and names its setting', async t => {
  const folder = createTemporaryFolder(t)
  mkdirSync(join(folder, 'directory'))
  const path = join(folder, 'directory')
  await t.rejects(
    startTrafficGateway(t, 'jsonl', { env: { GATEWAY_TRAFFIC_LOG_JSONL_PATH: path } }),
    /exited with 2 .*startup_failed: configuration: GATEWAY_TRAFFIC_LOG_JSONL_PATH [^\n]*EISDIR/s
  )
  await t.rejects(
    startTrafficGateway(t, 'sqlite', { env: { GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: path } }),
    /exited with 2 .*startup_failed: configuration: GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN /s
  )
})
