// Calls to a provider with one credential: a free connection, the request's headers, the exchange,
// and the attempts around them (upstream.md 1.4).

import { type Bytes, releaseMemory } from '../../../shared/bytes.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { CallContext, StreamedResponse, UpstreamOperation } from '../types.ts'
import { abortError, raceAbort } from './abort.ts'
import { type Attempt, Attempts, type AttemptsOptions } from './attempts.ts'
import { ByteStream } from './byte-stream.ts'
import { CallFailure, contentFailure } from './call-failure.ts'
import type { ProviderOrigin } from './connections.ts'
import type { Signature, UnsignedRequest } from './credential.ts'
import { type ExchangeRequest, type ExchangeTimeouts, runExchange } from './exchange.ts'
import type { ExchangeReceiver } from './exchange-receiver.ts'
import { logIds, reportCallFailure, reportCancelledCall } from './failure-report.ts'
import type { BodyFallback } from './hooks.ts'
import { type ReadError, requireSuccess } from './response-head.ts'
import { addStaticHeaders, addStaticQuery, type StaticParts } from './static-parts.ts'
import { ACCEPTED_ENCODINGS, type BufferedResponse, ResponseCollector, readJson } from './whole-response.ts'

/** A call as its maker describes it: the client adds the user agent, the authorization and the headers of the request. */
export interface ProviderCall {
  operation: UpstreamOperation
  method: 'GET' | 'POST'
  /** Path and query on the provider's origin. */
  path: string
  /** Headers of the wire, names and values in turn. */
  headers: readonly string[]
  body?: Bytes
  /** The memory of the body, where only this call uses it: it is given back when the provider has accepted the call. */
  ownMemory?: Uint8Array | undefined
  /** Makes another body when the provider refuses this one. */
  fallback?: BodyFallback | undefined
  /** The body is that of the fallback: it is not replaced again. */
  isRevised?: true
}

/** The call to make in place of a refused one; undefined when the failure stays. */
export function reviseCall(call: ProviderCall, thrown: unknown): ProviderCall | undefined {
  const { body, fallback, isRevised } = call
  if (fallback === undefined || body === undefined || isRevised || !(thrown instanceof CallFailure)) return undefined
  const revised = fallback.revise(body, thrown)
  return revised === undefined ? undefined : { ...call, body: revised, ownMemory: undefined, isRevised: true }
}

export interface ProviderClientOptions extends AttemptsOptions {
  origin: ProviderOrigin
  readError: ReadError
  userAgent: string
  /** Whether the headers of the client's request and its id go to the provider. */
  sendsRequestHeaders: boolean
  /** What the profile sends with every call. */
  staticParts?: StaticParts | undefined
  /** Called for each request that is sent again because its connection was stale, for the metrics. */
  onStaleConnection?: (() => void) | undefined
}

/** What one attempt sends and where its response goes. */
export interface AttemptExchange {
  call: ProviderCall
  /** Those of the call, and what its kind of response asks for. */
  headers: readonly string[]
  receiver: ExchangeReceiver
  timeouts: ExchangeTimeouts
}

export class ProviderClient {
  readonly #options: ProviderClientOptions
  /** Memory of bodies that a connection has taken to their end. */
  readonly #takenMemory = new WeakSet<Uint8Array>()

  constructor(options: ProviderClientOptions) {
    this.#options = options
  }

  get timeouts(): ProviderOrigin['timeouts'] {
    return this.#options.origin.timeouts
  }

  /** Whether the headers of the client's request go to the provider. */
  get sendsRequestHeaders(): boolean {
    return this.#options.sendsRequestHeaders
  }

  /** Reads the error of an unsuccessful response. */
  get readError(): ReadError {
    return this.#options.readError
  }

