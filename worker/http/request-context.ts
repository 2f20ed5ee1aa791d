// What the gateway knows about one HTTP request while it serves it: ids, family, credentials, body, and the one signal that ends
// its upstream work. It is made for every request before anything else happens, so everything that costs waits until it is read.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiMode } from '../bridge/plan.ts'
import { planUpstreamHeaders } from '../execution/upstream-headers.ts'
import { GatewayError } from '../normalized/index.ts'
import { CancelSource } from '../performance/cancel-source.ts'
import { type Deadlined, forgetDeadline, UNWATCHED, watchDeadline } from '../performance/deadlines.ts'
import type { CallContext, UpstreamAuthorization } from '../providers/types.ts'
import type { FlatHeaders } from './cors.ts'
import type { Family, QueryValues } from './families.ts'
import type { RouteTraits } from './route-traits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext
  }
}

/** How a request ended, in the words of metrics and records (operations contract, sections 3.6 and 7.4). */
export type Lifecycle =
  | 'request_completed'
  | 'streaming_completed'
  | 'request_error'
  | 'request_aborted'
  | 'streaming_aborted'

export interface RequestOutcome {
  /** The status that was sent, or 499 when the client left or the drain deadline came first. */
  status: number
  lifecycle: Lifecycle
  errorType: string | undefined
}

/** Facts for the access log that only the handler knows. */
export interface RequestFacts {
  model?: string
  providerKind?: string
  inputTokens?: number
  outputTokens?: number
}

export interface RequestContextOptions {
  incoming: IncomingMessage
  outgoing: ServerResponse
  query: QueryValues
  family: Family
  apiMode: ApiMode
  /** Template of the matched route, or `unmatched`. */
  route: string
  /** Of the matched route; undefined where none matched. */
  traits: RouteTraits | undefined
  /** Cross-origin headers of the answer. */
  corsHeaders: FlatHeaders
  /** Looked at when the answer is written: while it is true, answers close their connection. */
  drain: { readonly isDraining: boolean }
  /** Called once, when the response is complete or its connection is gone. */
  onClosed: (context: RequestContext) => void
  /** Called when headers for the upstream were left out because there were too many. */
  onHeadersDropped: (context: RequestContext, droppedCount: number) => void
}

const SERVER_AUTHORIZATION: UpstreamAuthorization = { type: 'server' }
const EMPTY_BODY = Buffer.alloc(0)
const CLIENT_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/

export class RequestContext implements Deadlined {
  deadlinePlace = UNWATCHED
  /** Fresh for every request; a client's own id is only forwarded. */
  readonly requestId: string = randomUUID()
  /** Milliseconds of the monotonic clock, counted from `performance.timeOrigin`. */
  readonly startedAtMs: number = performance.now()
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly query: QueryValues
  readonly traits: RouteTraits | undefined
  /** Bytes that the connection had sent before this request. */
  readonly sentBytesBefore: number
  readonly apiMode: ApiMode
  /** Handlers that serve several operations under one pattern put the operation's own template here. */
  route: string
  family: Family
  /** The body as it came, decompressed. */
  body: Buffer = EMPTY_BODY
  /** On whose behalf the upstream is called. */
  authorization: UpstreamAuthorization = SERVER_AUTHORIZATION
  /** Cross-origin headers of the answer; a preflight has others. */
  corsHeaders: FlatHeaders
  /** Set when the request is refused but its body must be counted first (413 goes before 401). */
  refusal: GatewayError | undefined
  /** Ends the reading of a body that is still arriving. */
  cancelBody: ((reason: GatewayError) => void) | undefined
  /** Code of the error that was answered or that ended the stream. */
  failureCode: string | undefined
  /** The answer is a stream and its head has been sent. */
  isStreaming = false
  facts: RequestFacts = {}
  /**
   * Aborted with a `GatewayError` when the client disconnects, at the drain deadline, and when the time of a non-streaming request
   * is up. Every upstream call of the request takes it.
   */
  readonly signal = new CancelSource()
  /** Index of an admitted request in the drain gate, which alone writes it. */
  gatePlace: number | undefined

  readonly #options: RequestContextOptions
  readonly #onConnectionClosed: () => void
  readonly #isQueued: boolean
  #deadlineMs = Number.POSITIVE_INFINITY
  #traceId: string | undefined
  #isClosed = false

