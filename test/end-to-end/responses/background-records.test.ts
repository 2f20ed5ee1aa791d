// What observers show of a response in the background: one request, with the duration and the end of its run (operations.md 3.6).

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { scrapeUntil } from '../../support/metrics.ts'
import { waitUntil } from '../../support/processes.ts'
import { startRecordedGateway } from '../../support/recorded-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const ROUTE = '/v2/responses'
const gateway = await startRecordedGateway(t, {
  env: {
    GATEWAY_RESPONSES_STORE_DSN: `sqlite:${createTemporaryFolder(t, 'responses-')}/responses.sqlite`,
    GATEWAY_ACCESS_LOG: 'true',
    GATEWAY_METRICS_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true'
  }
})

const create = (body: object) => post(`${gateway.url}${ROUTE}`, { model: 'GigaChat-2', background: true, ...body })

/** The access lines of the request of this response. */
function linesOf({ headers }: { headers: Headers }): Array<Record<string, unknown>> {
  const id = headers.get('x-request-id')
  return readLog(gateway).filter(line => line.event === 'http_access' && line.request_id === id)
}

t.test('a run has one record, one line and one count, with its own duration and tokens', async t => {
  const started = performance.now()
  const answer = await create({ input: '[[tick:50]][[len:20]][[usage:11,22,0]]' })
  const answeredMs = performance.now() - started
  const record = await gateway.recordOf(answer)
  const durationMs = Number(record.latency_ms)
  t.ok(durationMs >= 900 && durationMs > answeredMs, `${durationMs} ms for a run, answered after ${answeredMs} ms`)
  t.match(record, {
    status_code: 200,
    metadata: { lifecycle: 'request_completed' },
    route: ROUTE,
    input_tokens: 11,
    output_tokens: 22,
    provider: 'native'
  })
  t.equal(record.error_type, undefined)
  await waitUntil(() => linesOf(answer).length > 0, 'its line is there')
  const [line, ...others] = linesOf(answer)
  t.same(others, [])
  t.match(line, { status: 200, lifecycle: 'request_completed', input_tokens: 11, output_tokens: 22 })
  t.ok(Number(line?.latency_ms) >= 900)
  await sleep(50)
  const id = answer.headers.get('x-request-id')
  t.equal(gateway.records().filter(({ request_id: other }) => other === id).length, 1)
})

t.test('a stream that its client leaves has the end of its run', async t => {
  const leave = new AbortController()
  const stream = await fetch(`${gateway.url}${ROUTE}`, {
    method: 'POST',
    body: JSON.stringify({
      model: 'GigaChat-2',
      background: true,
      stream: true,
      input: '[[tick:50]][[len:10]]'
    }),
    signal: leave.signal
  })
  await stream.body?.getReader().read()
  leave.abort()
  const record = await gateway.recordOf(stream)
  t.match(record, { status_code: 200, metadata: { lifecycle: 'streaming_completed' } })
})

t.test('failed and cancelled runs say so', async t => {
  const failed = await create({ input: '[[error:500]]' })
  t.match(await gateway.recordOf(failed), {
    status_code: 200,
    metadata: { lifecycle: 'request_error' },
    error_type: 'http_500'
  })
  const running = await create({ input: '[[len:9]][[hang:5]]' })
  await waitUntil(async () => {
    const { json } = await get(`${gateway.url}${ROUTE}/${running.json.id}`)
    return json.status === 'in_progress'
  }, 'it runs')
  const { json } = await post(`${gateway.url}${ROUTE}/${running.json.id}/cancel`, {})
  t.equal(json.status, 'cancelled')
  t.match(await gateway.recordOf(running), {
    status_code: 499,
    metadata: { lifecycle: 'request_aborted' },
    error_type: 'request_cancelled'
  })
})

t.test('each run counts once', async t => {
  const count = (lifecycle: string) => ({ route: ROUTE, lifecycle })
  const metrics = await scrapeUntil(
    gateway,
    found => found.sum('gateway_requests_total', { route: ROUTE }) >= 4,
    'all are counted'
  )
  for (const lifecycle of ['request_completed', 'streaming_completed', 'request_error', 'request_aborted']) {
    t.equal(metrics.sum('gateway_requests_total', count(lifecycle)), 1, lifecycle)
  }
})
