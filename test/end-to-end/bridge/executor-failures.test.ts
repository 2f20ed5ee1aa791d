// What a provider gets of a client, what the client gets of a failure, and what stands in the log
// (bridge.md 8.2 to 8.7).

import t from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { createNameResolver } from '../../../worker/providers/egress/name-resolver.ts'
import { post } from '../../support/client.ts'
import { startNameServer } from '../../support/name-server.ts'
import { type StubHandler, sendJson, startStub } from '../../worker/providers/support/stub-upstream.ts'
import { askIn, families, readError } from '../system/support.ts'
import { chatAnswer, chatProfile, startBridge } from './executor-support.ts'

let act: StubHandler = () => undefined
const provider = await startStub((request, response) => act(request, response))
t.teardown(() => provider.close())
const names = await startNameServer(t, () => [])
const resolver = createNameResolver({ servers: [names.address] })
const never = new AbortController().signal

const KEY = 'sk-secret-of-the-profile'
const { lines, ...gateway } = await startBridge(t, {
  profiles: [
    chatProfile('keyed', `${provider.origin}/v1`, { 'bridge/a': 'coder' }),
    chatProfile('refused', `http://127.0.0.1:${await findFreePort()}/v1`, { 'bridge/refused': 'm' }),
    chatProfile('unresolved', 'https://unknown.example/v1', { 'bridge/unresolved': 'm' }, { allowLoopback: false })
  ],
  credentials: { keyed: KEY },
  kind: {
    limits: { responseBytesMax: 1024 * 1024 },
    resolve: host => (host === 'localhost' ? Promise.resolve(['127.0.0.1']) : resolver(host, never))
  }
})
const model = 'bridge/a'

/** The lines of failed calls since the last look. */
const failures = () => lines.splice(0).filter(line => line.event === 'upstream_call_failed')

t.beforeEach(() => {
  lines.length = 0
  provider.requests.length = 0
})

t.test('bridge 73: no header of the client is sent upstream', async t => {
  act = (_request, response) => sendJson(response, 200, chatAnswer('ok'))
  const headers = {
    authorization: 'Bearer client-token',
    cookie: 'a=b',
    'x-session-id': 'session-1',
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    'x-foo': 'bar',
    'x-request-id': 'id-of-the-client',
    'x-api-key': 'client-key',
    'user-agent': 'client/1'
  }
  for (const family of families) {
    const response = await askIn(gateway, family, 'hi', { model, headers })
    t.equal(response.status, 200, family)
    t.match(response.headers.get('x-request-id'), /^[0-9a-f]{8}-[0-9a-f]{4}-4/, "the gateway's own id")
    const [request] = provider.requests.splice(0)
    const sent = JSON.stringify(request?.headers)
    for (const value of Object.values(headers)) t.notOk(sent.includes(value), value)
    t.strictSame(
      Object.keys(request?.headers ?? {}).sort(),
      [
        'accept',
        'accept-encoding',
        'authorization',
        'connection',
        'content-length',
        'content-type',
        'host',
        'user-agent'
      ],
      family
    )
    t.match(request?.headers, {
      accept: 'text/event-stream, application/json',
      authorization: `Bearer ${KEY}`,
      'user-agent': 'llm-gateway/0.0.0'
    })
  }
})

t.test('bridge 86: an unusable answer is one code for the client, and its reason is in the log', async t => {
  const rows: Array<[body: string, reasonId: string]> = [
    ['{"choices":', 'invalid_json_response'],
    [JSON.stringify(chatAnswer('x')).replace('"stop"', '7'), 'invalid_finish_reason'],
    [JSON.stringify(chatAnswer('x'.repeat(1_100_000))), 'response_too_large']
  ]
  for (const [body, reasonId] of rows) {
    act = (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    for (const family of families) {
      const response = await askIn(gateway, family, 'hi', { model })
      t.equal(response.status, 502, `${family} ${reasonId}`)
      const { code } = readError(family, response)
      if (code !== null) t.equal(code, 'provider_protocol_error', `${family} ${reasonId}`)
      t.match(failures(), [{ reason_id: reasonId, code: 'provider_protocol_error' }], `${family} ${reasonId}`)
    }
  }
})

t.test('bridge 88: a refused connection and a name that does not resolve', async t => {
  const rows = [
    ['bridge/refused', 'provider_failure', 'connection_error'],
    ['bridge/unresolved', 'destination_mismatch', 'destination_mismatch']
  ] as const
  for (const [alias, code, reasonId] of rows) {
    for (const family of families) {
      for (const stream of [false, true]) {
        const response = await askIn(gateway, family, 'hi', { model: alias, stream })
        t.equal(response.status, 502, `${family} ${alias}`)
        const error = readError(family, response)
        if (error.code !== null) t.equal(error.code, code, family)
        t.notOk(/unknown\.example|127\.0\.0\.1/.test(response.text), 'no host in the body')
        t.match(failures(), [{ reason_id: reasonId, code }], `${family} ${alias}`)
      }
    }
  }
})

t.test('bridge 91: a stream that the provider refuses is a plain error before any event', async t => {
  act = (_request, response) => sendJson(response, 401, { error: { message: `The key ${KEY} is wrong.` } })
  for (const family of families) {
    const response = await askIn(gateway, family, 'hi', { model, stream: true })
    t.equal(response.status, 502, family)
    t.match(response.headers.get('content-type'), /^application\/json/, family)
    readError(family, response)
    t.notOk(response.text.includes(KEY), family)
    t.match(failures(), [{ status: 401, level: 40 }], 'the class is in the log')
  }
})

t.test('a provider without embeddings shows as a failure of the provider', async t => {
  act = (_request, response) => sendJson(response, 404, { error: { message: 'Not Found' } })
  const response = await post(`${gateway.url}/v1/embeddings`, { model, input: 'hi' })
  t.equal(response.status, 502)
  t.equal(readError('completions', response).code, 'provider_failure')
  t.match(failures(), [{ status: 404, level: 40, operation: 'embeddings' }])
  t.match(provider.requests[0], { url: '/v1/embeddings' })
})