  /** The attempts of one call. */
  attempts(context: CallContext, operation: UpstreamOperation): Attempts {
    return new Attempts(this.#options, context, operation)
  }

  /** Ends a call that the provider accepted: a revised one is reported, and the memory of a large body is given back. */
  accept({ ownMemory, fallback, isRevised }: ProviderCall): void {
    if (isRevised) fallback?.confirm()
    // What a connection may still read is left to the garbage collector.
    if (ownMemory !== undefined && this.#takenMemory.has(ownMemory)) releaseMemory(ownMemory)
  }

  /**
   * Makes one attempt: waits for a free connection, sends the call and gives the response to the receiver. Resolves and rejects like
   * `runExchange`, rejects with `gateway_overloaded` when no connection becomes free, and like the signature when that fails.
   */
  send(exchange: AttemptExchange, attempt: Attempt, context: CallContext): Promise<'ended' | 'cancelled'> {
    const { gate } = this.#options.origin
    attempt.progress = 'queued'
    const release = gate?.tryEnter()
    if (gate === undefined || release !== undefined) return this.#sendNow(exchange, attempt, context, release)
    return gate.enter(context.signal).then(entered => this.#sendNow(exchange, attempt, context, entered))
  }

  #sendNow(
    exchange: AttemptExchange,
    attempt: Attempt,
    context: CallContext,
    release: (() => void) | undefined
  ): Promise<'ended' | 'cancelled'> {
    const { origin } = this.#options.origin
    attempt.progress = 'authorizing'
    const request = this.#writeRequest(origin, exchange, context)
    let signature: Signature | Promise<Signature>
    try {
      signature = attempt.credential.sign(request)
    } catch (thrown) {
      release?.()
      return Promise.reject(thrown)
    }
    // A signature that is at hand costs neither a promise nor a turn.
    if (!(signature instanceof Promise)) {
      request.add(signature)
      return this.#dispatch(request, exchange, attempt, context, release)
    }
    return raceAbort(signature, context.signal).then(
      signed => {
        request.add(signed)
        return this.#dispatch(request, exchange, attempt, context, release)
      },
      (thrown: unknown) => {
        release?.()
        throw thrown
      }
    )
  }

  #dispatch(
    request: OutgoingRequest,
    { call, receiver, timeouts }: AttemptExchange,
    attempt: Attempt,
    context: CallContext,
    release: (() => void) | undefined
  ): Promise<'ended' | 'cancelled'> {
    const { log, profileId, origin: connections } = this.#options
    const { dispatcher, newConnections, origin } = connections
    if (context.signal.aborted) {
      release?.()
      return Promise.reject(abortError(context.signal))
    }
    attempt.progress = 'connecting'
    request.onHead = context.onHead
    request.onStart = () => {
      attempt.progress = 'sent'
    }
    const { ownMemory } = call
    if (ownMemory !== undefined) {
      this.#takenMemory.delete(ownMemory)
      request.onBodyTaken = () => this.#takenMemory.add(ownMemory)
    }
    if (log.isLevelEnabled('debug')) {
      const { operation, method, path } = call
      const fields = { event: 'upstream_request', ...logIds(context), operation, method, path, attempt: attempt.number }
      log.debug(fields, 'Upstream request')
    }
    context.onUpstreamCallStarted?.()
    return runExchange({
      dispatcher,
      origin,
      request,
      receiver,
      timeouts,
      replacement: attempt.replacement.isUsed
        ? undefined
        : {
            dispatcher: newConnections,
            onReplaced: () => {
              attempt.replacement.isUsed = true
              this.#options.onStaleConnection?.()
              const fields = { event: 'upstream_connection_replaced', ...logIds(context), operation: call.operation }
              log.debug(
                { ...fields, profile_id: profileId },
                'A kept connection to the upstream was closed; the request is sent again'
              )
            }
          },
      totalMs: attempt.remainingMs,
      signal: context.signal,
      onSettled(observation) {
        release?.()
        if (observation.status === 'cancelled' && context.signal.aborted)
          reportCancelledCall(log, context, call.operation)
        context.onUpstreamCall?.({ operation: call.operation, attempt: attempt.number, ...observation })
      }
    })
  }

  /**
   * Makes a call whose response is taken whole, with as many attempts as it gets. Resolves with a response of status 200 and rejects
   * with `GatewayError`.
   * @param bytesMax bound of the response's body, before and after decompression.
   */
  async fetch(call: ProviderCall, context: CallContext, bytesMax?: number): Promise<BufferedResponse> {
    const { response, attempts } = await this.#fetch(call, context, bytesMax)
    attempts.end()
    return response
  }

  /** The attempt whose response it is has not ended: what is read in the response belongs to it. */
  async #fetch(
    call: ProviderCall,
    context: CallContext,
    bytesMax: number | undefined
  ): Promise<{ response: BufferedResponse; attempts: Attempts }> {
    let sent = call
    const headers = ['accept-encoding', ACCEPTED_ENCODINGS, ...call.headers]
    const attempts = this.attempts(context, call.operation)
    const timeouts = call.operation === 'chat' ? this.timeouts.chat : this.timeouts.call
    for (;;) {
      try {
        const attempt = attempts.tryBegin() ?? (await attempts.begin())
        const receiver = new ResponseCollector(bytesMax)
        await this.send({ call: sent, headers, receiver, timeouts }, attempt, context)
        const response = requireSuccess(receiver.take() ?? (await receiver.decompress()), this.#options.readError)
        this.accept(sent)
        return { response, attempts }
      } catch (thrown) {
        attempts.end(thrown)
        const revised = reviseCall(sent, thrown)
        if (revised === undefined) await attempts.recover(thrown, { canRetry: true })
        else sent = revised
      }
    }
  }

  /**
   * Like `fetch`, for a response that `read` takes apart. What `read` raises about the response is reported as the failure of the call.
   */
  async fetchAndRead<Result>(
    call: ProviderCall,
    context: CallContext,
    read: (response: BufferedResponse) => Promise<Result>,
    bytesMax?: number
  ): Promise<Result> {
    const { response, attempts } = await this.#fetch(call, context, bytesMax)
    try {
      const result = await read(response)
      attempts.end()
      return result
    } catch (thrown) {
      throw this.#reportUnreadable(thrown, attempts, call, context)
    }
  }

  /**
   * Like `fetchAndRead`, for a response that `read` takes while it arrives. There is no other attempt
   * once it has begun. What `read` leaves unread ends the exchange.
   */
  async streamAndRead<Result>(
    call: ProviderCall,
    context: CallContext,
    read: (response: StreamedResponse) => Promise<Result>
  ): Promise<Result> {
    const { stream, response, attempts } = await this.#openStream(call, context)
    try {
      const result = await read(response)
      attempts.end()
      return result
    } catch (thrown) {
      if (context.signal.aborted) throw abortError(context.signal)
      throw this.#reportUnreadable(stream.callFailure ?? thrown, attempts, call, context)
    } finally {
      await stream.return()
    }
  }

  async #openStream(
    call: ProviderCall,
    context: CallContext
  ): Promise<{ stream: ByteStream; response: StreamedResponse; attempts: Attempts }> {
    const attempts = this.attempts(context, call.operation)
    for (;;) {
      try {
        const attempt = attempts.tryBegin() ?? (await attempts.begin())
        const stream = new ByteStream()
        const exchange = { call, headers: call.headers, receiver: stream, timeouts: this.timeouts.stream }
        const response = await stream.open(this.send(exchange, attempt, context), this.#options.readError)
        this.accept(call)
        return { stream, response, attempts }
      } catch (thrown) {
        attempts.end(thrown)
        await attempts.recover(thrown, { canRetry: true })
      }
    }
  }

  /** Writes the line of a failed call. */
  reportFailure(failure: CallFailure, context: CallContext, operation: UpstreamOperation): void {
    reportCallFailure(this.#options, failure, context, { operation })
  }

  /** Reports a response that cannot be used, and returns its error. */
  #reportUnreadable(thrown: unknown, attempts: Attempts, { operation }: ProviderCall, context: CallContext): unknown {
    const failure = GatewayError.is(thrown) ? contentFailure(thrown) : thrown
    attempts.end(failure)
    if (!(failure instanceof CallFailure)) return thrown
    this.reportFailure(failure, context, operation)
    return failure.error
  }

  /** Like `fetchAndRead`, for a response of JSON. */
  fetchJson<Result>(
    call: ProviderCall,
    context: CallContext,
    read: (body: unknown) => Result,
    bytesMax?: number
  ): Promise<Result> {
    return this.fetchAndRead(call, context, async response => read(readJson(response)), bytesMax)
  }

  #writeRequest(origin: string, { call, headers }: AttemptExchange, context: CallContext): OutgoingRequest {
    const { staticParts } = this.#options
    const written = this.#writeHeaders(headers, context)
    if (staticParts === undefined) return new OutgoingRequest(origin, call, call.path, written)
    const path = addStaticQuery(staticParts, call.path)
    return new OutgoingRequest(origin, call, path, addStaticHeaders(staticParts, written))
  }