  constructor(options: RequestContextOptions) {
    const { incoming, outgoing } = options
    this.#options = options
    this.incoming = incoming
    this.outgoing = outgoing
    this.query = options.query
    this.traits = options.traits
    this.corsHeaders = options.corsHeaders
    this.family = options.family
    this.apiMode = options.apiMode
    this.route = options.route
    this.sentBytesBefore = incoming.socket.bytesWritten
    this.#onConnectionClosed = () => this.#close()
    // The response closes when it was sent, and when the connection breaks before that: one listener, armed before anything is
    // dispatched, covers the client that leaves before, during and after the first byte (field lessons H1 to H3).
    outgoing.on('close', this.#onConnectionClosed)
    // A pipelined request waits without a connection of its own and would not be told.
    this.#isQueued = outgoing.socket === null
    if (this.#isQueued) incoming.socket.once('close', this.#onConnectionClosed)
  }

  /** Wall clock time of the start, in milliseconds since the epoch. */
  get startedAtEpochMs(): number {
    return Math.round(performance.timeOrigin + this.startedAtMs)
  }

  /** The client's `x-trace-id`, or a fresh one. */
  get traceId(): string {
    this.#traceId ??= readText(this.incoming.headers['x-trace-id']) ?? randomUUID()
    return this.#traceId
  }

  /** The client's `x-span-id`. */
  get spanId(): string | undefined {
    return readText(this.incoming.headers['x-span-id'])
  }

  /** The client's own `x-request-id`, when it is a plain word that can stand in a record. */
  get clientRequestId(): string | undefined {
    const given = this.incoming.headers['x-request-id']
    return typeof given === 'string' && CLIENT_REQUEST_ID.test(given) ? given : undefined
  }

  /** The repaired path, without the query. */
  get path(): string {
    return withoutQuery(this.incoming.url ?? '/')
  }

  get isAborted(): boolean {
    return this.signal.aborted
  }

  /** Ends what the request has running; the first reason stays. */
  abort(reason: GatewayError): void {
    if (this.signal.aborted) return
    this.signal.abort(reason)
    this.cancelBody?.(reason)
  }

  /** Limits the whole request to this many milliseconds, unless the client turns out to want a stream. */
  startDeadline(timeoutMs: number): void {
    this.#deadlineMs = performance.now() + timeoutMs
    watchDeadline(this)
  }

  deadlineMs(): number {
    return this.#deadlineMs
  }

  onDeadline(): void {
    this.abort(new GatewayError('provider_timeout'))
  }

  /** The client wants a stream: there is no bound on how long one may live (field lesson H5). */
  expectStream(): void {
    forgetDeadline(this)
  }

  /**
   * Headers for the upstream calls of this request. Takes the `extra_headers` member of the body, whatever it is
   * (operations contract, section 6).
   */
  upstreamHeaders(extraHeaders?: unknown): CallContext['headers'] {
    const { headers } = this.incoming
    const plan = planUpstreamHeaders({ headers, extraHeaders, requestId: this.requestId })
    if (plan.droppedCount > 0) this.#options.onHeadersDropped(this, plan.droppedCount)
    return plan.headers
  }

  /** What an executor needs to know about this request. */
  callContext(extraHeaders?: unknown): CallContext {
    return { requestId: this.requestId, signal: this.signal, headers: this.upstreamHeaders(extraHeaders) }
  }

  /** Headers that every answer carries, whoever writes it: ids, cross-origin rules, and while draining the end of the connection. */
  responseHeaders(): string[] {
    const headers = ['x-request-id', this.requestId, ...this.corsHeaders]
    // The SDK of this family reads only this name.
    if (this.family === 'messages') headers.push('request-id', this.requestId)
    if (this.#options.drain.isDraining) headers.push('connection', 'close')
    return headers
  }

  /** How the request ended; meaningful once it is closed. */
  outcome(): RequestOutcome {
    const { outgoing, isStreaming, failureCode } = this
    const { reason } = this.signal
    if (reason !== undefined && reason.code !== 'provider_timeout') {
      return isStreaming
        ? { status: 499, lifecycle: 'streaming_aborted', errorType: 'stream_cancelled' }
        : { status: 499, lifecycle: 'request_aborted', errorType: 'request_cancelled' }
    }
    const status = outgoing.statusCode
    if (isStreaming) {
      const lifecycle = failureCode === undefined ? 'streaming_completed' : 'streaming_aborted'
      return { status, lifecycle, errorType: failureCode }
    }
    return status < 400
      ? { status, lifecycle: 'request_completed', errorType: undefined }
      : { status, lifecycle: 'request_error', errorType: `http_${status}` }
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#isQueued) this.incoming.socket.removeListener('close', this.#onConnectionClosed)
    forgetDeadline(this)
    if (!this.outgoing.writableFinished) this.abort(new GatewayError('client_disconnected'))
    this.#options.onClosed(this)
  }
}

/** The part of a request target before its query. */
export function withoutQuery(target: string): string {
  const queryStart = target.indexOf('?')
  return queryStart === -1 ? target : target.slice(0, queryStart)
}

function readText(header: string | string[] | undefined): string | undefined {
  const text = typeof header === 'string' ? header.trim() : ''
  return text === '' ? undefined : text
}
