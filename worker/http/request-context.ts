// The facts of one HTTP request: ids, family, credentials, body, the signal that aborts its
// upstream call, and the moments that are reported to observers. One is created per request before
// any other step, so costly values are computed only when they are read.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FoundKey } from '../../shared/keys/key-ring.ts'
import type { ModelScope } from '../../shared/keys/model-scope.ts'
import type { Logger } from '../../shared/logging.ts'
import { GatewayError } from '../normalized/index.ts'
import type { Observation } from '../observation/observation.ts'
import { ObservedRequest, type RequestOutcome } from '../observation/observed-request.ts'
import type { Caller, KeyFacts, PlannedFacts, RemoteParent } from '../observation/observer.ts'
import type { Family, Operation, Protocol } from '../operations/operation.ts'
import type { ApiMode } from '../protocols/provider-face.ts'
import type { CalledProfile, UpstreamAuthorization } from '../providers/types.ts'
import type { BodyShare } from './body-share.ts'
import { classifyCaller } from './caller.ts'
import type { FlatHeaders } from './cors.ts'
import type { QueryValues } from './families.ts'
import { type Fingerprint, findCallerKey } from './fingerprint.ts'
import type { ReadKeyFacts } from './key-facts.ts'
import { toLocalTarget, withoutQuery } from './path-repair.ts'
import type { PayloadLog } from './payload-log.ts'
import { logRefusal } from './refusal-line.ts'
import { readRefusedModel } from './refused-model.ts'
import { findReplay, type Replay } from './replay-mark.ts'
import { readOutcome } from './request-outcome.ts'
import { writeResponseHeaders } from './response-headers.ts'
import type { RouteTraits } from './route-traits.ts'
import { findConnection } from './served-connection.ts'
import { readClientRequestId, readRemoteParent, readSpanId, readTraceId } from './trace-context.ts'

/** Fastify keeps the target that it has rewritten. */
type RewrittenMessage = IncomingMessage & { readonly originalUrl?: string }

/** The target of the request line, as the client sent it. */
export function readTarget(incoming: IncomingMessage): string {
  const { url = '/', originalUrl = url }: RewrittenMessage = incoming
  return originalUrl
}

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext
  }
}

export interface RequestContextOptions {
  incoming: IncomingMessage
  outgoing: ServerResponse
  query: QueryValues
  family: Family
  protocol: Protocol
  apiMode: ApiMode
  /** Template of the route, or `unmatched`. */
  route: string
  operation: Operation | undefined
  /** Of the matched route; undefined where none matched. */
  traits: RouteTraits | undefined
  /** Cross-origin headers of the response. */
  corsHeaders: FlatHeaders
}

/** What all requests of a worker share. */
export interface RequestEnvironment {
  /** Read when a response is written: while it is true, responses close their connection. */
  readonly drain: { readonly closesConnections: boolean }
  readonly log: Logger
  readonly fingerprint: Fingerprint
  readonly readKeyFacts: ReadKeyFacts
  readonly observation: Observation | undefined
  /** Undefined unless the log has payloads. */
  readonly payloadLog: PayloadLog | undefined
  /** Called once, when the response is complete or its connection is closed. */
  readonly onClosed: (context: RequestContext) => void
}

/**
 * The key under which a response keeps its request's context, for the listener, which has only the
 * response.
 */
const CONTEXT = Symbol('request context')

interface ContextualResponse extends ServerResponse {
  [CONTEXT]?: RequestContext
}

/**
 * The context of the request that this response belongs to; undefined until the first stage created
 * it.
 */
export function findContext(outgoing: ServerResponse): RequestContext | undefined {
  return (outgoing as ContextualResponse)[CONTEXT]
}

const SERVER_AUTHORIZATION: UpstreamAuthorization = { type: 'server' }
const EMPTY_BODY = Buffer.alloc(0)

