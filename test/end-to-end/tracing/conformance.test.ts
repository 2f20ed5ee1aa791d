// Spans as a collector receives them from a started gateway (operations.md 11).

import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import t, { type Test } from 'tap'
import { get, lastUpstreamChat } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import type { ReceivedSpan } from '../../support/otlp/decode.ts'
import { absentCollector } from '../../support/otlp/receiver.ts'
import { lastReceived } from '../../support/upstream.ts'
import { askIn, bodyOf, families, openStream, urlOf } from '../system/support.ts'
import { startTracedGateway, tracingVariables } from './support.ts'

const gateway = await startTracedGateway(t)
const { emulator, receiver } = gateway

t.test('operations 99: a chat makes exactly one span, without content', async t => {
  const beforeMs = Date.now()
  const response = await askIn(gateway, 'completions', 'a question of this test alone')
  t.equal(response.status, 200)
  const [span, ...children] = await gateway.spansOf(response)
  const id = response.headers.get('x-request-id')
  t.equal(receiver.spans.filter(({ attributes }) => attributes.request_id === id).length, 1)
  t.equal(receiver.spans.filter(({ name }) => name === 'Chat-Completions').length, 1)
  t.match(span, {
    name: 'Chat-Completions',
    kind: 'SERVER',
    parentSpanId: undefined,
    status: { code: 'OK', message: '' },
    attributes: {
      'gateway.api_format': 'chat_completions',
      status: 'OK',
      'llm.response.status': 'OK',
      'otel.status_code': 'OK',
      'llm.token_count.prompt': response.json.usage.prompt_tokens,
      'llm.token_count.completion': response.json.usage.completion_tokens,
      'llm.token_count.total': response.json.usage.total_tokens,
      input_tokens: response.json.usage.prompt_tokens,
      output_tokens: response.json.usage.completion_tokens,
      total_tokens: response.json.usage.total_tokens
    }
  })
  t.notOk('input.value' in (span?.attributes ?? {}))
  t.notMatch(JSON.stringify(receiver.spans, writeBigInt), /a question of this test alone/)
  t.same(
    children.map(({ name, kind }) => [name, kind]),
    [['chat GigaChat-2', 'CLIENT']]
  )

  // It begins when the request came, before the provider was asked, and lasts as long as the request.
  const startMs = Number(span?.startNs) / 1e6
  t.ok(startMs >= beforeMs - 1 && startMs <= lastReceived(emulator, '/chat/completions').receivedAtMs + 1)
  t.ok(children.every(({ startNs, endNs }) => startNs >= (span?.startNs ?? 0n) && endNs <= (span?.endNs ?? 0n)))
  const durationMs = Number((span?.endNs ?? 0n) - (span?.startNs ?? 0n)) / 1e6
  t.ok(Math.abs(durationMs - Number(span?.attributes.latency_ms)) < 0.01, 'latency_ms is its duration')
})

t.test('operations 100: a failed chat makes one span that says so', async t => {
  emulator.failNext({ path: '/chat/completions', times: 10, status: 500 })
  const failed = await askIn(gateway, 'completions', 'hi')
  emulator.reset()
  t.equal(failed.status, 500)
  const [span] = await gateway.spansOf(failed)
  const failedId = failed.headers.get('x-request-id')
  t.equal(receiver.spans.filter(({ attributes }) => attributes.request_id === failedId).length, 1)
  t.match(span, {
    name: 'Chat-Completions',
    status: { code: 'ERROR', message: /\w/ },
    attributes: { status: 'ERROR', status_code: 500, 'otel.status_code': 'ERROR', error_type: 'http_500' }
  })

  const unknown = await get(`${gateway.url}/nope`)
  t.equal(unknown.status, 404)
  const spans = await gateway.spansOf(unknown)
  t.equal(spans.length, 1, 'nothing was called')
  t.match(spans[0], {
    name: 'gateway.request',
    kind: 'SERVER',
    status: { code: 'ERROR' },
    attributes: { status: 'ERROR', status_code: 404, route: 'unmatched', protocol: 'system' }
  })
})

