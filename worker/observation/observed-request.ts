// The part of a request that observers see: it collects the facts and emits each moment in order,
// nothing after `closed`.
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { computeCostNanos } from '../../shared/prices.ts'
import type { RunningLimitState } from '../limits/limit-state.ts'
import { joinUsage, type NormalizedEvent, type NormalizedUsage } from '../normalized/index.ts'
import type { Protocol } from '../operations/operation.ts'
import type { CalledProfile, UpstreamCallReport } from '../providers/types.ts'
import type { Observation } from './observation.ts'
import type {
  AnomalyDetails,
  AuthenticationFailure,
  CallDescription,
  Caller,
  ClosedFacts,
  DescriptionOptions,
  FailureFacts,
  KeyFacts,
  Lifecycle,
  LogIds,
  PlannedFacts,
  RemoteParent,
  RequestFacts,
  RequestView,
  TraceContext
} from './observer.ts'

export interface RequestOutcome {
  /**
   * The status that was sent, or 499 when the client disconnected or the drain deadline came first.
   */
  status: number
  lifecycle: Lifecycle
  /** In the words of `ClosedFacts`. */
  errorType: string | undefined
}

/** The outcome of a request whose response has an error status. */
export function refusedOutcome(status: number): RequestOutcome {
  return { status, lifecycle: 'request_error', errorType: `http_${status}` }
}

const NO_FACTS: RequestFacts = {}

export abstract class ObservedRequest implements RequestView {
  readonly requestId: string = randomUUID()
  readonly startedAtMs: number = performance.now()
  abstract readonly traceId: string
  abstract readonly spanId: string | undefined
  abstract readonly remoteParent: RemoteParent | undefined
  abstract readonly method: string
  abstract readonly route: string
  abstract readonly path: string
  abstract readonly protocol: Protocol
  abstract readonly isStreaming: boolean
  abstract readonly apiKeyHash: string | undefined
  abstract readonly clientIpHash: string | undefined
  abstract readonly caller: Caller
  abstract readonly clientRequestId: string | undefined
  apiKeyName: string | undefined
  traceContext: TraceContext | undefined
  limitState: RunningLimitState | undefined
  metricsState: object | undefined
  trafficState: object | undefined

  /** Undefined without observers, and after `closed`. */
  #observation: Observation | undefined
  #facts: RequestFacts = NO_FACTS
  /** All counts that were reported so far; undefined before the first ones. */
  #usage: NormalizedUsage | undefined
  #runningUpstreamCalls = 0
  #upstreamStatus: number | undefined
  /** Whether an observer wants `described` and `events`; undefined until it was asked. */
  #isFollowed: boolean | undefined
  #hasFirstByte = false
  #hasFirstToken = false
  /**
   * What `closed` will report, while it waits for an upstream call to end; its facts may still
   * grow.
   */
  #pendingEnd: Omit<ClosedFacts, 'facts' | 'upstreamStatus'> | undefined

  constructor(observation: Observation | undefined) {
    this.#observation = observation
  }

  abstract readKey(): KeyFacts

  /** How the request ended; meaningful once its response is over. */
  abstract outcome(): RequestOutcome

  /** The error that ended the request. */
  get failure(): FailureFacts | undefined {
    return undefined
  }

  readRefusedModel(): string | undefined {
    return undefined
  }

  get startedAtEpochMs(): number {
    return Math.round(performance.timeOrigin + this.startedAtMs)
  }

  get logIds(): LogIds {
    const { requestId: request_id, traceId: trace_id, spanId: span_id, traceContext: own } = this
    if (own === undefined) return { request_id, trace_id, span_id }
    return {
      request_id,
      trace_id,
      span_id: span_id ?? own.spanId,
      otel_trace_id: own.traceId,
      otel_span_id: own.spanId
    }
  }

  /** The facts that are known so far; never changed in place. */
  get facts(): RequestFacts {
    return this.#facts
  }

  /** Whether the methods below report to an observer. */
  get isObserved(): boolean {
    return this.#observation !== undefined
  }

  /** The request is complete enough to be looked at. Call it once, last in the constructor. */
  protected opened(headers: IncomingHttpHeaders): void {
    const observation = this.#observation
    if (observation === undefined) return
    observation.opened(this)
    if (observation.wantsContent) observation.headReceived(this, headers)
  }