export class RequestContext extends ObservedRequest {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly query: QueryValues
  readonly traits: RouteTraits | undefined
  readonly apiMode: ApiMode
  readonly route: string
  readonly operation: Operation | undefined
  readonly family: Family
  readonly protocol: Protocol
  /**
   * The body as it came, decompressed. Empty from `planned` on: nothing reads it again, and a
   * stream may run for minutes.
   */
  body: Buffer = EMPTY_BODY
  /** On whose behalf the upstream is called. */
  authorization: UpstreamAuthorization = SERVER_AUTHORIZATION
  /** Cross-origin headers of the response; a preflight has others. */
  corsHeaders: FlatHeaders
  /** Set when the request is refused but its body must be counted first (413 goes before 401). */
  refusal: GatewayError | undefined
  /** What the body takes of the memory of the worker; undefined where that has no limit. */
  bodyShare: BodyShare | undefined
  /** Ends the reading of a body that is still arriving. */
  cancelBody: ((reason: GatewayError) => void) | undefined
  /** The response is a stream and its head has been sent. */
  isStreaming = false
  /**
   * The gateway itself closes the connection in the middle of the response, which ends a failed
   * stream of some protocols.
   */
  isCut = false
  /**
   * The whole response was sent and only the rest of the request is read: a client that closes its
   * connection now is complete.
   */
  isSent = false
  /**
   * Aborted with a `GatewayError` when the client disconnects, at the drain deadline, and when the
   * time of a non-streaming request is up. Every upstream call of the request takes it.
   */
  readonly signal: AbortSignal
  /** Index of an admitted request in the drain gate, which alone writes it. */
  gatePlace: number | undefined

  readonly #environment: RequestEnvironment
  readonly #cancellation = new AbortController()
  readonly #onConnectionClosed: () => void
  readonly #isQueued: boolean
  #apiKey: FoundKey | undefined
  #modelScope: ModelScope
  #failure: GatewayError | undefined
  /** The error type of the upstream failure that was reported last (operations.md 7.3). */
  #upstreamErrorType: string | undefined
  #deadline: NodeJS.Timeout | undefined
  #traceId: string | undefined
  #isClosed = false
  /** The work of the request goes on when its connection is closed. */
  #isDetached = false
  /** What the connection of a detached request had sent when it was closed. */
  #sentBytes: number | undefined

