// A started gateway with sinks that fail: a search server that is down, a full disk.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { whyWithout } from '../../support/programs.ts'
import { scrape, scrapeUntil } from '../../support/scrape.ts'
import {
  compareRecords,
  prompt,
  readJsonl,
  readSqlite,
  readWriterPids,
  sendPings,
  startTrafficGateway,
  type TrafficGateway
} from '../../support/traffic.ts'

const exactly = { missing: 0, repeated: 0 }

t.test('operations 76: a search server that is down hurts neither requests nor the relational store', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startTrafficGateway(t, 'sqlite,opensearch', {
    env: {
      ...emulatorVariables(emulator),
      ...prompt,
      GATEWAY_SEARCH_INDEX_URL: `http://127.0.0.1:${await findFreePort()}`,
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
  const missed = () => readLog(gateway).find(({ event }) => event === 'traffic_sink_unavailable')
  await waitUntil(() => missed() !== undefined, 'the server is missed')
  t.match(missed(), { level: /^warn/i, sink: 'opensearch' })
  t.equal(await gateway.stop(), 0)
  t.same(compareRecords(readSqlite(gateway.sqlitePath), ids), exactly)
})

/** Bounds how large files of the writer may become: what a full disk does to it. */
function limitFiles(gateway: TrafficGateway, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(readWriterPids(gateway).at(-1)), `--fsize=${bytes}:`])
}

/** Node ignores the signal about a file beyond its limit; the test runner listens for it, and would then end the process. */
const ignoringLimits = { ...prompt, NODE_OPTIONS: "--import=data:text/javascript,process.on('SIGXFSZ',Boolean)" }

const noLimits = { skip: whyWithout('prlimit') }

t.test('a full disk stops no request, and everything is stored when there is room again', noLimits, async t => {
  const gateway = await startTrafficGateway(t, 'jsonl,sqlite', { env: ignoringLimits })
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
  const gateway = await startTrafficGateway(t, 'jsonl', { env: ignoringLimits })
  const ids = await sendPings(gateway.url, 100)
  await waitUntil(() => compareRecords(readJsonl(gateway.jsonlPath), ids).missing === 0, 'records are stored')
  limitFiles(gateway, 4096)
  await sendPings(gateway.url, 200)
  await scrapeUntil(
    gateway,
    'it has failed',
    metrics => metrics.sum('gateway_traffic_log_jsonl_write_errors_total') > 0
  )
  t.equal(await gateway.stop(), 0)
  t.same(compareRecords(readJsonl(gateway.jsonlPath), ids), exactly)
  for (const line of readFileSync(gateway.jsonlPath, 'utf8').split('\n').slice(0, -1)) {
    t.doesNotThrow(() => JSON.parse(line), 'no line is cut')
  }
})
