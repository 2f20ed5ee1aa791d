import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { GatewayError, type NormalizedResponse } from '../../../../worker/normalized/index.ts'
import type { UpstreamCallReport } from '../../../../worker/providers/types.ts'
import { readsInline } from '../support/large-responses.ts'
import { chatCall, contextOf, createSink, emulatorEnv, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

function textOfResponse(response: NormalizedResponse): string {
  return response.items.map(item => (item.type === 'text' ? item.text : '')).join('')
}

t.test('a chat goes to the path of its API mode with the headers of the contract', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const context = contextOf({
    headers: ['X-Session-ID', 's1', 'x-custom', 'c1']
  })
  for (const [apiMode, path] of [
    ['v1', '/api/v1/chat/completions'],
    ['v2', '/api/v2/chat/completions']
  ] as const) {
    const response = await executor.complete(chatCall('[[text:Hello]]', { apiMode }), context)
    t.equal(textOfResponse(response), 'Hello')
    t.equal(response.finish.reason, 'stop')
    const request = emulator.requests.at(-1)
    t.equal(request?.path, path)
    t.match(request?.headers, {
      'user-agent': 'llm-gateway/1.2.3',
      'content-type': 'application/json',
      'x-session-id': 's1',
      'x-custom': 'c1',
      'x-request-id': 'r1',
      'accept-encoding': 'gzip, deflate'
    })
    t.match(request?.headers.authorization, /^Bearer /)
    t.equal(response.metadata.upstream_x_session_id, 's1')
    t.ok(response.metadata.upstream_x_request_id)
  }
})

t.test('a response that takes long to read waits for a turn of its own', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const turn = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const largeResponses = {
    ...readsInline,
    placeReading: () => 'own-turn' as const,
    ownTurn() {
      asked.resolve()
      return turn.promise
    }
  }
  const { executor } = startPool(t, emulatorEnv(emulator), { largeResponses })
  let isRead = false
  const completing = executor.complete(chatCall('[[text:Hello]]'), contextOf())
  void completing.then(() => {
    isRead = true
  })
  await asked.promise
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(isRead)
  turn.resolve()
  t.equal(textOfResponse(await completing), 'Hello')
})

t.test("the client's request id goes upstream in place of the gateway's", async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  await executor.complete(chatCall('hi'), contextOf({ headers: ['X-Request-ID', 'from-client'] }))
  t.equal(emulator.requests.at(-1)?.headers['x-request-id'], 'from-client')
})

t.test('a base URL without a version serves both API modes', async t => {
  const stub = await startStub((_request, response) =>
    sendJson(response, 200, { choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] })
  )
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: `${stub.origin}/base` })
  await executor.complete(chatCall('hi'), contextOf())
  t.equal(stub.requests[0]?.url, '/base/chat/completions')
  t.equal(stub.requests[0]?.headers.authorization, undefined)
})

t.test('a compressed response is decompressed', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end(gzipSync(JSON.stringify({ choices: [{ message: { content: 'packed' }, finish_reason: 'stop' }] })))
  })
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  t.equal(textOfResponse(await executor.complete(chatCall('hi'), contextOf())), 'packed')
})

t.test('completions 28: a stop string cuts a whole response', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const response = await executor.complete(chatCall('[[text:abENDcd]]', { stop: ['END'] }), contextOf())
  t.equal(textOfResponse(response), 'ab')
  t.match(response.finish, { reason: 'stop', stopSequence: 'END' })
  t.ok(response.usage)
})

t.test('every status of the upstream becomes its row of the table, after one request', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor, memory } = startPool(t, emulatorEnv(emulator))
  await executor.complete(chatCall('warm the token'), contextOf())
  const rows: Array<[directive: string, status: number, code: string, retryAfter?: string]> = [
    ['400', 400, 'upstream_rejected'],
    ['402', 402, 'provider_failure'],
    ['403', 403, 'upstream_forbidden'],
    ['404', 404, 'model_not_found'],
    ['409', 409, 'provider_failure'],
    ['413', 413, 'upstream_rejected'],
    ['422', 422, 'upstream_rejected'],
    ['429 retry=7', 429, 'rate_limited', '7'],
    ['500', 500, 'upstream_error'],
    ['501', 500, 'upstream_error'],
    ['502', 502, 'provider_failure'],
    ['503 retry=3', 503, 'provider_failure', '3'],
    ['504', 504, 'provider_failure'],
    ['201', 502, 'provider_protocol_error'],
    ['302', 502, 'provider_protocol_error']
  ]
  for (const [directive, status, code, retryAfter] of rows) {
    emulator.reset()
    const error = await rejection(executor.complete(chatCall(`[[error:${directive}]]`), contextOf()))
    t.ok(GatewayError.is(error), directive)
    t.match(error, { status, code }, directive)
    t.equal(error instanceof GatewayError && error.retryAfter, retryAfter, directive)
    t.notMatch(String(error), /http|127\.0\.0\.1|<html/i)
    t.equal(emulator.requests.length, 1, `${directive}: one request`)
  }
  t.notMatch(memory.text(), CREDENTIAL_TEXT)
})

