// One attempt of a call: a free connection, the request with its signature, and the exchange.
import type { Bytes } from '../../../shared/bytes.ts'
import type { Logger } from '../../../shared/logging.ts'
import type { CallContext } from '../types.ts'
import { abortError, raceAbort } from './abort.ts'
import type { Attempt } from './attempts.ts'
import type { ProviderOrigin } from './connections.ts'
import type { Signature, UnsignedRequest } from './credential.ts'
import { type ExchangeRequest, type ExchangeTimeouts, runExchange } from './exchange.ts'
import type { ExchangeReceiver } from './exchange-receiver.ts'
import { logIds, reportCancelledCall } from './failure-report.ts'
import type { ProviderCall } from './provider-call.ts'
import { addStaticHeaders, addStaticQuery, type StaticParts } from './static-parts.ts'

export interface AttemptSenderOptions {
  log: Logger
  profileId: string
  origin: ProviderOrigin
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

export class AttemptSender {
  readonly #options: AttemptSenderOptions
  /** Memory of bodies that a connection has taken to their end. */
  readonly #takenMemory = new WeakSet<Uint8Array>()

  constructor(options: AttemptSenderOptions) {
    this.#options = options
  }

  /** Whether no connection reads this memory of a sent body any more. */
  hasTaken(memory: Uint8Array): boolean {
    return this.#takenMemory.has(memory)
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
