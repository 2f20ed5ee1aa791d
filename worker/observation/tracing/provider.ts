// Starts the OpenTelemetry SDK with nothing but traces: no instrumentation, no detectors, no
// metrics, no logs (operations.md 11.1 and 11.6). Spans come from the gateway alone, so nothing stays
// registered for the process, and several workers in one process have a provider each.
import { randomUUID } from 'node:crypto'
import { context, type Tracer, trace } from '@opentelemetry/api'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { AlwaysOnSampler, type IdGenerator, type SpanProcessor, StackContextManager } from '@opentelemetry/sdk-trace'
import { ATTR_SERVICE_INSTANCE_ID, ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions'

export interface ProviderOptions {
  readonly projectName: string
  readonly version: string
  readonly workerId: number
  readonly idGenerator: IdGenerator
  readonly queue: SpanProcessor
}

export interface TraceProvider {
  readonly tracer: Tracer
  /** Ends the queue, and with it the exporter. Never rejects. */
  close(): Promise<void>
}

const SERVICE_NAME = 'llm-gateway'
/** The collector of facts bounds the events; these are the limits of a span that is exported whole. */
const SPAN_LIMITS = { attributeCountLimit: 256, eventCountLimit: 256 }

export function startProvider(options: ProviderOptions): TraceProvider {
  const sdk = new NodeSDK({
    // The default names the SDK.
    resource: defaultResource().merge(
      resourceFromAttributes({
        [ATTR_SERVICE_NAME]: SERVICE_NAME,
        [ATTR_SERVICE_VERSION]: options.version,
        // OpenTelemetry asks for one instance per worker process.
        [ATTR_SERVICE_INSTANCE_ID]: randomUUID(),
        'process.pid': process.pid,
        'gateway.worker.id': options.workerId,
        'project.name': options.projectName,
        'openinference.project.name': options.projectName
      })
    ),
    autoDetectResources: false,
    // Which requests are traced is decided at their head, and again when they fail: what reaches the SDK is exported.
    sampler: new AlwaysOnSampler(),
    idGenerator: options.idGenerator,
    spanProcessors: [options.queue],
    spanLimits: SPAN_LIMITS,
    metricReaders: [],
    logRecordProcessors: [],
    // Spans name their parents, so nothing has to follow asynchronous calls.
    contextManager: new StackContextManager(),
    textMapPropagator: null
  })
  sdk.start()
  const tracer = trace.getTracer(SERVICE_NAME, options.version)
  // The SDK registers its provider for the process, and a provider that is registered already stays:
  // the next worker in the process would export to the collector of this one.
  trace.disable()
  context.disable()
  return {
    tracer,
    async close() {
      await sdk.shutdown().catch(() => undefined)
    }
  }
}
