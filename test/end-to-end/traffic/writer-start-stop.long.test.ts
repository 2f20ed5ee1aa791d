// Start and stop of a gateway with a traffic log.
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { writeRecordTime } from '../../../shared/traffic/record.ts'
import { openSqliteQueries } from '../../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../../supervisor/writer/store/sqlite/sink.ts'
import { createRecord } from '../../supervisor/writer/records.ts'
import { post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { scrapeUntil } from '../../support/metrics.ts'
import { startPostgres } from '../../support/postgres.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { startRecordedGateway } from '../../support/recorded-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import {
  compareRecords,
  gathering,
  readJsonl,
  readSqlite,
  sendPings,
  startTrafficGateway
} from '../../support/traffic.ts'
import { startScript } from '../process/fixtures/run.ts'
import { askIn } from '../system/support.ts'

const exactly = { missing: 0, repeated: 0 }

/** Starts a gateway that exits with 2 before it listens, with a message that the pattern describes. */
async function refuseStart(t: Test, env: Record<string, string>, message: RegExp, args: string[] = []): Promise<void> {
  const variables = { GATEWAY_PORT: '0', GATEWAY_HOST: '127.0.0.1', GATEWAY_TRAFFIC_LOG_ENABLED: 'true', ...env }
  const started = startScript(t, join(import.meta.dirname, '../../../supervisor/main.ts'), args, variables)
  t.same(await started.exited, { code: 2, signal: null })
  if (args.length === 0) t.match(started.errors(), message)
  else t.match(JSON.parse(started.output()), { error: { details: [{ setting: /^GATEWAY_TRAFFIC_LOG_/ }] } })
  t.notMatch(started.output(), /"event": ?"listening"/)
}

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
  const events = readLog(gateway).filter(
    ({ event }) => event === 'shutdown_initiated' || event === 'requests_cancelled'
  )
  const [initiated = 0, cancelledAt = 0] = events.map(({ time }) => new Date(String(time)).getTime())
  t.ok(cancelledAt - initiated >= 950, 'not before one second')
  t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
  t.same(compareRecords(readSqlite(gateway.sqlitePath), ids), exactly)
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
  await waitUntil(
    () => readSqlite(path).filter(({ request_id }) => /^r[012]$/.test(request_id)).length === 0,
    'a purge'
  )
  t.equal(readSqlite(path).filter(({ request_id }) => request_id === 'r3').length, 1)
  t.equal(await gateway.stop(), 0)
})

t.test(
  'field-lessons.md L11 and L12: records of failed requests can stay longer than others, content shorter',
  async t => {
    const path = join(createTemporaryFolder(t), 'old.sqlite')
    const store = openSqliteStore(path, openSqliteQueries)
    const day = 24 * 60 * 60 * 1000
    const write = (days: number, status_code: number) =>
      createRecord({
        created_at: writeRecordTime(Date.now() - days * day),
        request_id: `${status_code} after ${days}`,
        status_code,
        request_body_redacted: {}
      })
    await store.write([write(89, 200), write(89, 500), write(91, 500), write(29, 200), write(6, 200)])
    await store.close()
    const gateway = await startTrafficGateway(t, 'sqlite', {
      env: {
        GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: path,
        GATEWAY_TRAFFIC_LOG_ERROR_RETENTION_DAYS: '90',
        GATEWAY_TRAFFIC_LOG_CONTENT_RETENTION_DAYS: '7'
      }
    })
    const listLeft = () =>
      readSqlite(path)
        .filter(({ request_id }) => String(request_id).includes(' after '))
        .map(({ request_id, has_request_body }) => `${request_id}${has_request_body === 1 ? ' with content' : ''}`)
        .toSorted()
    const expected = ['200 after 29', '200 after 6 with content', '500 after 89']
    await waitUntil(() => JSON.stringify(listLeft()) === JSON.stringify(expected), 'a purge of records and of content')
    t.equal(await gateway.stop(), 0)
  }
)

