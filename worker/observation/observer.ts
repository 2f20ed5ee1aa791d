// What an observer of requests may implement, and the plain facts that it is given. The access log
// is one; metrics, traffic records and spans are others. Observers run inside the request: they
// must be synchronous and quick.
import type { IncomingHttpHeaders } from 'node:http'
import type { AdmissionEvidence, RouteEvidence } from '../bridge/evidence.ts'
import type { LimitState } from '../limits/limit-state.ts'
import type { NormalizedEvent, NormalizedUsage } from '../normalized/index.ts'
import type { Operation, Protocol } from '../operations/operation.ts'
import type { CalledProfile, UpstreamCallReport } from '../providers/types.ts'
import type { CallDescription, DescriptionOptions } from '../translation/call-description.ts'

export type { CallDescription, DescriptionOptions } from '../translation/call-description.ts'

/** How a request ended (operations.md 3.6 and 7.4). */
export type Lifecycle =
  | 'request_completed'
  | 'streaming_completed'
  | 'request_error'
  | 'request_aborted'
  | 'streaming_aborted'

/** The ids of a request in its log lines (operations.md 11.6 and 12). */
export interface LogIds {
  readonly request_id: string
  readonly trace_id: string
  /** The client's `x-span-id`, else that of `traceContext`. */
  readonly span_id: string | undefined
  /** Those of `traceContext`, also where the client gave ids. */
  readonly otel_trace_id?: string
  readonly otel_span_id?: string
}

/** The W3C trace context of a request's own span (operations.md 11.6). */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  /**
   * Decided when the request begins; the span of a failed request is exported even when this is
   * false.
   */
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

export type CallerCategory = 'ui' | 'sdk' | 'agent' | 'browser' | 'http_client' | 'unknown'

/**
 * What sent a request (operations.md 11.5), as it stands in `annotations.caller` of records and
 * spans: without nulls.
 */
export interface Caller {
  readonly name: string
  readonly category: CallerCategory
  /** The SDK family that its headers or its user agent name. */
  readonly client_family?: 'openai' | 'anthropic' | 'gemini'
  /** The name again, of a caller of this category. */
  readonly sdk?: string
  readonly agent?: string
  readonly ui?: 'swagger' | 'redoc'
  /** At most 256 characters. */
  readonly user_agent?: string
  /** The client's `x-agent-id`, at most 256 characters. */
  readonly agent_id?: string
}

/** What is known of a request from its start on. Nothing here is content, a key or an address. */
export interface RequestView {
  /** Fresh for every request; the response carries it as `x-request-id`. */
  readonly requestId: string
  /**
   * The client's `x-trace-id`, else that of `traceContext`, else the trace id of its `traceparent`,
   * else the request id.
   */
  readonly traceId: string
  /** The client's `x-span-id`. */
  readonly spanId: string | undefined
  /** Computed at each read. */
  readonly remoteParent: RemoteParent | undefined
  /** As the client wrote it; `OTHER` where the head could not be read. */
  readonly method: string
  /** Template of the route, such as `/v1/models/{model}`, or `unmatched`. */
  readonly route: string
  /** Undefined for system routes and for paths that no route serves. */
  readonly operation?: Pick<Operation, 'method' | 'span'> | undefined
  /** The path as the client sent it, without its query; '' where the head could not be read. */
  readonly path: string
  readonly protocol: Protocol
  /**
   * Fingerprint of the key that the caller presented (operations.md 3.1). Computed at each read.
   */
  readonly apiKeyHash: string | undefined
  /**
   * Fingerprint of the address of the connection's peer. Computed at each read. Read it in
   * `opened`: a connection that is closed has no address any more.
   */
  readonly clientIpHash: string | undefined
  /** What the client's headers say about it. Read at each call from a bounded cache. */
  readonly caller: Caller
  /** The client's own `x-request-id`, when its form is safe for a record. */
  readonly clientRequestId: string | undefined
  /** Id of the traffic record that this request replays. */
  readonly replayOf?: string | undefined
  /** The response is a stream and its head has been sent. */
  readonly isStreaming: boolean
  /** Milliseconds of the monotonic clock, counted from `performance.timeOrigin`. */
  readonly startedAtMs: number
  /** Milliseconds since the epoch. */
  readonly startedAtEpochMs: number
  /** Set by the tracing observer in `opened`; undefined without tracing. */
  traceContext?: TraceContext | undefined
  /** Of a request of a limited key, once its limits were looked at. */
  readonly limitState?: LimitState | undefined
  /** What the metrics keep of the request while it runs; no other observer reads it. */
  metricsState?: object | undefined
  /** The same for the traffic log. */
  trafficState?: object | undefined
  /** Computed at each read. */
  readonly logIds: LogIds
  /**
   * The model that a refused request names, at most 256 characters of it: read from its body, which
   * costs what the refusal has cost.
   */
  readRefusedModel(): string | undefined
  /** Name of the configured gateway key that the caller presented, once it was checked. */
  readonly apiKeyName: string | undefined
  /** Computed at each call. */
  readKey(): KeyFacts
}

