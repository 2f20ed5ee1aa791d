import t from 'tap'
import { planUpstreamHeaders } from '../../../worker/execution/upstream-headers.ts'
import * as fc from '../../support/properties.ts'
import { pairsOf } from '../http/support.ts'

const requestId = '7c4bbb91-635f-4519-9b1b-2854e9794170'

function forward(headers: Record<string, string>, extraHeaders?: unknown): Record<string, string> {
  const plan = planUpstreamHeaders({ headers, extraHeaders, requestId })
  return Object.fromEntries(pairsOf(plan.headers))
}

t.test('operations 45: context headers are sent in the upstream spelling, other safe ones in lower case', async t => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const headers = forward({
    'x-request-id': 'r1',
    'x-session-id': 's1',
    'x-service-id': 'v1',
    'x-operation-id': 'o1',
    'x-client-id': 'c1',
    'x-trace-id': 't1',
    'x-agent-id': 'a1',
    traceparent,
    'x-correlation-id': 'k1',
    'x-foo': 'bar'
  })
  t.same(headers, {
    'X-Request-ID': 'r1',
    'X-Session-ID': 's1',
    'X-Service-ID': 'v1',
    'X-Operation-ID': 'o1',
    'X-Client-ID': 'c1',
    'X-Trace-ID': 't1',
    'X-Agent-ID': 'a1',
    traceparent,
    'x-correlation-id': 'k1',
    'x-foo': 'bar'
  })
})

const denied = [
  // operations.md 6: exact names, then prefixes
  'accept accept-encoding authorization connection content-length content-type cookie expect forwarded host keep-alive',
  'proxy-authorization set-cookie te trailer transfer-encoding upgrade user-agent x-api-key x-goog-api-key x-forwarded-for',
  'x-forwarded-host x-forwarded-port x-forwarded-proto x-real-ip',
  'anthropic-version anthropic-beta openai-organization x-stainless-os',
  // names that are denied in addition to the contract
  'api-key x-admin-api-key x-gateway-replay accept-language x-server-timeout proxy-connection via referer origin',
  'access-control-request-method sec-fetch-mode cf-ray x-goog-api-client content-language content-encoding if-none-match',
  'range http2-settings trailers x-auth-token x-amz-security-token'
]
  .join(' ')
  .split(' ')

t.test(
  'operations 46, 47: headers of the client, its SDK, a proxy or the gateway are never forwarded (H9)',
  async t => {
    for (const name of denied) {
      t.same(Object.keys(forward({ [name]: 'x' })), ['X-Request-ID', 'traceparent'], name)
      t.same(
        Object.keys(forward({}, { [` ${name.toUpperCase()} `]: 'x' })),
        ['X-Request-ID', 'traceparent'],
        `extra ${name}`
      )
    }
  }
)

t.test('headers that the connection header lists are not forwarded (H9)', async t => {
  const headers = forward({
    connection: 'close, X-Hop, x-session-id',
    'x-hop': '1',
    'x-session-id': 's',
    'x-stay': '2'
  })
  t.equal(headers['x-hop'], undefined)
  t.equal(headers['X-Session-ID'], undefined)
  t.equal(headers['x-stay'], '2')
})

t.test('operations 48: extra headers of the body replace those of the request, under the same rules', async t => {
  const headers = forward(
    { 'x-session-id': 's1', 'x-foo': 'request' },
    { 'x-session-id': 's2', authorization: 'Bearer z', 'X-Extra': '1', ' X-Foo ': 'body' }
  )
  t.equal(headers['X-Session-ID'], 's2')
  t.equal(headers['x-extra'], '1')
  t.equal(headers['x-foo'], 'body')
  t.notOk(Object.keys(headers).some(name => name.toLowerCase() === 'authorization'))
})

t.test('extra headers with a value that is not a scalar are dropped', async t => {
  const extra = { text: 'a', number: 1.5, yes: true, no: false, nothing: null, list: ['a'], object: { a: 1 } }
  const { text, number, yes, no, ...rest } = forward({}, extra)
  t.same([text, number, yes, no], ['a', '1.5', 'true', 'false'])
  t.same(Object.keys(rest), ['X-Request-ID', 'traceparent'])
  for (const notAnObject of [null, 'x', 1, undefined]) {
    t.same(Object.keys(forward({}, notAnObject)), ['X-Request-ID', 'traceparent'])
  }
})

t.test('a header whose name is not a token or whose value HTTP cannot carry is dropped', async t => {
  const headers = forward(
    {},
    {
      'x-a': 'one\r\nx-evil: 1',
      'x-b': 'nul\0',
      'x-c': 'line\n',
      'x-d': 'snowman ☃',
      'x e': 'space',
      'x:f': 'colon',
      '': 'empty',
      'x-g': 'tab\tand é'
    }
  )
  t.same(Object.keys(headers), ['x-g', 'X-Request-ID', 'traceparent'])
})

