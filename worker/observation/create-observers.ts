// The only list of observers. Each is loaded only when the settings ask for it.
import type { Logger, WritePlainLine } from '../../shared/logging.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import type { PriceList } from '../../shared/prices.ts'
import type { FindPrice } from '../../shared/profile/price-finder.ts'
import type { ProfileCredentials, ProfileSet } from '../../shared/profile/profile.ts'
import { listSecretTexts } from '../../shared/settings/effective.ts'
import type { Settings } from '../../shared/settings.ts'
import { createRouteFilter } from '../../shared/traffic/unrecorded-routes.ts'
import type { ControlChannel } from '../control/control-channel.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Outbox } from '../traffic/outbox.ts'
import type { CaptureRules } from '../translation/captured-body.ts'
import type { Translator } from '../translation/translator.ts'
import type { RequestObserver } from './observer.ts'
import type { SpanCounts } from './tracing/span-queue.ts'
import type { ContentCapture } from './traffic/content.ts'

export interface ObserverDependencies {
  readonly settings: Settings
  readonly profiles: ProfileSet
  readonly credentials: ProfileCredentials
  /** Undefined where no model has a price. */
  readonly prices?: PriceList | undefined
  /** Undefined where `prices` is. */
  readonly findPrice?: FindPrice | undefined
  readonly control: Pick<ControlChannel, 'catalogSnapshot'>
  readonly workerId: number
  readonly version: string
  readonly log: Logger
  /** As the runtime log has them. */
  readonly writePlainLine: WritePlainLine
  readonly redactText: (text: string) => string
  /** Where the observers count; undefined while metrics are off. */
  readonly metrics?: { readonly registry: MetricRegistry } | undefined
  /** Where traffic records go, and what writes the bodies in them; undefined while the traffic log is off. */
  readonly traffic?: TrafficDependencies | undefined
  /** Where requests of keys with limits are settled; undefined where no key can have any. */
  readonly limiter?: Limiter | undefined
}

export interface TrafficDependencies {
  readonly outbox: Pick<Outbox, 'add'>
  readonly translator: Pick<Translator, 'writeCapturedBody'>
}

/** Resolves with the observers that the settings switch on, in the order in which they are notified. */
export async function createObservers(dependencies: ObserverDependencies): Promise<RequestObserver[]> {
  const { settings, profiles, control, metrics, traffic, limiter } = dependencies
  const observers: RequestObserver[] = []
  // First, because it gives a request the trace context that the others name.
  if (isTraced(settings)) {
    const tracing = await loadTracing(dependencies)
    if (tracing !== undefined) observers.push(tracing)
  }
  if (settings.accessLog) {
    const { createAccessLog } = await import('./access-log.ts')
    const { writePlainLine, redactText } = dependencies
    observers.push(createAccessLog({ writePlainLine, redactText, metricsPath: settings.metricsPath }))
  }
  if (metrics !== undefined) {
    const { createMetricsObserver } = await import('./metrics/observer.ts')
    const { createModelLabel } = await import('./metrics/model-label.ts')
    const labelModel = createModelLabel({ profiles, control }, { namesMax: settings.metricsMaxModels })
    observers.push(createMetricsObserver({ registry: metrics.registry, labelModel }))
  }
  if (traffic !== undefined) observers.push(await loadTrafficLog(dependencies, traffic))
  if (limiter !== undefined) {
    const { createSettlingObserver } = await import('../limits/settling-observer.ts')
    observers.push(createSettlingObserver(limiter, dependencies.findPrice))
  }
  return observers
}

async function loadTrafficLog(
  { settings, credentials, prices }: ObserverDependencies,
  { outbox, translator }: TrafficDependencies
): Promise<RequestObserver> {
  const { createTrafficObserver } = await import('./traffic/observer.ts')
  const { createRecordWriter } = await import('./traffic/record.ts')
  const rules: CaptureRules = {
    isRedacted: settings.trafficLogRedactSensitive,
    extraKeys: settings.trafficLogRedactExtraKeys,
    knownSecrets: [...listSecretTexts(settings), ...Object.values(credentials).map(secret => secret.reveal())],
    bytesMax: settings.trafficLogMaxBodyBytes
  }
  const { createCaptureRedactor } = await import('../translation/captured-body.ts')
  const writer = createRecordWriter(createCaptureRedactor(rules).redactText, prices?.currency)
  return createTrafficObserver(
    { outbox, writer, capture: await loadCapture(settings, rules, translator), random: Math.random },
    {
      sampleRate: settings.trafficLogSampleRate,
      isExcluded: createRouteFilter(settings.trafficLogExcludeRoutes, settings)
    }
  )
}

/** Undefined unless the operator asked for content. */
async function loadCapture(
  { trafficLogCaptureContent }: Settings,
  rules: CaptureRules,
  translator: TrafficDependencies['translator']
): Promise<ContentCapture | undefined> {
  if (!trafficLogCaptureContent) return undefined
  const { createContentCapture } = await import('./traffic/content.ts')
  return createContentCapture({ rules, writeBody: body => translator.writeCapturedBody(body) })
}

function isTraced({ observabilityEnabled, observabilityBackend, observabilitySampleRate }: Settings): boolean {
  return observabilityEnabled && observabilityBackend === 'otlp' && observabilitySampleRate > 0
}

/** Undefined when it cannot start: the gateway serves without it (operations.md 11.1). */
async function loadTracing(dependencies: ObserverDependencies): Promise<RequestObserver | undefined> {
  try {
    const { createTracing } = await import('./tracing/create-tracing.ts')
    return await createTracing({ ...dependencies, counts: countSpans(dependencies.metrics?.registry) })
  } catch (error) {
    const fields = { event: 'tracing_unavailable', err: error }
    dependencies.log.warn(fields, 'Tracing is off, because its exporter could not be created')
    return undefined
  }
}

/** Counts into the metrics, if there are any. */
function countSpans(registry: MetricRegistry | undefined): SpanCounts {
  const exported = registry?.counter('gateway_trace_spans_total').with({})
  const dropped = registry?.counter('gateway_trace_spans_dropped_total').with({})
  return { exported: count => exported?.add(count), dropped: count => dropped?.add(count) }
}
