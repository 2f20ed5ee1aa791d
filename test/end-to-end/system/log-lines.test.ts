// The access lines of special requests: those that reach no route, those that fail, and those that belong to a
// client's trace (operations contract, sections 3.1, 3.6, 7.3, 7.4 and 12; decision 59).

import t from 'tap'
import { get, lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { openConnection } from '../../worker/http/support.ts'
import { askIn, families } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_ACCESS_LOG: 'true', UPSTREAM_FIRST_BYTE_TIMEOUT: '2' }
})
const port = Number(new URL(gateway.url).port)

/** The access line of a request, once it is written. */
async function lineOf(requestId: string | null | undefined): Promise<Record<string, unknown>> {
  const find = () => readLog(gateway).filter(line => line.event === 'http_access' && line.request_id === requestId)
  await waitUntil(() => find().length > 0, `${requestId} has its line`)
  const [line = {}, ...more] = find()
  t.same(more, [], 'one line per request')
  return line
}

/** Sends bytes on a new connection; resolves with the id of the response and its complete text. */
async function sendBytes(bytes: string): Promise<{ id: string; text: string }> {
  const { socket, closed, received } = await openConnection(t, port)
  socket.write(bytes)
  await closed
  const text = received()
  return { id: /x-request-id: ([0-9a-f-]{36})/.exec(text)?.[1] ?? '', text }
}

t.test('input that is not an HTTP request has a line with the id and the status of its response', async t => {
  for (const [bytes, status] of [
    ['no request\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nhost: a\r\nx-large: ${'a'.repeat(32 * 1024)}\r\n\r\n`, 431]
  ] as const) {
    const { id, text } = await sendBytes(bytes)
    t.ok(text.startsWith(`HTTP/1.1 ${status} `))
    const line = await lineOf(id)
    t.match(line, { status, error_type: `http_${status}`, lifecycle: 'request_error' })
    t.match(line, { route: 'unmatched', protocol: 'system', method: 'OTHER', path: '' })
    t.equal(line.bytes, Buffer.byteLength(text))
  }
})

t.test('a malformed body is recorded in the line of its request', async t => {
  const { id, text } = await sendBytes(
    'POST /v1/messages HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nno chunk\r\n'
  )
  t.ok(text.startsWith('HTTP/1.1 400 '))
  t.match(await lineOf(id), { status: 400, error_type: 'http_400', method: 'POST', path: '/v1/messages' })
})

t.test('refused requests have the route of their path in their line', async t => {
  for (const [response, wanted] of [
    [await get(`${gateway.url}/v1beta/models/x:countTokens`), ['/v1beta/models/{model}:countTokens', 'gemini', 404]],
    [await get(`${gateway.url}/v2/chat/completions`), ['/v2/chat/completions', 'openai', 405]],
    [await post(`${gateway.url}/v1/model/info`, {}), ['/v1/model/info', 'litellm', 405]],
    [await post(`${gateway.url}/v1/nope`, {}), ['unmatched', 'system', 404]]
  ] as const) {
    const [route, protocol, status] = wanted
    const line = await lineOf(response.headers.get('x-request-id'))
    t.match(line, { route, protocol, status, error_type: `http_${status}` }, route)
  }
})

t.test(
  'the line of a failed request names the error type, and the failed upstream call has one line with the same type',
  async t => {
    for (const [prompt, errorType, isStream, status] of [
      ['[[error:429]]', 'http_429', false, 429],
      ['[[error:520]]', 'http_520', false, 500],
      ['[[die:0]]', 'connect_error', false, 502],
      ['[[badjson]]', 'protocol_error', false, 502],
      ['[[hang]]', 'timeout', false, 504],
      ['[[chunks:a|b]][[errframe:503 message=m]]', 'http_503', true, 200],
      ['[[chunks:a|b]][[noeof]]', 'protocol_error', true, 200],
      ['[[chunks:a|b]][[die:1]]', 'connect_error', true, 200]
    ] as const) {
      for (const family of isStream ? families : (['completions'] as const)) {
        const response = await askIn(gateway, family, prompt, { stream: isStream })
        const id = response.headers.get('x-request-id')
        const lifecycle = isStream ? 'streaming_aborted' : 'request_error'
        t.match(await lineOf(id), { status, lifecycle, error_type: errorType }, `${family} ${prompt}`)
        const failed = readLog(gateway).filter(line => line.event === 'upstream_call_failed' && line.request_id === id)
        t.match(failed, [{ error_type: errorType, operation: 'chat' }], `${family} ${prompt}`)
        t.equal(failed.length, 1, `${family} ${prompt}`)
      }
    }
  }
)

t.test('the trace id of a line is that of the traceparent which the upstream receives', async t => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`
  const traced = await askIn(gateway, 'completions', 'hi', { headers: { traceparent } })
  t.equal(lastUpstreamChat(emulator).headers.traceparent, traceparent)
  t.equal((await lineOf(traced.headers.get('x-request-id'))).trace_id, traceId)

  const untraced = await askIn(gateway, 'completions', 'hi')
  const sent = String(lastUpstreamChat(emulator).headers.traceparent)
  const line = await lineOf(untraced.headers.get('x-request-id'))
  t.equal(String(line.trace_id).replaceAll('-', ''), sent.split('-')[1])

  const named = await askIn(gateway, 'completions', 'hi', { headers: { traceparent, 'x-trace-id': 'mine' } })
  t.equal((await lineOf(named.headers.get('x-request-id'))).trace_id, 'mine')
})