const CREDENTIAL_TEXT = /c2VjcmV0|Bearer [A-Za-z0-9]/

t.test('an unusable body with status 200 is a protocol error', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  for (const kind of ['', ':empty', ':array', ':null', ':html']) {
    t.match(
      await rejection(executor.complete(chatCall(`[[badjson${kind}]]`), contextOf())),
      { code: 'provider_protocol_error', status: 502 },
      kind
    )
  }
})

t.test('an error in a body with status 200 leaves one line in the log (decisions.md 59)', async t => {
  const bodies: unknown[] = [{ status: 429, message: 'Too Many Requests' }, { choices: 'none' }]
  const stub = await startStub((_request, response) => sendJson(response, 200, bodies.shift()))
  t.teardown(() => stub.close())
  const { executor, memory } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  t.match(await rejection(executor.complete(chatCall('hi'), contextOf())), { code: 'rate_limited' })
  t.match(await rejection(executor.complete(chatCall('hi'), contextOf())), { code: 'provider_protocol_error' })
  const lines = memory.lines.filter(line => line.event === 'upstream_call_failed')
  t.match(lines, [
    { operation: 'chat', code: 'rate_limited', cause: 'upstream status 429' },
    { operation: 'chat', code: 'provider_protocol_error', error_type: 'protocol_error' }
  ])
  t.equal(lines.length, 2)
})

t.test('an upstream that cannot be reached is 502 and one that hangs is 504', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const slow = startPool(t, emulatorEnv(emulator, { UPSTREAM_FIRST_BYTE_TIMEOUT: '1' }))
  await slow.executor.complete(chatCall('warm the token'), contextOf())
  const hanging = await rejection(slow.executor.complete(chatCall('[[hang]]'), contextOf()))
  t.match(hanging, { code: 'provider_timeout', status: 504 })
  await emulator.waitFor(({ stats }) => stats.aborted === 1 && stats.activeRequests === 0)

  const died = await rejection(slow.executor.complete(chatCall('[[die:0]]'), contextOf()))
  t.match(died, { code: 'provider_failure', status: 502 })

  const closed = await startStub(() => undefined)
  await closed.close()
  const { executor, memory } = startPool(t, { UPSTREAM_BASE_URL: closed.origin })
  t.match(await rejection(executor.complete(chatCall('hi'), contextOf())), { code: 'provider_failure', status: 502 })
  t.match(
    memory.lines.find(line => line.event === 'upstream_call_failed'),
    { error_type: 'connect_error', cause: /ECONNREFUSED/ }
  )
})

t.test('retries happen only when they are switched on, and each attempt is reported', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const once = startPool(t, emulatorEnv(emulator))
  t.match(await rejection(once.executor.complete(chatCall('[[flaky:1:503]] a'), contextOf())), { status: 503 })

  const settings = { UPSTREAM_MAX_RETRIES: '2', UPSTREAM_RETRY_BACKOFF_FACTOR: '0' }
  const often = startPool(t, emulatorEnv(emulator, settings), { random: () => 0 })
  const reports: UpstreamCallReport[] = []
  await often.executor.complete(
    chatCall('[[flaky:2:503]] b'),
    contextOf({ onUpstreamCall: report => reports.push(report) })
  )
  t.same(
    reports.map(report => [report.operation, report.attempt, report.status]),
    [
      ['chat', 0, '503'],
      ['chat', 1, '503'],
      ['chat', 2, '200']
    ]
  )
  t.match(await rejection(often.executor.complete(chatCall('[[flaky:3:503]] c'), contextOf())), { status: 503 })
  emulator.reset()
  t.match(await rejection(often.executor.complete(chatCall('[[error:400]]'), contextOf())), { status: 400 })
  t.equal(emulator.requests.length, 1)
})