  #writeHeaders(wireHeaders: readonly string[], context: CallContext): string[] {
    const { userAgent, sendsRequestHeaders } = this.#options
    const headers = ['user-agent', userAgent]
    if (sendsRequestHeaders) {
      for (const text of context.headers) headers.push(text)
      // Calls without a request behind them, such as the warm-up of the catalog, bring no headers.
      if (!context.headers.includes('X-Request-ID')) headers.push('X-Request-ID', context.requestId)
    }
    for (const text of wireHeaders) headers.push(text)
    return headers
  }
}

/** The user agent comes first: name and value. */
const USER_AGENT_TEXTS = 2

/** The request of one attempt: a signer sees it as it is sent, and adds its signature. */
class OutgoingRequest implements ExchangeRequest, UnsignedRequest {
  readonly method: 'GET' | 'POST'
  path: string
  readonly headers: string[]
  readonly body?: Bytes
  onStart: (() => void) | undefined
  onHead: ((status: number) => void) | undefined
  onBodyTaken: (() => void) | undefined
  readonly #origin: string

  constructor(origin: string, { method, body }: ProviderCall, path: string, headers: string[]) {
    this.#origin = origin
    this.method = method
    this.path = path
    this.headers = headers
    if (body !== undefined) this.body = body
  }

  get url(): string {
    return this.#origin + this.path
  }

  /** The headers of a signature stand behind the user agent. */
  add({ headers, query }: Signature): void {
    this.headers.splice(USER_AGENT_TEXTS, 0, ...headers)
    if (query !== undefined) this.path += (this.path.includes('?') ? '&' : '?') + query
  }
}