t.test('operations 80: an unknown sink, or a contradiction, refuses the start and names its setting', async t => {
  for (const args of [[], ['--inspect-config']]) {
    await refuseStart(t, { GATEWAY_TRAFFIC_LOG_SINK: 'kafka' }, /GATEWAY_TRAFFIC_LOG_SINK /, args)
    await refuseStart(t, { GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,kafka' }, /GATEWAY_TRAFFIC_LOG_SINKS /, args)
    await refuseStart(
      t,
      { GATEWAY_TRAFFIC_LOG_SINK: 'postgres' },
      /GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN must be set for the sink postgres/,
      args
    )
    await refuseStart(
      t,
      { GATEWAY_TRAFFIC_LOG_SINK: 'postgres', GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: 'sqlite:x' },
      /GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN must be the address of a postgres database/,
      args
    )
    for (const dsn of ['postgresql+asyncpg://u:hunter2@h/d', 'mysql://u:hunter2@h/d', 'postgress://u:hunter2@h/d']) {
      await refuseStart(
        t,
        { GATEWAY_TRAFFIC_LOG_SINK: 'relational', GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn },
        /GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN must be sqlite:<path>, a path, or an address that begins with postgres:/,
        args
      )
    }
  }
})

t.test('a file that cannot be used refuses the start and names its setting', async t => {
  const path = createTemporaryFolder(t)
  await refuseStart(
    t,
    { GATEWAY_TRAFFIC_LOG_SINK: 'jsonl', GATEWAY_TRAFFIC_LOG_JSONL_PATH: path },
    /^(?:llm-gateway: )?startup_failed: configuration: GATEWAY_TRAFFIC_LOG_JSONL_PATH [^\n]*EISDIR[^\n]*\n$/
  )
  await refuseStart(
    t,
    { GATEWAY_TRAFFIC_LOG_SINK: 'sqlite', GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: path },
    /^(?:llm-gateway: )?startup_failed: configuration: GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN [^\n]*\n$/
  )
  const file = join(path, 'file')
  writeFileSync(file, '')
  await refuseStart(
    t,
    { GATEWAY_TRAFFIC_LOG_SINK: 'sqlite', GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: join(file, 'traffic.sqlite') },
    /^(?:llm-gateway: )?startup_failed: configuration: GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN [^\n]*EEXIST[^\n]*\n$/
  )
})

/** Starts a gateway that records, and waits until the process of its writer exists: it is still loading then, as a rule. */
async function startWithLoadingWriter(t: Test) {
  const variables = {
    GATEWAY_PORT: '0',
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_WORKERS: '1',
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINK: 'jsonl',
    GATEWAY_TRAFFIC_LOG_JSONL_PATH: join(createTemporaryFolder(t), 'traffic.jsonl'),
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9'
  }
  const started = startScript(t, join(import.meta.dirname, '../../../supervisor/main.ts'), [], variables)
  const { pid = 0 } = started.child
  const findWriter = () =>
    readChildPids(pid).find(child => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('/writer/main'))
  await waitUntil(() => findWriter() !== undefined, 'the writer is forked')
  return { started, pid, writerPid: findWriter() ?? pid }
}

t.test('a stop that a terminal sends to every process during a start is no failed start', async t => {
  const { started, pid, writerPid } = await startWithLoadingWriter(t)
  // The worker lives longer than the writer here, so the stop is not over when the writer's exit is seen.
  for (const one of [pid, writerPid]) process.kill(one, 'SIGINT')
  t.same(await started.exited, { code: 0, signal: null })
  t.equal(started.errors(), '')
  t.notMatch(started.output(), /"level":"ERROR"/)
})

t.test('a writer that a signal stops while it loads is started again, and the gateway starts', async t => {
  const { started, pid, writerPid } = await startWithLoadingWriter(t)
  process.kill(writerPid, 'SIGINT')
  await waitUntil(() => started.output().includes('"startup_complete"'), 'the gateway has started')
  process.kill(pid, 'SIGTERM')
  t.same(await started.exited, { code: 0, signal: null })
  t.equal(started.errors(), '')
  t.notMatch(started.output(), /"level":"ERROR"/)
})

t.test('an address of Postgres that cannot be used refuses the start, and shows no password', async t => {
  const message =
    /^(?:llm-gateway: )?startup_failed: configuration: GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN must be an address that can be used((?!hunter)[^\n])*\n$/
  // A # of a password that is not encoded, and a file that is not there.
  for (const dsn of ['u:hunter#@h/d', 'u:hunter@h/d?sslrootcert=/dev/null/ca.pem']) {
    const env = { GATEWAY_TRAFFIC_LOG_SINK: 'postgres', GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: `postgres://${dsn}` }
    await refuseStart(t, env, message)
  }
  // What libpq would say of the mode.
  for (const [query, explanation] of [
    ['sslmode=verify-ca', 'sslmode=verify-ca needs sslrootcert'],
    ['sslmode=secure', 'sslmode must be one of disable, allow, prefer']
  ] as const) {
    const dsn = `postgres://u:hunter@h/d?${query}`
    const env = { GATEWAY_TRAFFIC_LOG_SINK: 'postgres', GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn }
    await refuseStart(t, env, new RegExp(`must be an address that can be used: ${explanation}((?!hunter)[^\\n])*\\n$`))
  }
})

t.test('tables that may not be made refuse the start by name', async t => {
  const { dsn } = await startPostgres(t)
  await refuseStart(
    t,
    { GATEWAY_TRAFFIC_LOG_SINK: 'postgres', GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn },
    /^(?:llm-gateway: )?startup_failed: configuration: [^\n]*GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE[^\n]*\n$/
  )
})

t.test('field-lessons.md L5: the size of the write-ahead log is a metric', async t => {
  const gateway = await startRecordedGateway(t, { start: startGateway, env: { GATEWAY_METRICS_ENABLED: 'true' } })
  t.equal((await askIn(gateway, 'completions', 'hello')).status, 200)
  await scrapeUntil(
    gateway,
    metrics => metrics.sum('gateway_traffic_log_sqlite_wal_bytes') > 0,
    'the record stands in the write-ahead log'
  )
})
