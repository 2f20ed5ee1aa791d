// The writer of traffic records, killed in a started gateway; what it leaves behind.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { readLog } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { scrapeUntil } from '../../support/scrape.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import {
  compareRecords,
  gathering,
  killUnderLoad,
  killWriter,
  prompt,
  readJsonl,
  readSqlite,
  readWriterPids,
  sendPings,
  startTrafficGateway
} from '../../support/traffic.ts'

const exactly = { missing: 0, repeated: 0 }

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
  t.same(
    readdirSync(gateway.folder).filter(name => name.endsWith('-wal')),
    []
  )
  t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
  t.same(compareRecords(readSqlite(gateway.sqlitePath), ids), exactly)
})

t.test(
  'what a killed writer alone had for a sink that is down is counted and said, and the other sink has all',
  async t => {
    const port = await findFreePort()
    const gateway = await startTrafficGateway(t, 'jsonl,opensearch', {
      env: {
        ...prompt,
        GATEWAY_SEARCH_INDEX_URL: `http://127.0.0.1:${port}`,
        GATEWAY_OPENSEARCH_FLUSH_INTERVAL_MS: '100',
        GATEWAY_TRAFFIC_LOG_QUEUE_SIZE: '1000'
      }
    })
    const ids = await sendPings(gateway.url, 100)
    await waitUntil(
      () => readLog(gateway).some(({ event }) => event === 'traffic_sink_unavailable'),
      'the server is missed'
    )
    while (ids.length < 900) {
      ids.push(...(await sendPings(gateway.url, 100)))
      await waitUntil(
        () => compareRecords(readJsonl(gateway.jsonlPath), ids).missing === 0,
        'the file has every record'
      )
    }
    // The writer says what it holds before it answers a scrape.
    await scrapeUntil(
      gateway,
      'the writer has said that it holds them',
      metrics => metrics.sum('gateway_traffic_log_opensearch_queue_depth') >= ids.length
    )
    await killWriter(gateway)
    const countLines = (wanted: string) =>
      readLog(gateway)
        .filter(({ event, sink }) => event === wanted && sink === 'opensearch')
        .reduce((sum, { count }) => sum + Number(count), 0)
    const lost = countLines('traffic_records_lost')
    t.ok(lost >= 775, `${lost} of 900`)
    const metrics = await scrapeUntil(
      gateway,
      'the workers have sent what they have',
      metrics => metrics.sum('gateway_traffic_log_opensearch_queue_depth') >= ids.length - lost
    )
    t.equal(metrics.sum('gateway_traffic_log_opensearch_dropped_total'), lost)
    t.equal(metrics.sum('gateway_traffic_log_dropped_total'), lost)
    t.equal(await gateway.stop(), 0)
    t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
    // The scrapes are records too.
    const { length } = readJsonl(gateway.jsonlPath)
    t.equal(lost + countLines('traffic_records_dropped'), length, 'each record is counted once')
  }
)

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

t.test('operations-lost-tmp: the socket is made again after a cleaning of the temporary folder', async t => {
  const folder = createTemporaryFolder(t)
  const env = { TMPDIR: folder, GATEWAY_WORKERS: '1' }
  const gateway = await startTrafficGateway(t, 'sqlite', { env })
  const ids = await sendPings(gateway.url, 1)
  await waitUntil(() => readSqlite(gateway.sqlitePath).length > 0, 'the first record is stored')
  const [writer] = readWriterPids(gateway)
  const readWorkers = () => readChildPids(gateway.process.pid ?? 0).filter(pid => pid !== writer)
  const [worker = 0] = readWorkers()
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
  process.kill(worker, 'SIGKILL')
  await waitUntil(() => readWorkers().some(pid => pid !== worker), 'a new worker was started')
  await waitUntil(
    () =>
      fetch(`${gateway.url}/health`).then(
        ({ ok }) => ok,
        () => false
      ),
    'it serves'
  )
  ids.push(...(await sendPings(gateway.url, 5)))
  await waitUntil(
    () => compareRecords(readSqlite(gateway.sqlitePath), ids).missing === 0,
    'the new worker has found the new socket'
  )
  t.equal(await gateway.stop(), 0)
  t.same(compareRecords(readSqlite(gateway.sqlitePath), ids), exactly)
  t.ok(readLog(gateway).some(({ event }) => event === 'socket_made_again'))
  t.same(
    readdirSync(folder).filter(name => name.startsWith('llm-gateway-')),
    []
  )
})