  /** The body of a model request has arrived and was not read yet. */
  bodyReceived(body: Uint8Array): void {
    if (this.#observation?.wantsContent === true) this.#observation.bodyReceived(this, body)
  }

  /** The body of a whole response was handed to the connection. */
  bodySent(body: string | Uint8Array): void {
    if (this.#observation?.wantsContent === true) this.#observation.bodySent(this, body)
  }

  /** The request has no valid gateway key. */
  authenticationFailed(reason: AuthenticationFailure): void {
    this.#observation?.authenticationFailed(this, reason)
  }

  /**
   * What a description of this call must hold; undefined where no observer wants one, and nothing
   * may be computed for it.
   */
  get descriptionOptions(): DescriptionOptions | undefined {
    const options = this.#observation?.descriptionOptions
    return options !== undefined && this.#checkFollowed() ? options : undefined
  }

  /** What the request asks for. Call it once, before `planned`. */
  described(description: CallDescription): void {
    this.#observation?.described(this, description)
  }

  /** Whether an observer wants the events of this response. */
  get wantsEvents(): boolean {
    return this.#observation?.wantsEvents === true && this.#checkFollowed()
  }

  /**
   * Events of the response, after they were written for the client. The list is passed on as it is.
   */
  events(events: readonly NormalizedEvent[]): void {
    if (this.wantsEvents) this.#observation?.events(this, events)
  }

  /** Model and provider are chosen: before the provider is called, and again where nothing was sent and another target is chosen. */
  planned(facts: PlannedFacts): void {
    this.#facts = this.#facts === NO_FACTS ? facts : { ...this.#facts, ...facts }
    this.#observation?.planned(this, facts)
  }

  /** The route of an alias refused the request before it was planned: its record names the route, and no provider was chosen. */
  refusedBy({
    profileId,
    providerKind,
    evidence
  }: Pick<PlannedFacts, 'profileId' | 'providerKind' | 'evidence'>): void {
    if (this.#facts.profileId !== undefined) return
    this.#facts = { ...this.#facts, profileId, providerKind, ...(evidence && { evidence }) }
  }

  /** The route leaves these fields of the client out, besides those that were named before. */
  leaveOut(names: readonly string[]): void {
    const known = this.#facts.ignoredFields ?? []
    this.#facts = { ...this.#facts, ignoredFields: [...new Set([...known, ...names])] }
  }

  /** An exchange with the provider begins; `upstreamCall` follows. */
  upstreamCallStarted(): void {
    this.#runningUpstreamCalls += 1
  }

  /** An exchange with the provider has ended. */
  upstreamCall(report: UpstreamCallReport): void {
    this.#runningUpstreamCalls = Math.max(0, this.#runningUpstreamCalls - 1)
    this.#upstreamStatus = report.httpStatus
    this.#observation?.upstreamCall(this, report)
    const end = this.#pendingEnd
    if (this.#runningUpstreamCalls === 0 && end !== undefined) this.#emitClosed(end)
  }

  /**
   * A call to the provider finally failed, with this error type of operations.md 7.3.
   * `profile` is that of a call that belongs to no planned request.
   */
  upstreamFailed(errorType: string, profile?: CalledProfile): void {
    this.#observation?.upstreamFailed(this, errorType, profile)
  }

  get hasFirstByte(): boolean {
    return this.#hasFirstByte
  }

  /** The first byte of the response was handed to the connection; later calls do nothing. */
  firstByte(): void {
    if (this.#hasFirstByte) return
    this.#hasFirstByte = true
    this.#observation?.firstByte(this, performance.now() - this.startedAtMs)
  }

  /**
   * The first text, reasoning or tool call of a stream was handed to the connection; later calls do
   * nothing.
   */
  firstToken(): void {
    if (this.#hasFirstToken) return
    this.#hasFirstToken = true
    this.#observation?.firstToken(this, performance.now() - this.startedAtMs)
  }

  /** The provider's token counts; a count that it did not report leaves an earlier one in place. */
  usage(usage: NormalizedUsage): void {
    const { inputTokens, outputTokens, totalTokens } = usage
    const facts: { -readonly [Name in keyof RequestFacts]: RequestFacts[Name] } = { ...this.#facts }
    if (inputTokens !== null) facts.inputTokens = inputTokens
    if (outputTokens !== null) facts.outputTokens = outputTokens
    // An earlier total would be too small for later counts.
    if (totalTokens === null) delete facts.totalTokens
    else facts.totalTokens = totalTokens
    this.#facts = facts
    this.#usage = joinUsage(this.#usage, usage)
    this.#observation?.usage(this, usage)
  }

  /** The provider's response was unexpected but usable. `name` is a stable id. */
  anomaly(name: string, details?: AnomalyDetails): void {
    this.#observation?.anomaly(this, name, details)
  }

  /**
   * The response is over and `bytesSent` bytes were written. `closed` is emitted now, or after the
   * upstream calls that still run: a provider may keep its connection open for a moment after its
   * last event. After a client disconnect (`isComplete` false) nothing is waited for; a call that
   * others share is no longer part of this request.
   */
  protected closed(bytesSent: number, isComplete: boolean): void {
    if (this.#observation === undefined) return
    const durationMs = performance.now() - this.startedAtMs
    const { status, lifecycle, errorType } = this.outcome()
    const { failure } = this
    const end = { status, lifecycle, isComplete, errorType, failure, durationMs, bytesSent }
    if (isComplete && this.#runningUpstreamCalls > 0) this.#pendingEnd = end
    else this.#emitClosed(end)
  }

  #checkFollowed(): boolean {
    this.#isFollowed ??= this.#observation?.follows(this) === true
    return this.#isFollowed
  }

  #emitClosed(end: Omit<ClosedFacts, 'facts' | 'upstreamStatus'>): void {
    this.#pendingEnd = undefined
    this.#settleCost()
    this.#observation?.closed(this, { ...end, facts: this.#facts, upstreamStatus: this.#upstreamStatus })
    this.#observation = undefined
  }

  /** Adds the cost to the facts, once, because only now no further counts can come. */
  #settleCost(): void {
    const findPrice = this.#observation?.findPrice
    // A count that the gateway made itself is no usage of the provider.
    if (findPrice === undefined || this.#usage === undefined || this.#facts.isTokenEstimate === true) return
    const price = findPrice(this.#facts)
    const costNanos = price && computeCostNanos(this.#usage, price)
    if (costNanos !== undefined) this.#facts = { ...this.#facts, costNanos }
  }
}