t.test('operations 101: message capture needs both switches and is redacted and cut', async t => {
  const question = `password=hunter2 and Bearer abc.def then ${'long '.repeat(4000)}`
  const half = await startTracedGateway(t, { env: { GATEWAY_OBSERVABILITY_CAPTURE_MESSAGES: 'true' } })
  const [without] = await half.spansOf(await askIn(half, 'completions', question))
  t.same(messageAttributes(without), [])
  t.notMatch(JSON.stringify(without, writeBigInt), /long long/)

  const both = await startTracedGateway(t, {
    env: { GATEWAY_OBSERVABILITY_CAPTURE_CONTENT: 'true', GATEWAY_OBSERVABILITY_CAPTURE_MESSAGES: 'true' }
  })
  const [cut] = await both.spansOf(await askIn(both, 'completions', question))
  const value = String(cut?.attributes['input.value'])
  t.match(value, /password=\*\*\*/)
  t.match(value, /Bearer \*\*\*/)
  t.notMatch(JSON.stringify(cut, writeBigInt), /hunter2|abc\.def/)
  t.ok(value.length <= 8000 && value.endsWith('...[truncated]'), `${value.length} characters`)

  const [whole] = await both.spansOf(await askIn(both, 'messages', 'short'))
  t.match(whole?.attributes['input.value'], /short/)
  t.notMatch(whole?.attributes['input.value'], /truncated/)
})

t.test('operations 102: tool calls appear by name, arguments only with their switch', async t => {
  const tools = [
    {
      type: 'function',
      function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }
    }
  ]
  const ask = (to: { url: string }) =>
    askIn(to, 'completions', '[[tool:get_weather {"city":"Reykjavik"}]]', { more: { tools } })
  const response = await ask(gateway)
  t.equal(response.json.choices[0].message.tool_calls[0].function.name, 'get_weather')
  const [span] = await gateway.spansOf(response)
  t.same(span?.attributes['llm.tool_calls.names'], ['get_weather'])
  const events = span?.events.filter(({ name }) => name === 'llm.tool_call') ?? []
  t.equal(events.length, 1)
  t.match(events[0]?.attributes, {
    'llm.tool_call.index': 0,
    'llm.tool_call.name': 'get_weather',
    'llm.tool_call.id': String,
    'llm.tool_call.source': 'response.message'
  })
  t.notMatch(JSON.stringify(span, writeBigInt), /Reykjavik/)

  const capturing = await startTracedGateway(t, {
    env: { GATEWAY_OBSERVABILITY_CAPTURE_CONTENT: 'true', GATEWAY_OBSERVABILITY_CAPTURE_TOOL_ARGS: 'true' }
  })
  const [captured] = await capturing.spansOf(await ask(capturing))
  t.match(captured?.attributes['llm.tool_calls'], /Reykjavik/)
  t.match(captured?.attributes['llm.tools'], /get_weather/)
  const [event] = captured?.events.filter(({ name }) => name === 'llm.tool_call') ?? []
  t.match(event?.attributes['llm.tool_calls'], /Reykjavik/)
})

t.test('operations 103: tracing that is off or unreachable changes nothing for requests', async t => {
  await t.test('the sample rate 0 makes no span', async t => {
    const silent = await startTracedGateway(t, { env: { GATEWAY_OBSERVABILITY_SAMPLE_RATE: '0' } })
    for (const family of families) t.equal((await askIn(silent, family, 'hi')).status, 200)
    t.equal((await get(`${silent.url}/nope`)).status, 404)
    t.equal(await silent.stop(), 0)
    t.same(silent.receiver.exports, [], 'nothing was exported, at the end neither')
  })
  for (const transport of ['grpc', 'http'] as const) {
    await t.test(`a collector that is down, over ${transport}`, async t => {
      const own = await startEmulator(t)
      const traced = await startGateway(t, {
        env: { ...emulatorVariables(own), ...tracingVariables(await absentCollector(), transport) }
      })
      await expectService(t, traced)
      // The supervisor kills what does not end within the drain time and five seconds, and then exits with another code.
      t.equal(await traced.stop(), 0)
      const events = new Set(readLog(traced).map(({ event }) => event))
      t.ok(events.has('trace_spans_dropped'))
      t.notOk(events.has('cleanup_exceeded'))
    })
    await t.test(`a collector that refuses, and one that hangs, over ${transport}`, async t => {
      const traced = await startTracedGateway(t, { transport })
      const collector = traced.receiver
      for (const behaviour of [401, 429, 503, 'hang'] as const) {
        const seen = collector.exports.length
        collector.behaviour = behaviour
        await expectService(t, traced)
        await collector.until(({ exports }) => exports.length > seen)
      }
      await expectService(t, traced)
      t.equal(await traced.stop(), 0)
      const events = new Set(readLog(traced).map(({ event }) => event))
      t.ok(events.has('trace_spans_dropped'))
      t.notOk(events.has('cleanup_exceeded'))
    })
  }
})

