import { inspect } from 'node:util'
import t from 'tap'
import { parseSettings } from '../../../../shared/settings.ts'
import { createExporter, exporterHeaders, httpTracesUrl } from '../../../../worker/observation/tracing/exporter.ts'

t.test('OTLP over HTTP has its own path and its own default port', async t => {
  for (const [endpoint, url] of [
    ['http://localhost:4317', 'http://localhost:4318/v1/traces'],
    ['http://collector:4317', 'http://collector:4317/v1/traces'],
    ['https://collector/', 'https://collector/v1/traces'],
    ['https://collector/otlp/', 'https://collector/otlp/v1/traces'],
    ['http://phoenix:6006/v1/traces', 'http://phoenix:6006/v1/traces'],
    ['http://phoenix:6006/v1/traces/', 'http://phoenix:6006/v1/traces']
  ] as const) {
    t.equal(httpTracesUrl(endpoint), url)
  }
})

t.test('headers are read as OpenTelemetry writes them, and the key of the collector is one of them', async t => {
  const headersOf = (env: Record<string, string>) => exporterHeaders(parseSettings(env))
  t.same(headersOf({}), {})
  t.same(headersOf({ OTEL_EXPORTER_OTLP_HEADERS: 'X-Team = a%20b, broken, =x,y=1=2,z=%zz' }), {
    'x-team': 'a b',
    y: '1=2',
    z: '%zz'
  })
  t.same(headersOf({ TRACE_API_KEY: 'k', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20x' }), {
    authorization: 'Bearer k'
  })
})

t.test('a certificate that cannot be read is an error, over both transports', async t => {
  for (const OTEL_EXPORTER_OTLP_PROTOCOL of ['grpc', 'http/protobuf']) {
    const settings = parseSettings({ OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/ca.pem' })
    await t.rejects(createExporter(settings, '0'), { code: 'ENOENT' }, OTEL_EXPORTER_OTLP_PROTOCOL)
  }
})

t.test('a header that gRPC cannot carry is an error that does not repeat it', async t => {
  for (const env of [
    { OTEL_EXPORTER_OTLP_HEADERS: 'x-token=hunter2-%E2%82%AC' },
    { OTEL_EXPORTER_OTLP_HEADERS: 'hunter2 x=y' },
    { GATEWAY_TRACE_API_KEY: 'hunter2-€' }
  ]) {
    const refused = await createExporter(parseSettings(env), '0').catch((error: Error) => error)
    t.match(refused, { message: /OTEL_EXPORTER_OTLP_HEADERS or GATEWAY_TRACE_API_KEY/ })
    t.notMatch(inspect(refused), 'hunter2')
  }
})

t.test('other protocols and compressions are refused at the start', async t => {
  t.throws(
    () => parseSettings({ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }),
    /OTEL_EXPORTER_OTLP_PROTOCOL must be one of/
  )
  t.throws(
    () => parseSettings({ OTEL_EXPORTER_OTLP_COMPRESSION: 'br' }),
    /OTEL_EXPORTER_OTLP_COMPRESSION must be one of/
  )
})