/** What was decided before the provider is called. */
export interface PlannedFacts {
  /** As the client names it; the default model where the client named none. */
  readonly model: string
  /** As the client wrote it; absent where it named none. */
  readonly requestedModel?: string | undefined
  /**
   * As the provider names it: for records and spans only (decisions.md 15). Absent where an
   * assistant or a thread implies it.
   */
  readonly upstreamModel?: string | undefined
  readonly providerKind: string
  readonly profileId: string
  readonly isStream: boolean
  /** Of an alias of a profile file: the configuration that decided (bridge.md 7.7). */
  readonly evidence?: RouteEvidence
  /** Of an alias of an external provider: what the request was admitted for. */
  readonly admission?: AdmissionEvidence
  /** Of a model that no alias declares: the inventory of the provider that lists it. */
  readonly inventoryRevision?: string | undefined
  /** The profile is that of the target which was chosen for an alias with several deployments (decisions.md 116). */
  readonly isTarget?: true
  /** The gateway counts the tokens itself, because the provider cannot. */
  readonly isTokenEstimate?: true
}

/** Everything that was learned on the way, for observers that only look at the end. */
export interface RequestFacts extends Partial<PlannedFacts> {
  /** The client's fields that had no effect, under names that are safe in headers and logs (decisions.md 70). */
  readonly ignoredFields?: readonly string[]
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** As the provider counts it; not always the sum of the others. */
  readonly totalTokens?: number
  /**
   * What these tokens cost, in billionths of the currency: known when `closed` is emitted. Absent where the model has no price or the
   * provider reported no counts (keys.md 4).
   */
  readonly costNanos?: number
}

/**
 * The error that ended a request, for records and spans that are allowed to hold content: its
 * message may repeat some.
 */
export interface FailureFacts {
  readonly code: string
  readonly message: string
  /** Without words of a provider or of the request's content: for records and log lines without content (decisions.md 96). */
  readonly ownMessage: string
  /** The client's field at fault. */
  readonly param?: string | undefined
  /** Every wrong place of a request with several. */
  readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }> | undefined
  /** The provider's words, where the client does not get them. */
  readonly providerText?: string | undefined
}

/** Whose key a request carries. */
export interface KeyFacts {
  /** Of a key of the gateway. */
  readonly name?: string | undefined
  /** Fingerprint of a key that the gateway does not know. */
  readonly hash?: string | undefined
}

export interface ClosedFacts {
  /**
   * The status that was sent, or 499 when the client disconnected or the drain deadline came first.
   */
  readonly status: number
  readonly lifecycle: Lifecycle
  /**
   * False when the connection was closed before the last byte of the response: the client
   * disconnected.
   */
  readonly isComplete: boolean
  /**
   * For an upstream failure one of the words of operations.md 7.3; `stream_cancelled` or
   * `request_cancelled` (section 3.6); else `http_<status>` from 400 on. Undefined for a success.
   */
  readonly errorType: string | undefined
  /** Of the last exchange with the provider; undefined where it began no response. */
  readonly upstreamStatus?: number | undefined
  /** Absent for a success. */
  readonly failure?: FailureFacts | undefined
  /** From the request's head to the last byte of the response. */
  readonly durationMs: number
  /** Bytes that the connection sent since the response before this one, heads included. */
  readonly bytesSent: number
  readonly facts: RequestFacts
}

