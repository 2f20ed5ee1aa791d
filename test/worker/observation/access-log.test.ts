import t from 'tap'
import type { KeySet } from '../../../shared/keys/key-set.ts'
import { startEventStream } from '../../../worker/http/event-stream.ts'
import { sendJson } from '../../../worker/http/respond.ts'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { createAccessLog } from '../../../worker/observation/access-log.ts'
import type { ClosedFacts, RequestView } from '../../../worker/observation/observer.ts'
import { get, post } from '../../support/client.ts'
import { writeKeySet } from '../../support/key-sets.ts'
import { mountOperation } from '../../support/operations.ts'
import { type Handler, openConnection, signalled, startApplication } from '../http/support.ts'

const noUsage = { cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null, totalTokens: null }

/** Payloads have lines of their own at the level DEBUG. */
const off = { GATEWAY_LOG_LEVEL: 'INFO' }
const on = { ...off, GATEWAY_ACCESS_LOG: 'true' }

async function start(
  t: Parameters<typeof startApplication>[0],
  handler: Handler,
  env: Record<string, string> = on,
  keys?: KeySet
) {
  const started = await startApplication(t, {
    env,
    ...(keys && { keys }),
    routes: app =>
      mountOperation(app, { method: 'POST', path: '/messages', family: 'messages', isModelRequest: true, handler })
  })
  return { ...started, lines: () => started.logged.filter(line => line.event === 'http_access') }
}

t.test('every finished request is one line of named facts, without query, headers or content (M2)', async t => {
  const { url, drainGate, lines, logged } = await start(t, (request, reply) => {
    request.context.planned({ model: 'm1', providerKind: 'native', profileId: 'p1', isStream: false })
    request.context.usage({ ...noUsage, inputTokens: 3, outputTokens: 2 })
    sendJson(reply, 200, {}, '{"text":"hush"}')
  })
  const response = await post(`${url}/api/v1/messages?key=hush`, '{"a":"hush"}', {
    'x-api-key': 'hush',
    'x-foo': 'hush'
  })
  await drainGate.whenIdle()
  const [line] = lines()
  t.match(line, {
    level: 30,
    request_id: response.headers.get('x-request-id'),
    trace_id: /^[0-9a-f-]{36}$/,
    method: 'POST',
    route: '/v1/messages',
    path: '/v1/messages',
    status: 200,
    lifecycle: 'request_completed',
    latency_ms: Number,
    bytes: Number,
    protocol: 'anthropic',
    provider: 'native',
    profile_id: 'p1',
    model: 'm1',
    input_tokens: 3,
    output_tokens: 2,
    api_key_hash: /^hmac-sha256:[0-9a-f]{16}$/,
    caller: 'node'
  })
  t.ok(Number(line?.bytes) > 15)
  t.notMatch(JSON.stringify(logged), /hush/)
})

t.test('refused requests and unknown paths have their line', async t => {
  const { url, lines } = await start(t, () => undefined, {
    ...on,
    GATEWAY_ENABLE_API_KEY_AUTH: 'true',
    GATEWAY_API_KEY: 'k1'
  })
  await post(`${url}/v1/messages`, '{}')
  await get(`${url}/v1/nope`)
  await get(`${url}/nope?a=b`)
  t.match(lines(), [
    { status: 401, lifecycle: 'request_error', route: '/v1/messages', protocol: 'anthropic' },
    { status: 404, route: 'unmatched', path: '/v1/nope', protocol: 'system', error_type: 'http_404' },
    { status: 404, route: 'unmatched', path: '/nope', protocol: 'system' }
  ])
})

t.test('keys 16: the line names the key, and a request that the key does not admit has a line of its own', async t => {
  const { url, lines, logged } = await start(
    t,
    () => {
      throw new GatewayError('rate_limit_exceeded', { message: 'Later.', retryAfter: '3' })
    },
    { ...on, GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEYS: '{"team":"secret-of-the-team"}' }
  )
  await post(`${url}/v1/messages`, '{}', { 'x-api-key': 'secret-of-the-team' })
  t.match(lines(), [{ status: 429, api_key_name: 'team' }])
  const refused = logged.filter(({ event }) => event === 'request_refused')
  t.match(refused, [{ code: 'rate_limit_exceeded', api_key_name: 'team' }])
  t.equal(refused.length, 1)
  t.notMatch(JSON.stringify(logged), /secret-of-the-team/)
})