t.test('a request without ids of the client is sent with ids that are made of its request id', async t => {
  const headers = forward({})
  t.equal(headers['X-Request-ID'], requestId)
  t.equal(headers.traceparent, '00-7c4bbb91635f45199b1b2854e9794170-9b1b2854e9794170-00')
})

t.test('custom headers beyond 64 are dropped and counted; context headers do not count', async t => {
  const many = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`x-h${index}`, 'v']))
  const { headers, droppedCount } = planUpstreamHeaders({ headers: { ...many, 'x-trace-id': 't' }, requestId })
  t.equal(droppedCount, 6)
  t.equal(pairsOf(headers).filter(([name]) => name.startsWith('x-h')).length, 64)
  t.ok(pairsOf(headers).some(([name]) => name === 'X-Trace-ID'))
})

t.test(
  'cost 21: each forwarded header has at most 8000 bytes, the first one too, and all have at most 12 KiB',
  async t => {
    const long = 'a'.repeat(8000)
    for (const input of [
      { headers: { 'x-a': long, 'x-request-id': long, traceparent: long, 'x-b': 'b' } },
      { headers: {}, extraHeaders: { 'x-a': long, 'x-request-id': long, traceparent: long, 'x-b': 'b' } }
    ]) {
      const { headers, droppedCount } = planUpstreamHeaders({ ...input, requestId })
      t.equal(droppedCount, 3)
      t.same(
        pairsOf(headers).map(([name, value]) => [name, value.length]),
        [
          ['x-b', 1],
          ['X-Request-ID', 36],
          ['traceparent', 55]
        ],
        'the ids are those of the gateway'
      )
    }
    const parts = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`x-part-${index}`, 'a'.repeat(2000)]))
    const { headers, droppedCount } = planUpstreamHeaders({ headers: { ...parts, 'x-short': 'b' }, requestId })
    t.equal(droppedCount, 4)
    t.same(
      pairsOf(headers).map(([name]) => name),
      ['x-part-0', 'x-part-1', 'x-part-2', 'x-part-3', 'x-part-4', 'x-part-5', 'x-short', 'X-Request-ID', 'traceparent']
    )
  }
)

t.test('an extra header with a value that HTTP cannot carry does not replace a valid one', async t => {
  const headers = forward({ 'x-c': 'head' }, { 'x-c': 'ok', 'X-C': 'bad\nvalue' })
  t.equal(headers['x-c'], 'ok')
})

t.test(
  'for any headers of a client each forwarded name is a token, occurs once and has a valid header value',
  async () => {
    const headers = fc.dictionary(
      fc.string({ unit: 'binary-ascii' }).map(name => name.toLowerCase()),
      fc.string()
    )
    fc.assert(
      fc.property(headers, fc.dictionary(fc.string(), fc.jsonValue()), (given, extraHeaders) => {
        const plan = planUpstreamHeaders({ headers: given, extraHeaders, requestId })
        const names = pairsOf(plan.headers).map(([name]) => name.toLowerCase())
        return (
          new Set(names).size === names.length &&
          names.every(name => /^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name)) &&
          pairsOf(plan.headers).every(([, value]) => !/[\r\n\0]/.test(value))
        )
      })
    )
  }
)

t.test('an extra header with a name longer than 256 characters is dropped', async t => {
  const name = 'x'.repeat(257)
  t.notOk(name in forward({}, { [name]: 'a', 'x-short': 'b' }))
  t.equal(forward({}, { [name]: 'a', 'x-short': 'b' })['x-short'], 'b')
})

t.test('a traced request carries the context of its own span and not one of the client', async t => {
  const traceparent = '00-7c4bbb91635f45199b1b2854e9794170-7c4bbb91635f4519-01'
  const headers = {
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    tracestate: 'client=1',
    'x-foo': 'a'
  }
  const extraHeaders = { Traceparent: 'mine', tracestate: 'mine=1' }
  const plan = (tracestate: string | undefined) =>
    Object.fromEntries(
      pairsOf(
        planUpstreamHeaders({ headers, extraHeaders, requestId, traceContext: { traceparent, tracestate } }).headers
      )
    )
  t.same(plan('vendor=1'), { traceparent, tracestate: 'vendor=1', 'x-foo': 'a', 'X-Request-ID': requestId })
  t.same(plan(undefined), { traceparent, 'x-foo': 'a', 'X-Request-ID': requestId })
  t.same(plan('line\r\nbreak'), { traceparent, 'x-foo': 'a', 'X-Request-ID': requestId }, 'HTTP cannot carry it')
  t.same(Object.keys(plan('a'.repeat(9000))), ['traceparent', 'x-foo', 'X-Request-ID'], 'longer than a header may be')
})
