// The access lines of special requests: those that reach no route, those that fail, and those that
// belong to a client's trace (operations.md 3.1, 3.6, 7.3, 7.4 and 12; decisions.md 59).

import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { get, type HttpResponse, lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { whyWithout } from '../../support/programs.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { openConnection } from '../../worker/http/support.ts'
import { askIn, bodyOf, families } from './support.ts'

const emulator = await startEmulator(t)
const folder = createTemporaryFolder(t)
const logFile = join(folder, 'gateway.log')
// An earlier run lost the end of its last line.
writeFileSync(logFile, '{"event":"earlier_run"}')
const gateway = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    GATEWAY_LOG_FILENAME: logFile,
    GATEWAY_ACCESS_LOG: 'true',
    UPSTREAM_FIRST_BYTE_TIMEOUT: '2',
    GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: '2'
  }
})
const port = Number(new URL(gateway.url).port)

/** The access line of a request, once it is written. */
async function lineOf(requestId: string | null | undefined): Promise<Record<string, unknown>> {
  const find = () => readLog({ folder }).filter(line => line.event === 'http_access' && line.request_id === requestId)
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
    [`GET / HTTP/1.1\r\nhost: localhost\r\nx-large: ${'a'.repeat(32 * 1024)}\r\n\r\n`, 431]
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
    'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nno chunk\r\n'
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

/** Checks that the request of a response has an access line and one line of its failed upstream call, both with this error type. */
async function expectFailure(
  t: Test,
  response: HttpResponse,
  expected: { operation: string; errorType: string; status: number; lifecycle: string },
  name: string
): Promise<void> {
  const { operation, errorType, status, lifecycle } = expected
  const id = response.headers.get('x-request-id')
  t.equal(response.status, status, name)
  t.match(await lineOf(id), { status, lifecycle, error_type: errorType }, name)
  const failed = readLog({ folder }).filter(line => line.event === 'upstream_call_failed' && line.request_id === id)
  t.equal(failed.length, 1, name)
  t.match(failed, [{ error_type: errorType, operation }], name)
}

const everywhere = families.flatMap(family => (['/v1', '/v2'] as const).map(prefix => ({ family, prefix })))

for (const [prompt, errorType, stream, status] of [
  ['[[error:429]]', 'http_429', false, 429],
  ['[[error:520]]', 'http_520', false, 500],
  ['[[error:429]]', 'http_429', true, 429],
  ['[[die:0]]', 'connect_error', false, 502],
  ['[[die:0]]', 'connect_error', true, 502],
  ['[[badjson]]', 'protocol_error', false, 502],
  ['[[ctype:text/html]]', 'protocol_error', true, 502],
  ['[[hang]]', 'timeout', false, 504],
  ['[[hang:0]]', 'timeout', true, 504],
  ['[[finish:error]]', 'http_500', false, 500],
  ['[[chunks:a|b]][[finish:error]]', 'http_500', true, 200],
  ['[[chunks:a|b]][[errframe:503 message=m]]', 'http_503', true, 200],
  ['[[chunks:a|b]][[badframe]]', 'protocol_error', true, 200],
  ['[[chunks:a|b]][[noeof]]', 'protocol_error', true, 200],
  ['[[chunks:a|b]][[die:1]]', 'connect_error', true, 200],
  ['[[chunks:a|b]][[hang:1]]', 'timeout', true, 200]
] as const) {
  t.test(`decisions.md 59: ${prompt}${stream ? ', streamed,' : ''} has one line and an error type`, async t => {
    const lifecycle = status === 200 ? 'streaming_aborted' : 'request_error'
    await Promise.all(
      everywhere.map(async ({ family, prefix }) => {
        const query = family === 'content' && stream ? '?alt=sse' : ''
        const response = await askIn(gateway, family, prompt, { stream, prefix, query })
        const expected = { operation: 'chat', errorType, status, lifecycle }
        await expectFailure(t, response, expected, `${prefix} ${family} ${prompt}`)
      })
    )
  })
}

t.test('decisions.md 59: an error that is the first frame of a stream has one line and an error type', async t => {
  for (const { family, prefix } of everywhere) {
    for (const frame of [
      'data: {"status":503,"message":"m"}',
      'event: response.error\ndata: {"status":503,"message":"m"}'
    ]) {
      emulator.respondNext({ chunks: [`${frame}\n\n`], headers: { 'content-type': 'text/event-stream' } })
      const response = await askIn(gateway, family, 'hi', { stream: true, prefix })
      const expected = { operation: 'chat', errorType: 'http_503', status: 503, lifecycle: 'request_error' }
      await expectFailure(t, response, expected, `${prefix} ${family} ${frame}`)
    }
  }
})

t.test('decisions.md 59: a failed call that is no chat has one line and an error type', async t => {
  const lifecycle = 'request_error'
  for (const [path, operation, send] of [
    ['/embeddings', 'embeddings', () => post(`${gateway.url}/v1/embeddings`, { input: 'x' })],
    ['/tokens/count', 'tokens', () => post(`${gateway.url}/v1/messages/count_tokens`, bodyOf('messages', 'x'))]
  ] as const) {
    emulator.failNext({ path, times: 1, status: 503 })
    await expectFailure(t, await send(), { operation, errorType: 'http_503', status: 503, lifecycle }, path)
    emulator.respondNext({ path, body: '{"nothing":"usable"}' })
    await expectFailure(t, await send(), { operation, errorType: 'protocol_error', status: 502, lifecycle }, path)
  }
})

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

t.test('a last line that an earlier run left incomplete is ended before the first line of this one', async t => {
  t.match(readLog({ folder })[0], { event: 'earlier_run' })
})

t.test(
  'a line that a full disk cut off is ended before the next line of its process or of another one',
  { skip: whyWithout('prlimit') },
  async t => {
    const ask = async () => (await askIn(gateway, 'completions', 'hi')).headers.get('x-request-id')
    /** Cuts off the next line of the worker, lets something else be logged, and returns the lines after the one that was cut. */
    async function logAfterCut(logNext: (workerPid: number) => Promise<string>) {
      const { pid } = await lineOf(await ask())
      const limitLog = (bytes: number | 'unlimited') =>
        execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`])
      const { size } = statSync(logFile)
      limitLog(size + 100)
      await ask()
      await waitUntil(() => statSync(logFile).size === size + 100, 'the line is cut off')
      limitLog('unlimited')
      const expected = await logNext(Number(pid))
      const read = () => readFileSync(logFile).subarray(size).toString()
      await waitUntil(() => read().includes(expected), 'the next line is written')
      const [cut = '', ...next] = read().trimEnd().split('\n')
      t.equal(cut.length, 100)
      return next.map(text => JSON.parse(text))
    }

    const lines = await logAfterCut(async () => `"request_id":"${await ask()}"`)
    t.equal(lines[0].event, 'http_access')
    writeFileSync(logFile, '')
    const [exit] = await logAfterCut(async workerPid => {
      process.kill(workerPid, 'SIGKILL')
      return '"event":"worker_exited"'
    })
    t.match(exit, { event: 'worker_exited' }, 'the supervisor had no failed write of its own')
  }
)