t.test('keys 16: a request of an expired key names the key as well', async t => {
  const keys = writeKeySet({ keys: [{ name: 'old', secrets: ['secret-of-the-old-key'], expiresAtMs: 0 }] })
  const { url, lines, logged } = await start(t, () => undefined, on, keys)
  await post(`${url}/v1/messages`, '{}', { 'x-api-key': 'secret-of-the-old-key' })
  t.match(lines(), [{ status: 401, api_key_name: 'old' }])
  t.match(
    logged.filter(({ event }) => event === 'request_refused'),
    [{ code: 'key_expired', api_key_name: 'old' }]
  )
})

t.test('probes have no line, and nothing has one unless it is switched on', async t => {
  const { url, logged } = await start(t, (_request, reply) => sendJson(reply, 200, {}, '{}'))
  for (const path of ['/health', '/ping', '/livez', '/ready', '/readyz', '/a/health']) await get(url + path)
  t.same(logged, [])
  const silent = await start(t, (_request, reply) => sendJson(reply, 200, {}, '{}'), off)
  await post(`${silent.url}/v1/messages`, '{}')
  t.same(silent.logged, [])
})

t.test('a client disconnect within a stream is 499', async t => {
  const { promise, resolve } = signalled<void>()
  const { port, drainGate, lines } = await start(t, (_request, reply) => {
    startEventStream(reply).write('data: 1\n\n')
    resolve()
  })
  const { socket, waitFor } = await openConnection(t, port)
  socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
  await promise
  await waitFor(/data: 1/)
  socket.destroy()
  await drainGate.whenIdle()
  t.match(lines(), [{ status: 499, lifecycle: 'streaming_aborted' }])
})

t.test('equal callers have equal fingerprints, and different callers different ones', async t => {
  const { url, lines } = await start(t, (_request, reply) => sendJson(reply, 200, {}, '{}'))
  for (const authorization of ['Bearer a', 'Bearer a', 'Bearer b', 'Basic a']) {
    await post(`${url}/v1/messages`, '{}', { authorization })
  }
  await post(`${url}/v1/messages?x-api-key=a`, '{}')
  await post(`${url}/v1/messages`, '{}')
  const callers = lines().map(line => line.api_key_hash)
  t.equal(callers[0], callers[1])
  t.equal(callers[0], callers[4])
  t.equal(new Set(callers).size, 4)
  t.equal(callers[5], undefined)
})

t.test('a client cannot forge a line', async t => {
  const { url, lines } = await start(t, (_request, reply) => sendJson(reply, 200, {}, '{}'))
  await get(`${url}/nope%0A%7B%22event%22:%22forged%22%7D`)
  t.match(lines(), [{ event: 'http_access', path: '/nope%0A%7B%22event%22:%22forged%22%7D' }])
  t.equal(lines().length, 1)
})

t.test('repeated texts are masked and escaped each time', async t => {
  const lines: string[] = []
  const { closed } = createAccessLog({
    writePlainLine: members => lines.push(members),
    redactText: text => text.replaceAll('hush', '***'),
    metricsPath: '/metrics'
  })
  const request = {
    requestId: 'r1',
    traceId: 't hush',
    spanId: undefined,
    traceContext: undefined,
    route: '/v1/messages',
    protocol: 'anthropic',
    method: 'POST',
    path: '/v1/messages',
    apiKeyHash: undefined,
    caller: { name: 'a "hush"', category: 'unknown' },
    readKey: () => ({})
  }
  const end = { status: 200, lifecycle: 'request_completed', durationMs: 1.26, bytesSent: 3 }
  const names = Array.from({ length: 600 }, (_, index) => `m${index} hush \u2028`)
  for (const model of [...names, ...names, ...names]) {
    closed?.(request as unknown as RequestView, { ...end, facts: { model } } as unknown as ClosedFacts)
    const line = lines.pop() ?? ''
    if (!/^[\x20-\x7e]*$/.test(line)) t.fail(`not escaped: ${line}`)
    const written = { trace_id: 't ***', caller: 'a "***"', latency_ms: 1.3, model: model.replace('hush', '***') }
    const rest = JSON.parse(`{${line}}`) as Record<string, unknown>
    if (model === names[0] || rest.model !== written.model) t.match(rest, written)
  }
})
