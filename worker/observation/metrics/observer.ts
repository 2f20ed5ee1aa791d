// Counts the requests of a worker (operations.md 7.2 to 7.5). Labels are the route's template,
// fixed words and names that the gateway knows: nothing that a client can choose freely.

import { labelProvider } from '../../../shared/metrics/provider-label.ts'
import type { MetricRegistry } from '../../../shared/metrics/registry.ts'
import { readAmount } from '../../../shared/prices.ts'
import type { CalledProfile, UpstreamCallReport } from '../../providers/types.ts'
import type { ClosedFacts, PlannedFacts, RequestObserver, RequestView } from '../observer.ts'
import type { ModelLabel } from './model-label.ts'

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const OTHER_METHOD = 'OTHER'

/** What has to be remembered of a request until it is closed. */
interface Life {
  /** Undefined until the model and its provider are chosen. */
  provider: string | undefined
  /** The label of the model. */
  model: string | undefined
  isAuthenticationFailed: boolean
  /** Counted among the streams in flight. */
  isStreamCounted: boolean
  firstTokenMs: number | undefined
  hasUpstreamCall: boolean
  /** The provider that was called; a list of models has no planned one. */
  called: string | undefined
  upstreamMs: number
  /** The status of the last exchange with the provider, when it was counted as an error. */
  lastErrorStatus: string | undefined
}

/**
 * On the request itself: a map would keep every request alive in its earlier tables until a full
 * garbage collection.
 */
function lifeOf(request: RequestView): Life | undefined {
  return request.metricsState as Life | undefined
}

/** Creates the observer that counts into the registry. */
export function createMetricsObserver(dependencies: {
  registry: MetricRegistry
  labelModel: ModelLabel
}): RequestObserver {
  return new MetricsObserver(dependencies)
}

class MetricsObserver implements RequestObserver {
  readonly name = 'metrics'
  readonly #labelModel: ModelLabel
  readonly #series: ReturnType<typeof openSeries>

  constructor({ registry, labelModel }: { registry: MetricRegistry; labelModel: ModelLabel }) {
    this.#labelModel = labelModel
    this.#series = openSeries(registry)
  }

  opened(request: RequestView): void {
    const life: Life = {
      provider: undefined,
      model: undefined,
      isAuthenticationFailed: false,
      isStreamCounted: false,
      firstTokenMs: undefined,
      hasUpstreamCall: false,
      called: undefined,
      upstreamMs: 0,
      lastErrorStatus: undefined
    }
    request.metricsState = life
    this.#series.requestsInFlight.at(request.protocol).add(1)
  }

  authenticationFailed(request: RequestView): void {
    const life = lifeOf(request)
    if (life !== undefined) life.isAuthenticationFailed = true
  }

  planned(request: RequestView, { model, providerKind, profileId }: PlannedFacts): void {
    const life = lifeOf(request)
    if (life === undefined) return
    life.provider = labelProvider({ providerKind, profileId })
    life.model = this.#labelModel(model)
  }

  upstreamCall(request: RequestView, { status, durationMs, attempt, profile }: UpstreamCallReport): void {
    const life = lifeOf(request)
    if (life === undefined) return
    const provider = profile === undefined ? life.provider : labelProvider(profile)
    const { protocol, route } = request
    const { upstreamDurations, upstreamErrors, upstreamRequests, upstreamRetries } = this.#series
    life.hasUpstreamCall = true
    life.called = provider
    life.upstreamMs += durationMs
    life.lastErrorStatus = isError(status) ? status : undefined
    upstreamDurations.at(protocol, provider, route, status).observe(durationMs / 1000)
    if (isError(status)) upstreamErrors.at(protocol, provider, route, status).add(1)
    upstreamRequests.at(provider, status).add(1)
    if (attempt > 0) upstreamRetries.at(provider).add(1)
  }

  /**
   * Counts a failure that the status of no exchange shows: an error or unusable content in a
   * response with status 200.
   */
  upstreamFailed(request: RequestView, errorType: string, profile: CalledProfile | undefined): void {
    const life = lifeOf(request)
    const status = errorType.replace(/^http_/, '')
    if (life === undefined || life.lastErrorStatus === status || !isError(status)) return
    const { protocol, route } = request
    const provider = profile === undefined ? life.provider : labelProvider(profile)
    this.#series.upstreamErrors.at(protocol, provider, route, status).add(1)
  }

  firstByte(request: RequestView, afterMs: number): void {
    const life = lifeOf(request)
    if (life === undefined || !request.isStreaming) return
    const { protocol } = request
    const { firstBytes, streamsInFlight } = this.#series
    life.isStreamCounted = true
    streamsInFlight.at(protocol).add(1)
    if (life.model !== undefined) {
      firstBytes.at(life.model, protocol, life.provider).observe(afterMs / 1000)
    }
  }

