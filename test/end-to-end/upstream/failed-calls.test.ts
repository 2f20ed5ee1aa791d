// A call that the upstream refuses has one line in the log of a started gateway: what was asked,
// what came back and for which request, and nothing of what either side said (operations.md 12;
// field-lessons.md M1, M2).

import t from 'tap'
import { get, type HttpResponse, post } from '../../support/client.ts'
import {
  emulatorVariables,
  readLog,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'
import { ask, model } from './support.ts'

const emulator = await startEmulator(t)

/** The failed calls in the log of a stopped gateway. */
function readFailures(gateway: ServingGateway) {
  return readLog(gateway).filter(line => line.event === 'upstream_call_failed')
}

interface Expected {
  level: string
  operation: string
  status: number
  code: string
}

t.test('every refused call has one line with operation, status, code and request id', async t => {
  const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
  const expected = new Map<string, Expected>()
  const expectLine = (response: HttpResponse, line: Expected) =>
    expected.set(response.headers.get('x-request-id') ?? '', line)

  for (const [level, status, code] of [
    ['INFO', 400, 'upstream_rejected'],
    ['INFO', 404, 'upstream_not_found'],
    ['INFO', 413, 'upstream_rejected'],
    ['INFO', 422, 'upstream_rejected'],
    ['WARNING', 401, 'upstream_unauthorized'],
    ['WARNING', 402, 'provider_failure'],
    ['WARNING', 403, 'upstream_forbidden'],
    ['WARNING', 429, 'rate_limited'],
    ['WARNING', 503, 'provider_failure'],
    ['WARNING', 507, 'upstream_error']
  ] as const) {
    for (const stream of status === 429 ? [false, true] : [false]) {
      const response = await ask(gateway, 'v1', `canary-prompt [[error:${status} message=canary-response]]`, {
        more: { stream }
      })
      expectLine(response, { level, operation: 'chat', status, code })
    }
  }
  for (const [operation, path, send] of [
    ['embeddings', '/embeddings', () => post(`${gateway.url}/v1/embeddings`, { model: 'Embeddings', input: 'hi' })],
    ['models', '/models', () => get(`${gateway.url}/v1/models?refresh=1`)],
    [
      'tokens',
      '/tokens/count',
      () => post(`${gateway.url}/v1/messages/count_tokens`, { model, messages: [{ role: 'user', content: 'hi' }] })
    ]
  ] as const) {
    emulator.failNext({ path, status: 404, message: 'canary-answer' })
    const level = operation === 'models' ? 'WARNING' : 'INFO'
    expectLine(await send(), { level, operation, status: 404, code: 'upstream_not_found' })
  }
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  t.equal(await gateway.stop(), 0)

  const failures = readFailures(gateway)
  t.equal(failures.length, expected.size, 'one line per failed call')
  for (const [id, line] of expected) {
    t.match(
      failures.find(one => one.request_id === id),
      line,
      JSON.stringify(line)
    )
  }
  t.notMatch(JSON.stringify(failures), /canary|bearer|127\.0\.0\.1/i)
})

t.test('an upstream that accepts no credential shows in warnings, without the credential', async t => {
  const gateway = await startGateway(t, {
    env: {
      UPSTREAM_BASE_URL: emulator.baseUrl,
      UPSTREAM_ACCESS_TOKEN: 'canary-token',
      GATEWAY_LOG_REDACT_SENSITIVE: 'false'
    }
  })
  const refused = await ask(gateway, 'v2', 'hi', { more: { stream: true } })
  t.equal(refused.status, 401)
  t.equal(await gateway.stop(), 0)
  const failures = readFailures(gateway)
  const id = refused.headers.get('x-request-id')
  t.match(
    failures.filter(line => line.request_id === id),
    [{ level: 'WARNING', operation: 'chat', status: 401, code: 'upstream_unauthorized' }]
  )
  t.ok(failures.some(line => line.operation === 'models' && line.status === 401))
  t.notMatch(JSON.stringify(failures), /canary/)
})
