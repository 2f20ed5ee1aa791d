// Requests and their records while nothing takes the records (operations.md 8.3). The writer
// process is stopped, which blocks every sink.

import t from 'tap'
import { get } from '../../support/client.ts'
import { readLog, startGateway } from '../../support/gateway.ts'
import { scrapeUntil } from '../../support/metrics.ts'
import { waitUntil } from '../../support/processes.ts'
import { type RecordedGateway, startRecordedGateway } from '../../support/recorded-gateway.ts'
import { readWriterPids } from '../../support/traffic.ts'
import { askIn, bodyOf, urlOf } from '../system/support.ts'

function start(t: Parameters<typeof startRecordedGateway>[0], env: Record<string, string>) {
  return startRecordedGateway(t, {
    start: startGateway,
    env: { GATEWAY_TRAFFIC_LOG_QUEUE_SIZE: '1', GATEWAY_METRICS_ENABLED: 'true', ...env }
  })
}

function countChats({ emulator }: RecordedGateway): number {
  const counts = Object.entries(emulator.stats.byRoute)
  return counts.reduce((sum, [route, count]) => (/^POST .*chat\/completions$/.test(route) ? sum + count : sum), 0)
}

/** Stops the writer; the function that it returns, and the end of the test, let it go on. */
function blockWriter(t: Parameters<typeof startRecordedGateway>[0], gateway: RecordedGateway): () => void {
  const writer = readWriterPids(gateway).at(-1) ?? 0
  process.kill(writer, 'SIGSTOP')
  let isBlocked = true
  const release = () => {
    if (isBlocked) process.kill(writer, 'SIGCONT')
    isBlocked = false
  }
  t.teardown(release)
  return release
}

t.test('operations 75: a full queue drops and counts while requests go on', async t => {
  const gateway = await start(t, { GATEWAY_TRAFFIC_LOG_DROP_ON_BACKPRESSURE: 'true' })
  blockWriter(t, gateway)
  for (let index = 0; index < 20; index += 1) {
    t.equal((await askIn(gateway, 'completions', 'hello')).status, 200)
  }
  await scrapeUntil(
    gateway,
    metrics => metrics.sum('gateway_traffic_log_dropped_total') >= 19,
    'the dropped records are counted'
  )
  const lines = () => readLog(gateway).filter(({ event }) => event === 'traffic_record_dropped')
  await waitUntil(() => lines().length > 0, 'there is a warning')
  t.match(lines()[0], { level: 'WARNING', reason: 'queue_full', msg: 'Traffic log queue is full; dropping event' })
})

t.test('operations 75: where nothing may be dropped, requests wait for room', async t => {
  const gateway = await start(t, { GATEWAY_TRAFFIC_LOG_DROP_ON_BACKPRESSURE: 'false' })
  const release = blockWriter(t, gateway)
  t.equal((await askIn(gateway, 'completions', 'the first fills the queue')).status, 200)
  const waits = (count: number) =>
    waitUntil(() => readLog(gateway).filter(({ event }) => event === 'traffic_log_full').length >= count, 'it waits')
  let isOver = false
  const second = askIn(gateway, 'completions', 'the second waits').finally(() => {
    isOver = true
  })
  await waits(1)
  const leaving = new AbortController()
  const third = fetch(urlOf(gateway, 'messages'), {
    method: 'POST',
    body: JSON.stringify(bodyOf('messages', 'the third leaves')),
    signal: leaving.signal
  }).catch(() => undefined)
  await waits(2)
  leaving.abort()
  await third
  t.equal((await get(`${gateway.url}/health`)).status, 200)
  t.notOk(isOver)
  t.equal(countChats(gateway), 1)
  release()
  const response = await second
  t.equal(response.status, 200)
  await gateway.recordOf(response)
  const left = await gateway.recordWhere(({ status_code }) => status_code === 499, 'the one that left is recorded')
  t.match(left, { error_type: 'request_cancelled', route: '/v1/messages' })
})

t.test('a drain ends the wait for room', async t => {
  const gateway = await start(t, { GATEWAY_TRAFFIC_LOG_DROP_ON_BACKPRESSURE: 'false' })
  const release = blockWriter(t, gateway)
  t.equal((await askIn(gateway, 'completions', 'the first fills the queue')).status, 200)
  const second = askIn(gateway, 'completions', 'the second waits')
  await waitUntil(() => readLog(gateway).some(({ event }) => event === 'traffic_log_full'), 'it waits')
  const exited = gateway.stop()
  t.equal((await second).status, 503)
  release()
  t.equal(await exited, 0)
})

t.test('a stop says how many records a writer that is stuck had, and exits with 4 when it was killed', async t => {
  const gateway = await start(t, { GATEWAY_TRAFFIC_LOG_QUEUE_SIZE: '100' })
  process.kill(readWriterPids(gateway).at(-1) ?? 0, 'SIGSTOP')
  for (let count = 1; count <= 3; count += 1) {
    t.equal((await askIn(gateway, 'completions', 'hello')).status, 200)
  }
  t.equal(await gateway.stop(), 4)
  const countOf = (wanted: string) =>
    readLog(gateway)
      .filter(({ event }) => event === wanted)
      .reduce((sum, { count }) => sum + Number(count), 0)
  t.equal(countOf('traffic_records_unconfirmed') + countOf('traffic_records_lost'), 3)
  t.ok(readLog(gateway).some(({ event }) => event === 'cleanup_exceeded'))
})