  firstToken(request: RequestView, afterMs: number): void {
    const life = lifeOf(request)
    if (life?.model === undefined) return
    life.firstTokenMs = afterMs
    const tokens = this.#series.firstTokens.at(life.model, request.protocol, life.provider)
    tokens.observe(afterMs / 1000)
  }

  anomaly(request: RequestView): void {
    const life = lifeOf(request)
    if (life?.model !== undefined) this.#series.anomalies.at(life.model, request.protocol, life.provider).add(1)
  }

  closed(request: RequestView, closed: ClosedFacts): void {
    const life = lifeOf(request)
    if (life === undefined) return
    request.metricsState = undefined
    const { provider } = life
    const { protocol, route } = request
    const { lifecycle, durationMs } = closed
    const series = this.#series
    const status = String(closed.status)
    const method = METHODS.has(request.method) ? request.method : OTHER_METHOD
    series.requests.at(lifecycle, method, protocol, provider, route, status).add(1)
    series.durations.at(lifecycle, method, protocol, provider, route, status).observe(durationMs / 1000)
    series.requestsInFlight.at(protocol).add(-1)
    if (life.isStreamCounted) series.streamsInFlight.at(protocol).add(-1)
    if (life.isAuthenticationFailed) series.authenticationFailures.at(protocol, route, status).add(1)
    if (lifecycle === 'streaming_aborted' && !closed.isComplete) {
      series.streamDisconnects.at(protocol, provider, route).add(1)
    }
    if (life.hasUpstreamCall) {
      // Uploads of one request run at the same time, so their sum may exceed the duration.
      const overheadMs = Math.max(0, durationMs - life.upstreamMs)
      series.overheads.at(protocol, life.called).observe(overheadMs / 1000)
    }
    this.#countTokens(request, life, closed)
  }

  #countTokens(
    request: RequestView,
    { model, provider, firstTokenMs }: Life,
    { facts, lifecycle, durationMs }: ClosedFacts
  ): void {
    const { inputTokens, outputTokens, costNanos } = facts
    const { protocol, route } = request
    const { interTokens, tokenRates } = this.#series
    if (model === undefined) return
    if (inputTokens !== undefined) this.#series.inputTokens.at(model, protocol, provider, route).add(inputTokens)
    if (costNanos !== undefined) this.#series.costs.at(model, protocol, provider, route).add(readAmount(costNanos))
    if (outputTokens === undefined) return
    this.#series.outputTokens.at(model, protocol, provider, route).add(outputTokens)
    if (lifecycle === 'request_completed' && outputTokens > 0) {
      tokenRates.at(model, protocol, provider).observe((outputTokens * 1000) / durationMs)
    }
    if (lifecycle !== 'streaming_completed' || firstTokenMs === undefined || outputTokens < 2) return
    // The time starts with the first token.
    const perTokenMs = (durationMs - firstTokenMs) / (outputTokens - 1)
    interTokens.at(model, protocol, provider).observe(perTokenMs / 1000)
    if (perTokenMs > 0) tokenRates.at(model, protocol, provider).observe(1000 / perTokenMs)
  }
}

function openSeries(registry: MetricRegistry) {
  return {
    requests: registry.counter('gateway_requests_total'),
    durations: registry.histogram('gateway_request_duration_seconds'),
    upstreamDurations: registry.histogram('gateway_upstream_duration_seconds'),
    upstreamErrors: registry.counter('gateway_upstream_errors_total'),
    inputTokens: registry.counter('gateway_tokens_input_total'),
    outputTokens: registry.counter('gateway_tokens_output_total'),
    costs: registry.counter('gateway_cost_total'),
    streamDisconnects: registry.counter('gateway_stream_disconnects_total'),
    requestsInFlight: registry.gauge('gateway_requests_in_flight'),
    streamsInFlight: registry.gauge('gateway_streams_in_flight'),
    firstBytes: registry.histogram('gateway_time_to_first_byte_seconds'),
    firstTokens: registry.histogram('gateway_time_to_first_token_seconds'),
    interTokens: registry.histogram('gateway_inter_token_seconds'),
    tokenRates: registry.histogram('gateway_output_tokens_per_second'),
    overheads: registry.histogram('gateway_overhead_seconds'),
    authenticationFailures: registry.counter('gateway_auth_failures_total'),
    upstreamRequests: registry.counter('gateway_upstream_requests_total'),
    upstreamRetries: registry.counter('gateway_upstream_retries_total'),
    anomalies: registry.counter('gateway_upstream_anomalies_total')
  }
}

/** Whether the status of an upstream call is a failure of the provider; a cancelled call is not. */
function isError(status: string): boolean {
  if (status === 'cancelled') return false
  const code = Number(status)
  return Number.isNaN(code) || code >= 400
}