t.test('operations 104: callers are told apart by their headers', async t => {
  const cases: Array<[headers: Record<string, string>, expected: Record<string, string>]> = [
    [{ 'user-agent': 'OpenAI/Python 1.0' }, { name: 'openai-python', category: 'sdk', client_family: 'openai' }],
    [{ 'user-agent': 'codex_cli_rs/0.4' }, { name: 'codex', category: 'agent' }],
    [
      { 'user-agent': 'Mozilla/5.0', referer: 'http://gateway.test/docs' },
      { name: 'swagger-ui', category: 'ui', ui: 'swagger' }
    ],
    [{ 'user-agent': 'curl/8' }, { name: 'curl', category: 'http_client' }],
    [{}, { name: 'unknown', category: 'unknown' }]
  ]
  for (const [headers, expected] of cases) {
    const [span] = await gateway.spansOf(
      await postRaw(urlOf(gateway, 'completions'), bodyOf('completions', 'hi'), headers)
    )
    for (const [member, value] of Object.entries(expected)) {
      t.equal(span?.attributes[`caller.${member}`], value, `${JSON.stringify(headers)} ${member}`)
    }
    const { caller } = JSON.parse(String(span?.attributes.annotations))
    t.match(caller, expected)
  }
})

t.test('operations 105: a trace context of the client is continued', async t => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const parentSpanId = '00f067aa0ba902b7'
  const headers = { traceparent: `00-${traceId}-${parentSpanId}-01`, tracestate: 'vendor=1,other=x' }
  for (const family of families) {
    const response = await askIn(gateway, family, 'hi', { headers })
    const [server, client] = await gateway.spansOf(response)
    t.match(server, { traceId, parentSpanId, traceState: headers.tracestate }, family)
    t.match(client, { traceId, parentSpanId: server?.spanId, kind: 'CLIENT' }, family)
    const received = lastUpstreamChat(emulator).headers
    t.equal(received.traceparent, `00-${traceId}-${client?.spanId}-01`, family)
    t.equal(received.tracestate, headers.tracestate)
  }

  await t.test('without one, the request id is the trace id', async t => {
    for (const traceparent of [undefined, 'broken', `00-${'0'.repeat(32)}-${parentSpanId}-01`]) {
      const given = { ...(traceparent && { traceparent, tracestate: 'vendor=1' }) }
      const response = await askIn(gateway, 'completions', 'hi', { headers: given })
      const [server, client] = await gateway.spansOf(response)
      const requestId = String(response.headers.get('x-request-id'))
      t.match(server, { traceId: requestId.replaceAll('-', ''), parentSpanId: undefined, traceState: '' })
      const received = lastUpstreamChat(emulator).headers
      t.equal(received.traceparent, `00-${server?.traceId}-${client?.spanId}-01`)
      t.equal(received.tracestate, undefined, 'it belongs to the traceparent')
    }
  })

  await t.test('the headers of the body do not replace it', async t => {
    const more = { extra_headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } }
    const [server] = await gateway.spansOf(await askIn(gateway, 'completions', 'hi', { headers, more }))
    t.equal(server?.traceId, traceId)
    t.match(lastUpstreamChat(emulator).headers.traceparent, new RegExp(`^00-${traceId}-`))
  })
})

/** Whole and streamed requests of every family succeed. */
async function expectService(t: Test, served: { url: string }): Promise<void> {
  for (const family of families) {
    t.equal((await askIn(served, family, 'hi')).status, 200, family)
    t.equal((await askIn(served, family, 'hi', { stream: true })).status, 200, family)
  }
  const aborted = new AbortController()
  await openStream(served, 'completions', '[[tick:20]][[len:1000]]', { signal: aborted.signal })
  aborted.abort()
}

/** The names of attributes that hold messages. */
function messageAttributes(span: ReceivedSpan | undefined): string[] {
  return Object.keys(span?.attributes ?? {}).filter(name =>
    /^(input\.|llm\.input_messages$|messages|prompt)/.test(name)
  )
}

function writeBigInt(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** Sends JSON with these headers only: `fetch` would add its user agent. */
async function postRaw(url: string, body: object, headers: Record<string, string>): Promise<{ headers: Headers }> {
  const sent = request(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers } })
  sent.end(JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return { headers: new Headers({ 'x-request-id': String(response.headers['x-request-id']) }) }
}
