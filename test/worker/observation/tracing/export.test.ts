// Exporter, queue and SDK together, against a collector that decodes what arrives.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RandomIdGenerator } from '@opentelemetry/sdk-trace'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { parseSettings } from '../../../../shared/settings.ts'
import { createExporter } from '../../../../worker/observation/tracing/exporter.ts'
import { startProvider } from '../../../../worker/observation/tracing/provider.ts'
import { SpanQueue } from '../../../../worker/observation/tracing/span-queue.ts'
import { type OtlpReceiver, startOtlpReceiver } from '../../../support/otlp/receiver.ts'

const fixture = (name: string) => join(import.meta.dirname, '../../../ops/emulator/fixtures', name)
const tls = { cert: readFileSync(fixture('server.pem')), key: readFileSync(fixture('server.key')) }

/** Exports spans and closes. Resolves with what was counted. */
async function exportSpans(receiver: OtlpReceiver, variables: Record<string, string>, total = 1) {
  const settings = parseSettings({ TRACE_COLLECTOR_ENDPOINT: receiver.url, ...variables })
  const counted = { exported: 0, dropped: 0 }
  const queue = new SpanQueue({
    exporter: await createExporter(settings, '1.2.3'),
    size: 1000,
    dropsWhenFull: true,
    batchSize: 2,
    counts: {
      exported: count => {
        counted.exported += count
      },
      dropped: count => {
        counted.dropped += count
      }
    },
    log: pino({ level: 'silent' }),
    nowMs: () => 0
  })
  const idGenerator = new RandomIdGenerator()
  const provider = startProvider({ projectName: 'p', version: '1.2.3', workerId: 7, idGenerator, queue })
  const attributes = { text: 'x', number: 1.5, list: ['a'] }
  for (let index = 0; index < total; index += 1) provider.tracer.startSpan('one', { attributes }).end()
  await provider.close()
  return counted
}

function expectSpan(t: Test, { spans }: OtlpReceiver): void {
  t.match(spans, [
    {
      name: 'one',
      attributes: { text: 'x', number: 1.5, list: ['a'] },
      resource: {
        'service.name': 'llm-gateway',
        'service.version': '1.2.3',
        'gateway.worker.id': 7,
        'project.name': 'p',
        'openinference.project.name': 'p'
      },
      scope: 'llm-gateway'
    }
  ])
}

for (const transport of ['http', 'grpc'] as const) {
  const OTEL_EXPORTER_OTLP_PROTOCOL = transport === 'grpc' ? 'grpc' : 'http/protobuf'

  t.test(`over ${transport}: headers, the key and compression`, async t => {
    for (const compression of ['none', 'gzip']) {
      const receiver = await startOtlpReceiver(t, transport)
      const counted = await exportSpans(receiver, {
        OTEL_EXPORTER_OTLP_PROTOCOL,
        OTEL_EXPORTER_OTLP_COMPRESSION: compression,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b',
        TRACE_API_KEY: 'secret'
      })
      t.same(counted, { exported: 1, dropped: 0 }, compression)
      expectSpan(t, receiver)
      t.match(receiver.exports, [
        { authorization: 'Bearer secret', 'x-team': 'a b', 'user-agent': /^llm-gateway\/1\.2\.3 / }
      ])
      // Over gRPC each message says for itself whether it is compressed, and the receiver has decoded it.
      if (transport === 'http') t.equal(receiver.exports[0]?.['content-encoding'] ?? 'none', compression)
    }
  })

  t.test(`over ${transport} and TLS: only a collector that the certificate proves`, async t => {
    const receiver = await startOtlpReceiver(t, transport, tls)
    const trusting = { OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_CERTIFICATE: fixture('ca.pem') }
    t.same(await exportSpans(receiver, trusting), { exported: 1, dropped: 0 })
    expectSpan(t, receiver)
    t.same(await exportSpans(receiver, { OTEL_EXPORTER_OTLP_PROTOCOL }), { exported: 0, dropped: 1 })
    // The certificate has the address and the name, and not the address in its IPv6 form.
    const at = (host: string) => ({ ...trusting, TRACE_COLLECTOR_ENDPOINT: receiver.url.replace('127.0.0.1', host) })
    t.same(await exportSpans(receiver, at('localhost')), { exported: 1, dropped: 0 })
    t.same(await exportSpans(receiver, at('[::ffff:127.0.0.1]')), { exported: 0, dropped: 1 })
    t.equal(receiver.spans.length, 2)
  })
}

t.test('everything that is held leaves at the end, in however many exports', async t => {
  for (const transport of ['http', 'grpc'] as const) {
    const receiver = await startOtlpReceiver(t, transport)
    const OTEL_EXPORTER_OTLP_PROTOCOL = transport === 'grpc' ? 'grpc' : 'http/protobuf'
    // Few enough for the deadline of the end on a busy machine.
    t.same(await exportSpans(receiver, { OTEL_EXPORTER_OTLP_PROTOCOL }, 20), { exported: 20, dropped: 0 }, transport)
    t.ok(receiver.exports.length >= 10)
  }
})

t.test('two providers of one process export to their own collectors', async t => {
  const receivers = [await startOtlpReceiver(t, 'http'), await startOtlpReceiver(t, 'http')]
  const variables = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }
  const counts = await Promise.all(receivers.map(receiver => exportSpans(receiver, variables)))
  t.same(counts, [
    { exported: 1, dropped: 0 },
    { exported: 1, dropped: 0 }
  ])
  for (const receiver of receivers) expectSpan(t, receiver)
})

t.test('an endpoint in a folder is taken over HTTP', async t => {
  const receiver = await startOtlpReceiver(t, 'http')
  const url = `${receiver.url}/v1/traces`
  const counted = await exportSpans({ ...receiver, url }, { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' })
  t.equal(counted.exported, 1)
  t.equal(receiver.exports[0]?.[':path'], '/v1/traces')
})