  constructor(options: RequestContextOptions, environment: RequestEnvironment) {
    super(environment.observation)
    const { incoming, outgoing } = options
    this.#environment = environment
    this.signal = this.#cancellation.signal
    this.incoming = incoming
    this.outgoing = outgoing
    this.query = options.query
    this.traits = options.traits
    this.corsHeaders = options.corsHeaders
    this.family = options.family
    this.protocol = options.protocol
    this.apiMode = options.apiMode
    this.route = options.route
    this.operation = options.operation
    this.#onConnectionClosed = () => this.#close()
    // The response closes when it was sent, and when the connection breaks before that. One
    // listener, added before anything is dispatched, covers a client disconnect before, during and
    // after the first byte (field-lessons.md H1 to H3).
    outgoing.on('close', this.#onConnectionClosed)
    // A pipelined response has no connection yet and would not emit the event.
    this.#isQueued = outgoing.socket === null
    if (this.#isQueued) incoming.socket.once('close', this.#onConnectionClosed)
    const response: ContextualResponse = outgoing
    response[CONTEXT] = this
    this.opened(incoming.headers)
  }

  get traceId(): string {
    this.#traceId ??= readTraceId(this.incoming.headers, this)
    return this.#traceId
  }

  get spanId(): string | undefined {
    return readSpanId(this.incoming.headers)
  }

  get remoteParent(): RemoteParent | undefined {
    return readRemoteParent(this.incoming.headers)
  }

  get method(): string {
    return this.incoming.method ?? ''
  }

  /** As the client sent it. */
  get path(): string {
    return withoutQuery(toLocalTarget(readTarget(this.incoming)))
  }

  /** The repaired path, by which the route was found. */
  get routedPath(): string {
    return withoutQuery(this.incoming.url ?? '/')
  }

  get apiKeyHash(): string | undefined {
    const key = findCallerKey(this.incoming.headers, this.query)
    return key === undefined ? undefined : this.#environment.fingerprint(key)
  }

  override readKey(): KeyFacts {
    if (this.apiKeyName !== undefined) return { name: this.apiKeyName }
    return this.#environment.readKeyFacts({ headers: this.incoming.headers, query: this.query })
  }

  get clientIpHash(): string | undefined {
    const { remoteAddress } = this.incoming.socket
    return remoteAddress === undefined ? undefined : this.#environment.fingerprint(remoteAddress)
  }

  get caller(): Caller {
    return classifyCaller(this.incoming.headers)
  }

  get clientRequestId(): string | undefined {
    return readClientRequestId(this.incoming.headers)
  }

  get replayOf(): string | undefined {
    return this.replay?.sourceId
  }

  /** Undefined for the request of a client. */
  get replay(): Replay | undefined {
    return findReplay(this.incoming.socket)
  }

  /** The key that a client's request was admitted with; undefined where none is needed, and before it was checked. */
  get apiKey(): FoundKey | undefined {
    return this.#apiKey
  }

  /** The models that the request may name (keys.md 2). */
  get modelScope(): ModelScope {
    return this.#modelScope
  }

  /** The key was checked, and the request may be sent in its name. */
  admitKey(key: FoundKey): void {
    this.#apiKey = key
    this.#modelScope = key.scope
    this.apiKeyName = key.name
  }

  /** The request is a replay of an admin. */
  admitReplay({ keyName, scope }: Replay): void {
    this.#modelScope = scope
    this.apiKeyName = keyName
  }

  override get failure(): GatewayError | undefined {
    return this.#failure ?? this.signal.reason
  }

  override readRefusedModel(): string | undefined {
    if (!this.isModelRequest) return undefined
    return readRefusedModel(this.routedPath, this.body)
  }

  /** Whether the request starts model work. */
  get isModelRequest(): boolean {
    return this.traits?.isModelRequest === true
  }

  /** Whether the client wants every field refused that its route would leave out (decisions.md 71). */
  get refusesUnsupported(): boolean {
    return this.incoming.headers['x-gateway-unsupported'] === 'refuse'
  }

  /** Undefined unless the log has payloads. */
  get payloadLog(): PayloadLog | undefined {
    return this.#environment.payloadLog
  }

  get isAborted(): boolean {
    return this.signal.aborted
  }

  /** Aborts the upstream call and the reading of the body; the first reason is kept. */
  abort(reason: GatewayError): void {
    if (this.signal.aborted) return
    this.#cancellation.abort(reason)
    this.cancelBody?.(reason)
  }

  /** Limits the whole request to this many milliseconds; a request for a stream is exempt. */
  startDeadline(timeoutMs: number): void {
    this.#deadline = setTimeout(() => this.abort(new GatewayError('provider_timeout')), timeoutMs)
  }

  /** The client asks for a stream: its duration has no bound (field-lessons.md H5). */
  expectStream(): void {
    clearTimeout(this.#deadline)
  }

  /**
   * The work of the request belongs to no connection any more: it has no bound of its time, and a client that leaves does not end it. The
   * request stays open, for the drain gate and for observers, until its response has ended and the returned function was called.
   */
  detach(): () => void {
    this.#isDetached = true
    this.expectStream()
    return () => {
      if (!this.#isDetached) return
      this.#isDetached = false
      if (this.#sentBytes !== undefined) this.#conclude(this.#sentBytes, true)
    }
  }

  override planned(facts: PlannedFacts): void {
    this.body = EMPTY_BODY
    super.planned(facts)
  }

  override firstByte(): void {
    this.bodyShare?.shrink()
    super.firstByte()
  }

  override upstreamFailed(errorType: string, profile?: CalledProfile): void {
    this.#upstreamErrorType = errorType
    super.upstreamFailed(errorType, profile)
  }

  /**
   * Headers of every response, whichever stage writes it: ids, cross-origin rules, the time until
   * now, what a limited key may still use, and while draining the end of the connection.
   */
  responseHeaders(): string[] {
    return writeResponseHeaders(this, this.#environment.drain)
  }

  /**
   * The request failed: its response is this error, or its stream ended with it. An internal error
   * is logged, and the reason of a refusal before any call.
   */
  failed(error: GatewayError): void {
    this.#failure = error
    logRefusal(this.#environment.log, error, this)
    if (error.code !== 'internal_error') return
    const fields = { err: error.cause ?? error, ...this.logIds, event: 'unhandled_fault' }
    this.#environment.log.error(fields, 'A request failed because of a fault in the gateway')
  }

  /**
   * Closes the connection, because the response has begun and cannot be completed, and aborts the
   * request with `error`.
   */
  cut(error: GatewayError): void {
    this.abort(error)
    this.outgoing.destroy()
  }

  /** How the request ended; meaningful once it is closed. */
  outcome(): RequestOutcome {
    return readOutcome({
      isStreaming: this.isStreaming,
      status: this.outgoing.statusCode,
      abortReason: this.signal.reason,
      failure: this.#failure,
      upstreamErrorType: this.#upstreamErrorType
    })
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#isQueued) this.incoming.socket.removeListener('close', this.#onConnectionClosed)
    clearTimeout(this.#deadline)
    // Now, because the connection may serve its next request while the work of this one goes on.
    const sentBytes = findConnection(this.incoming.socket)?.takeSentBytes() ?? 0
    if (this.#isDetached) {
      this.#sentBytes = sentBytes
      return
    }
    const isComplete = this.outgoing.writableFinished || this.isCut || this.isSent
    if (!isComplete) this.abort(new GatewayError('client_disconnected'))
    this.#conclude(sentBytes, isComplete)
  }

  #conclude(sentBytes: number, isComplete: boolean): void {
    this.bodyShare?.release()
    this.#environment.onClosed(this)
    this.closed(sentBytes, isComplete)
  }
}
