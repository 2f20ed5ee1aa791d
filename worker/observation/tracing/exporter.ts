// The OTLP exporter that the settings describe (operations.md 11.1 and 11.6). Settings come by
// message, so the exporters find no variables in the environment.

import type { ChannelCredentials } from '@grpc/grpc-js'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { withoutPort } from '../../../shared/net/addresses.ts'
import type { Settings } from '../../../shared/settings.ts'
import { readTextFile } from '../../../shared/text-file.ts'
import { createAddressCredentials } from './address-credentials.ts'
import { EXPORT_TIMEOUT_MS } from './span-queue.ts'

export type ExporterSettings = Pick<Settings, 'traceCollectorEndpoint' | 'traceApiKey' | 'otel'>

/** The default of the setting; over HTTP collectors listen on the next port. */
const GRPC_DEFAULT = 'http://localhost:4317'
const HTTP_DEFAULT = 'http://localhost:4318'
const HTTP_CONNECTIONS_MAX = 8
const TRACES_PATH = '/v1/traces'

/**
 * Loads one of the two exporters. Rejects when its package is missing, the certificate cannot be
 * read, or gRPC cannot carry a header.
 */
export async function createExporter(settings: ExporterSettings, version: string): Promise<SpanExporter> {
  const { traceCollectorEndpoint, otel } = settings
  const headers = exporterHeaders(settings)
  const certificate =
    otel.exporterOtlpCertificate === undefined ? undefined : Buffer.from(readTextFile(otel.exporterOtlpCertificate))
  const common = {
    timeoutMillis: Math.min(otel.exporterOtlpTimeout ?? EXPORT_TIMEOUT_MS, EXPORT_TIMEOUT_MS),
    // The type of the option is an enumeration of a package that only the exporters depend on; its
    // members are these words.
    compression: (otel.exporterOtlpCompression ?? 'none') as never,
    userAgent: `llm-gateway/${version}`,
    // The queue bounds the running exports; when a worker closes, all held spans are exported at
    // once.
    concurrencyLimit: Number.MAX_SAFE_INTEGER
  }
  if (otel.exporterOtlpProtocol === 'http/protobuf') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto')
    return new OTLPTraceExporter({
      ...common,
      url: httpTracesUrl(traceCollectorEndpoint),
      headers,
      httpAgentOptions: { keepAlive: true, maxSockets: HTTP_CONNECTIONS_MAX, ...(certificate && { ca: certificate }) }
    })
  }
  const [{ OTLPTraceExporter }, library] = await Promise.all([
    import('@opentelemetry/exporter-trace-otlp-grpc'),
    import('@grpc/grpc-js')
  ])
  const metadata = new library.Metadata()
  for (const [name, value] of Object.entries(headers)) {
    try {
      metadata.set(name, value)
    } catch {
      // The message of the library repeats the value, which is a secret.
      throw new Error('A header of OTEL_EXPORTER_OTLP_HEADERS or GATEWAY_TRACE_API_KEY cannot be sent as gRPC metadata')
    }
  }
  const url = new URL(traceCollectorEndpoint)
  return new OTLPTraceExporter({
    ...common,
    url: url.origin,
    metadata,
    credentials: createGrpcCredentials(library, url, certificate)
  })
}

function createGrpcCredentials(
  library: typeof import('@grpc/grpc-js'),
  { protocol, hostname }: URL,
  certificate: Buffer | undefined
): ChannelCredentials {
  const { credentials } = library
  if (protocol !== 'https:') return credentials.createInsecure()
  const address = withoutPort(hostname)
  if (address !== undefined) return createAddressCredentials(library, address, certificate)
  return credentials.createSsl(certificate ?? null)
}

/**
 * The endpoint with the path of OTLP over HTTP; an endpoint that has this path already is taken as
 * it is.
 */
export function httpTracesUrl(endpoint: string): string {
  const url = new URL(endpoint === GRPC_DEFAULT ? HTTP_DEFAULT : endpoint)
  const path = url.pathname.replace(/\/+$/, '')
  url.pathname = path.endsWith(TRACES_PATH) ? path : path + TRACES_PATH
  return url.href
}

/**
 * The headers of `OTEL_EXPORTER_OTLP_HEADERS` (`name=value,…`, percent-encoded), and the key of the
 * collector as a bearer token.
 */
export function exporterHeaders({
  traceApiKey,
  otel
}: Omit<ExporterSettings, 'traceCollectorEndpoint'>): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const pair of otel.exporterOtlpHeaders?.reveal().split(',') ?? []) {
    const equals = pair.indexOf('=')
    const name = pair.slice(0, Math.max(0, equals)).trim().toLowerCase()
    if (name !== '') headers[name] = decodePercent(pair.slice(equals + 1).trim())
  }
  if (traceApiKey !== undefined) headers.authorization = `Bearer ${traceApiKey.reveal()}`
  return headers
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
