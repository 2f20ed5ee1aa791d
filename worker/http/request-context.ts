// One HTTP request as the stages, handlers and executors see it: what the client said (`ClientRequest`), when it ends (`RequestLifetime`),
// and what the gateway decided about it. One is created per request before any other step, so costly values are computed only when they
// are read.
import type { ServerResponse } from 'node:http'
import type { FoundKey } from '../../shared/keys/key-ring.ts'
import type { ModelScope } from '../../shared/keys/model-scope.ts'
import type { Logger } from '../../shared/logging.ts'
import type { GatewayError } from '../normalized/index.ts'
import type { RequestOutcome } from '../observation/observed-request.ts'
import type { PlannedFacts } from '../observation/observer.ts'
import type { Family, Operation, Protocol } from '../operations/operation.ts'
import type { ApiMode } from '../protocols/provider-face.ts'
import type { CalledProfile, UpstreamAuthorization } from '../providers/types.ts'
import type { BodyShare } from './request/body-share.ts'
import { ClientRequest, type ClientRequestEnvironment, type ClientRequestOptions } from './request/client-request.ts'
import { readRefusedModel } from './request/refused-model.ts'
import type { Replay } from './request/replay-mark.ts'
import type { RouteTraits } from './request/route-traits.ts'
import { RequestLifetime } from './request-lifetime.ts'
import { readOutcome } from './request-outcome.ts'
import type { FlatHeaders } from './response/cors.ts'
import type { PayloadLog } from './response/payload-log.ts'
import { logRefusal } from './response/refusal-line.ts'
import { writeResponseHeaders } from './response/response-headers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext
  }
}

export interface RequestContextOptions extends ClientRequestOptions {
  outgoing: ServerResponse
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

/** What a record tells of the route that refused its request (decisions.md 96). */
type RefusingRoute = Pick<PlannedFacts, 'providerKind' | 'profileId' | 'evidence'>

/** What all requests of a worker share. */
export interface RequestEnvironment extends ClientRequestEnvironment {
  /** Read when a response is written: while it is true, responses close their connection. */
  readonly drain: { readonly closesConnections: boolean }
  readonly log: Logger
  /** Undefined unless the log has payloads. */
  readonly payloadLog: PayloadLog | undefined
  /** The route of a public alias. */
  readonly findAlias: (name: string) => RefusingRoute | undefined
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

export class RequestContext extends ClientRequest {
  readonly outgoing: ServerResponse
  readonly traits: RouteTraits | undefined
  readonly apiMode: ApiMode
  readonly route: string
  readonly operation: Operation | undefined
  readonly family: Family
  readonly protocol: Protocol
  readonly lifetime: RequestLifetime
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
  /** The response is a stream and its head has been sent. */
  isStreaming = false
  /** Index of an admitted request in the drain gate, which alone writes it. */
  gatePlace: number | undefined

  readonly #environment: RequestEnvironment
  #apiKey: FoundKey | undefined
  #modelScope: ModelScope
  #failure: GatewayError | undefined
  /** The error type of the upstream failure that was reported last (operations.md 7.3). */
  #upstreamErrorType: string | undefined

  constructor(options: RequestContextOptions, environment: RequestEnvironment) {
    super(options, environment)
    const { incoming, outgoing } = options
    this.#environment = environment
    this.outgoing = outgoing
    this.traits = options.traits
    this.corsHeaders = options.corsHeaders
    this.family = options.family
    this.protocol = options.protocol
    this.apiMode = options.apiMode
    this.route = options.route
    this.operation = options.operation
    this.lifetime = new RequestLifetime({
      incoming,
      outgoing,
      onEnded: (sentBytes, isComplete) => this.#end(sentBytes, isComplete)
    })
    const response: ContextualResponse = outgoing
    response[CONTEXT] = this
    this.opened(incoming.headers)
  }

  /** Aborted with a `GatewayError` when the request ends early. Every upstream call of the request takes it. */
  get signal(): AbortSignal {
    return this.lifetime.signal
  }

  get isAborted(): boolean {
    return this.signal.aborted
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

  /** Undefined unless the log has payloads. */
  get payloadLog(): PayloadLog | undefined {
    return this.#environment.payloadLog
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
    const route = error.model === undefined ? undefined : this.#environment.findAlias(error.model)
    if (route !== undefined) this.refusedBy(route)
    if (error.code !== 'internal_error') return
    const fields = { err: error.cause ?? error, ...this.logIds, event: 'unhandled_fault' }
    this.#environment.log.error(fields, 'A request failed because of a fault in the gateway')
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

  #end(sentBytes: number, isComplete: boolean): void {
    this.bodyShare?.release()
    this.#environment.onClosed(this)
    this.closed(sentBytes, isComplete)
  }
}