/** Why the key of a request was refused. */
export type AuthenticationFailure = 'missing' | 'wrong' | 'expired' | 'disabled'

export type AnomalyDetails = Readonly<Record<string, string | number>>

/**
 * The moments of a request. `opened` is the first and `closed` the last, each exactly once for
 * every request, whether it succeeds or fails. The others occur at most once, except
 * `upstreamCall`, `anomaly` and `events`, and `usage` when a provider reports its counts in parts.
 */
export interface RequestObserver {
  /** For the log line of an observer that throws. */
  readonly name: string
  /** What `described` shall hold besides names, counts and settings. Absent: no content. */
  readonly descriptionOptions?: DescriptionOptions
  /**
   * Whether `described` and `events` are wanted for this request; absent: for every request. Asked
   * at most once per request, after `opened`. An observer that returns false may be notified all
   * the same, because of another one.
   */
  follows?(request: RequestView): boolean
  /** The head was read, or could not be read. */
  opened?(request: RequestView): void
  /**
   * The headers as the client sent them, keys and cookies included; right after `opened`. This and
   * the next two are content: only an observer of an operator who asked for content has them.
   */
  headReceived?(request: RequestView, headers: IncomingHttpHeaders): void
  /**
   * The body of a model request has arrived. Its bytes may be moved to another thread afterwards,
   * so what is kept must be copied.
   */
  bodyReceived?(request: RequestView, body: Uint8Array): void
  /** The response is whole and has this body, which is never changed. Streams have `events`. */
  bodySent?(request: RequestView, body: string | Uint8Array): void
  /**
   * The request has no valid gateway key and gets 401 (decisions.md 41), or no valid admin key and
   * gets 403.
   */
  authenticationFailed?(request: RequestView, reason: AuthenticationFailure): void
  /**
   * The body of a chat, an embeddings request or a token count was read and translated; `planned`
   * follows. The description may hold more than this observer asked for: content that another one
   * asked for.
   */
  described?(request: RequestView, description: CallDescription): void
  /** Model and provider are chosen; no provider was called yet. */
  planned?(request: RequestView, facts: PlannedFacts): void
  /** One exchange with the provider has ended, well or not: one call for each attempt. */
  upstreamCall?(request: RequestView, report: UpstreamCallReport): void
  /**
   * A call to the provider finally failed, after its last attempt; `errorType` is one of the words
   * of `ClosedFacts`, `profile` that of a call that belongs to no planned request.
   */
  upstreamFailed?(request: RequestView, errorType: string, profile: CalledProfile | undefined): void
  /** The first byte of the response was handed to the connection, `afterMs` after the start. */
  firstByte?(request: RequestView, afterMs: number): void
  /**
   * The first text, reasoning, refusal or tool call of a stream was handed to the connection,
   * `afterMs` after the start.
   */
  firstToken?(request: RequestView, afterMs: number): void
  /**
   * Events of the response to a chat, right after they were written in the client's form: all of
   * them at once for a whole response, those of one upstream read for a stream, those that were
   * read in a body that is passed on as bytes. An error that ends a started stream is an event too.
   * The events are not copied and must not be changed.
   */
  events?(request: RequestView, events: readonly NormalizedEvent[]): void
  /** Token counts of the provider; later ones replace earlier ones. */
  usage?(request: RequestView, usage: NormalizedUsage): void
  /** The provider's response was unexpected but usable. `name` is a stable id. */
  anomaly?(request: RequestView, name: string, details: AnomalyDetails | undefined): void
  /** The response is complete or its connection is closed. */
  closed?(request: RequestView, facts: ClosedFacts): void
  /**
   * The worker closes and no request is open any more: hand over what is kept. Ends within so many milliseconds, or within a bound of its
   * own below five seconds, and never rejects.
   */
  close?(withinMs: number): Promise<void>
}