t.test('an abort ends the exchange at every stage (H2, H3)', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const env = { UPSTREAM_MAX_RETRIES: '5', UPSTREAM_RETRY_BACKOFF_FACTOR: '50' }
  const { executor } = startPool(t, emulatorEnv(emulator, env))
  await executor.complete(chatCall('warm the token'), contextOf())

  const abort = new AbortController()
  const waiting = executor.complete(chatCall('[[hang]]'), contextOf({ signal: abort.signal }))
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  abort.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(waiting), { code: 'client_disconnected' })
  await emulator.waitFor(({ stats }) => stats.aborted === 1 && stats.activeRequests === 0)

  emulator.reset()
  const retrying = new AbortController()
  const delayed = executor.complete(chatCall('[[error:503]]'), contextOf({ signal: retrying.signal }))
  await emulator.waitFor(({ stats }) => stats.finished === 1)
  retrying.abort(new GatewayError('gateway_not_ready'))
  t.match(await rejection(delayed), { code: 'gateway_not_ready' })
  t.equal(emulator.requests.length, 1)

  const early = AbortSignal.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(executor.complete(chatCall('hi'), contextOf({ signal: early }))), {
    code: 'client_disconnected'
  })
  t.equal(emulator.requests.length, 1)
})

t.test('requests wait at a full connection limit, and a waiting one can be aborted', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator, { UPSTREAM_MAX_CONNECTIONS: '1' }))
  await executor.complete(chatCall('warm the token'), contextOf())
  const holder = new AbortController()
  const holding = executor.complete(chatCall('[[hang]]'), contextOf({ signal: holder.signal }))
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  const leaver = new AbortController()
  const leaving = executor.complete(chatCall('never sent'), contextOf({ signal: leaver.signal }))
  const staying = executor.complete(chatCall('[[text:second]]'), contextOf())
  leaver.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(leaving), { code: 'client_disconnected' })
  holder.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(holding), { code: 'client_disconnected' })
  t.equal(textOfResponse(await staying), 'second')
  t.equal(emulator.stats.activeChatRequestsMax, 1)
})

t.test('a wait for a connection that is too long ends with 503 and retry-after', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator, { UPSTREAM_MAX_CONNECTIONS: '1', UPSTREAM_TIMEOUT: '0.2' }))
  const abort = new AbortController()
  const sink = createSink()
  const holding = executor.stream(chatCall('[[hang:1]]', { isStream: true }), contextOf({ signal: abort.signal }), sink)
  await sink.pushed(1)
  const refused = await rejection(executor.complete(chatCall('hi'), contextOf()))
  t.match(refused, { code: 'gateway_overloaded', status: 503, retryAfter: '1' })
  abort.abort(new GatewayError('client_disconnected'))
  await holding
})

t.test('generated images have their bytes where the client protocol carries bytes', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const call = chatCall('[[builtin:image_generate]]', { apiMode: 'v2', extra: { tools: [{ image_generate: {} }] } })
  const withBytes = await executor.complete(call, contextOf({ wantsFileBytes: true }))
  const file = withBytes.items.find(item => item.type === 'file')
  t.ok(file?.type === 'file' && file.file.base64)
  t.equal(emulator.requests.filter(request => request.path.endsWith('/content')).length, 1)
  t.equal(emulator.requests.at(-1)?.headers.accept, 'application/jpg')

  emulator.reset()
  await executor.complete(call, contextOf())
  await executor.complete(call, contextOf({ wantsFileBytes: false }))
  t.equal(emulator.requests.filter(request => request.path.endsWith('/content')).length, 0)

  emulator.failNext({ path: '/files/*/content', status: 500 })
  const without = await executor.complete(call, contextOf({ wantsFileBytes: true }))
  const bare = without.items.find(item => item.type === 'file')
  t.equal(bare?.type === 'file' ? bare.file.base64 : 'none', undefined)
})

t.test('the body of a request is in the debug log in DEV and not in PROD', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const dev = startPool(t, emulatorEnv(emulator))
  await dev.executor.complete(chatCall('a prompt to see'), contextOf())
  t.match(dev.memory.text(), 'a prompt to see')
  const prod = startPool(t, emulatorEnv(emulator, { GATEWAY_MODE: 'PROD' }))
  await prod.executor.complete(chatCall('a prompt to hide'), contextOf())
  t.notMatch(prod.memory.text(), 'a prompt to hide')
  t.match(prod.memory.text(), 'payload omitted in PROD')
})
