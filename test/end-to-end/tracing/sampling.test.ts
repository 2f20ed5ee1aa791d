// Which requests are exported, and what the upstream, the log and the metrics learn of it
// (operations.md 11.6).

import t from 'tap'
import { get, lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator } from '../../support/in-process-gateway.ts'
import { startOtlpReceiver } from '../../support/otlp/receiver.ts'
import { waitUntil } from '../../support/processes.ts'
import { chatBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { lastReceived } from '../../support/upstream.ts'
import { askIn } from '../system/support.ts'
import { spansOf, startTracedGateway, tracingVariables } from './support.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentSpanId = '00f067aa0ba902b7'

/** For the cases that need no settings of their own. */
const shared = await startTracedGateway(t, { env: { GATEWAY_ACCESS_LOG: 'true' } })

t.test(
  'a small sample: the head decides for all spans of a request, and failures are exported all the same',
  async t => {
    const gateway = await startTracedGateway(t, {
      env: { GATEWAY_OBSERVABILITY_SAMPLE_RATE: '0.000001', GATEWAY_ACCESS_LOG: 'true' }
    })
    const { emulator, receiver } = gateway
    const quiet = await askIn(gateway, 'completions', 'hi')
    t.match(lastUpstreamChat(emulator).headers.traceparent, /-00$/, 'the upstream is told the truth')
    t.equal((await askIn(gateway, 'messages', 'hi', { stream: true })).status, 200)

    // The client's decision goes before the ratio, either way.
    const headers = { traceparent: `00-${traceId}-${parentSpanId}-01` }
    const [wanted] = await gateway.spansOf(await askIn(gateway, 'completions', 'hi', { headers }))
    t.match(wanted, { name: 'Chat-Completions', traceId, parentSpanId, attributes: { 'llm.input_messages.count': 1 } })
    t.match(lastUpstreamChat(emulator).headers.traceparent, /-01$/)

    emulator.failNext({ path: '/chat/completions', times: 10, status: 503 })
    const failed = await askIn(gateway, 'completions', 'hi')
    const failedHeader = lastUpstreamChat(emulator).headers.traceparent
    emulator.reset()
    t.equal(failed.status, 503)
    const [server, client] = await gateway.spansOf(failed)
    t.match(server, { name: 'Chat-Completions', status: { code: 'ERROR' }, attributes: { status_code: 503 } })
    t.match(client, { kind: 'CLIENT', status: { code: 'ERROR' }, attributes: { 'http.response.status_code': 503 } })
    t.equal(failedHeader, `00-${server?.traceId}-${client?.spanId}-00`)

    t.equal(await gateway.stop(), 0)
    const ids = receiver.spans.flatMap(({ attributes }) => attributes.request_id ?? [])
    t.notOk(ids.includes(String(quiet.headers.get('x-request-id'))), 'the others were not exported')
    t.equal(ids.length, 2)
  }
)

t.test('a client that does not record its trace is not recorded here, except its failures', async t => {
  const gateway = await startTracedGateway(t)
  const headers = { traceparent: `00-${traceId}-${parentSpanId}-00` }
  t.equal((await askIn(gateway, 'completions', 'hi', { headers })).status, 200)
  t.match(lastUpstreamChat(gateway.emulator).headers.traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
  const refused = await post(`${gateway.url}/v1/chat/completions`, '{', headers)
  t.equal(refused.status, 400)
  await gateway.spansOf(refused)
  await gateway.stop()
  t.equal(gateway.receiver.spans.length, 1)
})

t.test('the lines of a request name its span', async t => {
  const { emulator } = shared
  async function linesOf(response: { headers: Headers }) {
    const id = response.headers.get('x-request-id')
    const find = () => readLog(shared).filter(line => line.request_id === id)
    await waitUntil(() => find().some(({ event }) => event === 'http_access'), `${id} has its line`)
    return find()
  }

  const plain = await askIn(shared, 'completions', 'hi')
  const [span] = await shared.spansOf(plain)
  t.match(await linesOf(plain), [
    { trace_id: span?.traceId, span_id: span?.spanId, otel_trace_id: span?.traceId, otel_span_id: span?.spanId }
  ])

  emulator.failNext({ path: '/chat/completions', times: 10, status: 500 })
  const headers = { 'x-trace-id': 'mine', 'x-span-id': 'my-span' }
  const named = await askIn(shared, 'completions', 'hi', { headers })
  emulator.reset()
  const [failed] = await shared.spansOf(named)
  const lines = await linesOf(named)
  t.ok(lines.length > 1, 'the failure of the upstream has a line as well')
  for (const line of lines) {
    t.match(line, {
      trace_id: 'mine',
      span_id: 'my-span',
      otel_trace_id: failed?.traceId,
      otel_span_id: failed?.spanId
    })
  }
  t.match(failed?.attributes, { trace_id: 'mine', span_id: 'my-span' })
  t.same(failed?.links, [], 'these are no ids of OpenTelemetry')
})

t.test('a span that the client names in its own headers is linked, unless it is the parent', async t => {
  const own = { 'x-trace-id': traceId, 'x-span-id': parentSpanId }
  const [linked] = await shared.spansOf(await askIn(shared, 'completions', 'hi', { headers: own }))
  t.match(linked?.links, [{ traceId, spanId: parentSpanId }])
  t.not(linked?.traceId, traceId)
  const parent = { ...own, traceparent: `00-${traceId}-${parentSpanId}-01` }
  const [child] = await shared.spansOf(await askIn(shared, 'completions', 'hi', { headers: parent }))
  t.match(child, { traceId, parentSpanId, links: [] })
})

t.test('calls other than chats have their span of the provider too', async t => {
  const { emulator } = shared
  const counted = await post(`${shared.url}/v1/messages/count_tokens`, {
    model: 'GigaChat-2',
    messages: [{ role: 'user', content: 'x' }]
  })
  t.equal(counted.status, 200)
  const [server, client] = await shared.spansOf(counted)
  t.match(server, { name: 'gateway.request', attributes: { route: '/v1/messages/count_tokens' } })
  t.match(client, { name: 'tokens GigaChat-2', kind: 'CLIENT', attributes: { 'server.address': '127.0.0.1' } })
  const received = lastReceived(emulator, '/tokens/count').headers.traceparent
  t.equal(received, `00-${server?.traceId}-${client?.spanId}-01`)
})

t.test('an external provider learns nothing of the trace; its call has a span all the same', async t => {
  const emulator = await startEmulator(t)
  const receiver = await startOtlpReceiver(t, 'grpc')
  const profile = writeChatProfile({ id: 'p1', baseUrl: chatBaseUrl(emulator), aliases: [{ alias: 'outside' }] })
  const gateway = await startProfileGateway(t, {
    profiles: [profile],
    env: { ...emulatorVariables(emulator), ...tracingVariables(receiver.url, 'grpc') }
  })
  const headers = { traceparent: `00-${traceId}-${parentSpanId}-01`, tracestate: 'vendor=1' }
  const response = await askIn(gateway, 'completions', 'hi', { model: 'outside', headers })
  t.equal(response.status, 200)
  const [server, client] = await spansOf(receiver, response.headers.get('x-request-id'))
  t.match(server, { name: 'Chat-Completions', traceId, parentSpanId })
  t.match(client, {
    name: 'chat emulator-large',
    kind: 'CLIENT',
    attributes: { 'gen_ai.request.model': 'emulator-large' }
  })
  const received = lastUpstreamChat(emulator).headers
  t.equal(received.traceparent, undefined)
  t.equal(received.tracestate, undefined)
})

t.test('exported and dropped spans are counted in the metrics', async t => {
  const gateway = await startTracedGateway(t, { transport: 'http', env: { GATEWAY_METRICS_ENABLED: 'true' } })
  const { receiver } = gateway
  const count = async (series: string): Promise<number> => {
    const { text } = await get(`${gateway.url}/metrics`)
    return Number(new RegExp(`^${series} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  }
  await gateway.spansOf(await askIn(gateway, 'completions', 'hi'))
  await waitUntil(async () => (await count('gateway_trace_spans_total')) >= 2, 'the spans of the chat are counted')
  receiver.behaviour = 401
  t.equal((await askIn(gateway, 'completions', 'hi')).status, 200)
  await waitUntil(async () => (await count('gateway_trace_spans_dropped_total')) >= 2, 'what is refused is counted')
})

t.test('without a usable exporter the gateway serves untraced and says so', async t => {
  const gateway = await startTracedGateway(t, { env: { OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/ca.pem' } })
  t.equal((await askIn(gateway, 'completions', 'hi')).status, 200)
  t.equal(await gateway.stop(), 0)
  // A worker gathers its lines for a moment.
  t.match(
    readLog(gateway).filter(({ event }) => event === 'tracing_unavailable'),
    [{ level: 'WARNING', msg: 'Tracing is off, because its exporter could not be created' }]
  )
  t.same(gateway.receiver.exports, [])
})
