// What an observer of requests may implement, and the plain facts that it is given. The access log is one; metrics, traffic records
// and spans are others. Observers run inside the request: they must be synchronous and quick.
import type { AdmissionEvidence, RouteEvidence } from '../bridge/evidence.ts'
import type { NormalizedUsage } from '../normalized/index.ts'
import type { UpstreamCallReport } from '../providers/types.ts'

/** Client protocol of a route in the words of metrics and records (operations contract, section 7.4). */
export type Protocol = 'openai' | 'anthropic' | 'gemini' | 'litellm' | 'system'

/** How a request ended (operations contract, sections 3.6 and 7.4). */
export type Lifecycle =
  | 'request_completed'
  | 'streaming_completed'
  | 'request_error'
  | 'request_aborted'
  | 'streaming_aborted'

/** The W3C trace context of a request's own span (operations contract, section 11.6). */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  /** Decided when the request begins; the span of a failed request is exported even when this is false. */
  readonly isSampled: boolean
  /** What the native upstream receives: the span of the call to the provider as the parent. */
  readonly traceparent: string
  /** Of the client, next to its valid `traceparent`. */
  readonly tracestate: string | undefined
}

/** The span of the client that a request belongs to, from a valid W3C `traceparent`. */
export interface RemoteParent {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
  readonly tracestate: string | undefined
}

/** What is known of a request from its start on. Nothing here is content, a key or an address. */
export interface RequestView {
  /** Fresh for every request; the response carries it as `x-request-id`. */
  readonly requestId: string
  /** The client's `x-trace-id`, else that of `traceContext`, else the trace id of its `traceparent`, else the request id. */
  readonly traceId: string
  /** The client's `x-span-id`. */
  readonly spanId: string | undefined
  /** Computed at each read. */
  readonly remoteParent: RemoteParent | undefined
  /** As the client wrote it; `OTHER` where the head could not be read. */
  readonly method: string
  /** Template of the route, such as `/v1/models/{model}`, or `unmatched`. */
  readonly route: string
  /** The repaired path without its query; '' where the head could not be read. */
  readonly path: string
  readonly protocol: Protocol
  /** Fingerprint of the key that the caller presented (operations contract, section 3.1). Computed at each read. */
  readonly caller: string | undefined
  /** Milliseconds of the monotonic clock, counted from `performance.timeOrigin`. */
  readonly startedAtMs: number
  /** Milliseconds since the epoch. */
  readonly startedAtEpochMs: number
  /** Set by the tracing observer in `opened`; undefined without tracing. */
  traceContext?: TraceContext | undefined
}

/** What was decided before the provider is called. */
export interface PlannedFacts {
  /** As the client names it. */
  readonly model: string
  readonly providerKind: string
  readonly profileId: string
  readonly isStream: boolean
  /** Of an alias of a profile file: the configuration that decided (bridge contract, section 7.7). */
  readonly evidence?: RouteEvidence
  /** Of an alias of an external provider: what the request was admitted for. */
  readonly admission?: AdmissionEvidence
}

/** Everything that was learned on the way, for observers that only look at the end. */
export interface RequestFacts extends Partial<PlannedFacts> {
  readonly inputTokens?: number
  readonly outputTokens?: number
}

export interface ClosedFacts {
  /** The status that was sent, or 499 when the client disconnected or the drain deadline came first. */
  readonly status: number
  readonly lifecycle: Lifecycle
  /**
   * For an upstream failure one of the words of the operations contract, section 7.3; `stream_cancelled` or `request_cancelled`
   * (section 3.6); else `http_<status>` from 400 on. Undefined for a success.
   */
  readonly errorType: string | undefined
  /** From the request's head to the last byte of the response. */
  readonly durationMs: number
  /** Bytes that the connection sent meanwhile, heads included. */
  readonly bytesSent: number
  readonly facts: RequestFacts
}

/** Why the gateway key of a request was refused. */
export type AuthenticationFailure = 'missing' | 'wrong'

export type AnomalyDetails = Readonly<Record<string, string | number>>

/**
 * The moments of a request. `opened` is the first and `closed` the last, each exactly once for every request, whether it succeeds or
 * fails. The others occur at most once, except `upstreamCall` and `anomaly`, and `usage` when a provider reports its counts in parts.
 */
export interface RequestObserver {
  /** For the log line of an observer that throws. */
  readonly name: string
  /** The head was read, or could not be read. */
  opened?(request: RequestView): void
  /** The request has no valid gateway key and is answered with 401 (decision 41). */
  authenticationFailed?(request: RequestView, reason: AuthenticationFailure): void
  /** Model and provider are chosen; no provider was called yet. */
  planned?(request: RequestView, facts: PlannedFacts): void
  /** One exchange with the provider has ended, well or not: one call for each attempt. */
  upstreamCall?(request: RequestView, report: UpstreamCallReport): void
  /** The first byte of the response was handed to the connection, `afterMs` after the start. */
  firstByte?(request: RequestView, afterMs: number): void
  /** The first text, reasoning, refusal or tool call of a stream was handed to the connection, `afterMs` after the start. */
  firstToken?(request: RequestView, afterMs: number): void
  /** Token counts of the provider; later ones replace earlier ones. */
  usage?(request: RequestView, usage: NormalizedUsage): void
  /** The provider's response was unexpected but usable. `name` is a stable id. */
  anomaly?(request: RequestView, name: string, details: AnomalyDetails | undefined): void
  /** The response is complete or its connection is closed. */
  closed?(request: RequestView, facts: ClosedFacts): void
  /** The worker closes and no request is open any more: hand over what is kept. Ends within five seconds and never rejects. */
  close?(): Promise<void>
}
