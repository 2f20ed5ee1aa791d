// One call to the upstream with everything around it: a free connection, the token, one renewal after a 401, and retries
// around all of that (upstream contract, sections 1.4, 1.6 and 2.3).

import type { Logger } from '../../../shared/logging.ts'
import { GatewayError, toGatewayError } from '../../normalized/index.ts'
import type { AccessToken, TokenSource } from '../native/token-source.ts'
import type { CallContext, UpstreamOperation } from '../types.ts'
import { abortError } from './abort.ts'
import { bodyFailure, CallFailure, describeCause } from './call-failure.ts'
import type { NativeTransport } from './connections.ts'
import { type ExchangeReceiver, type ExchangeRequest, type ExchangeTimeouts, runExchange } from './exchange.ts'
import { requireSuccess } from './response-head.ts'
import { type RetryPolicy, withRetries } from './retry.ts'
import { ACCEPTED_ENCODINGS, type Answer, ResponseCollector } from './whole-response.ts'

/** A call as its maker describes it: the client adds authorization, context headers and the product's name. */
export interface UpstreamCall {
  operation: UpstreamOperation
  method: 'GET' | 'POST'
  path: string
  /** Headers of the call's own, names and values in turn. */
  headers?: readonly string[]
  body?: Uint8Array
}

/** Sends one try of a call and gives its response to a receiver. */
export type SendCall = (
  call: UpstreamCall,
  receiver: ExchangeReceiver,
  timeouts: ExchangeTimeouts
) => Promise<'ended' | 'cancelled'>

export interface UpstreamClient {
  readonly transport: NativeTransport
  /**
   * Runs a call whose response is taken as it comes. `attempt` makes one try and rejects with `CallFailure`; it runs again after a
   * renewed token or a retry, unless `canRetry` says that the client has seen something of it. Rejects with `GatewayError`.
   */
  run<T>(context: CallContext, attempt: (send: SendCall) => Promise<T>, canRetry?: () => boolean): Promise<T>
  /** Runs a call whose answer is taken whole; resolves with an answer of status 200. Rejects with `GatewayError`. */
  fetch(call: UpstreamCall, context: CallContext, bytesMax?: number): Promise<Answer>
  /** Reads a response that `fetch` brought: a failure that `readResponse` raises is reported and raised as `GatewayError`. */
  read<T>(operation: UpstreamOperation, context: CallContext, readResponse: () => T): T
}

export interface UpstreamClientOptions {
  transport: NativeTransport
  tokens: TokenSource
  retryPolicy: RetryPolicy
  userAgent: string
  log: Logger
  now: () => number
  random: () => number
  /** True once the executor is being shut down: what fails now is not tried again. */
  isClosing: () => boolean
}

/** What one try of a call has of its own. */
interface Try {
  token: AccessToken | null
  context: CallContext
  attempt: number
  /** Gives the connection back; called once, whatever becomes of the exchange. */
  release: (() => void) | undefined
}

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { transport, tokens, log } = options

  function send(
    call: UpstreamCall,
    receiver: ExchangeReceiver,
    timeouts: ExchangeTimeouts,
    token: AccessToken | null,
    context: CallContext,
    attempt: number
  ): Promise<'ended' | 'cancelled'> {
    const { gate } = transport.api
    if (gate === undefined) return exchange(call, receiver, timeouts, { token, context, attempt, release: undefined })
    const release = gate.tryEnter()
    if (release !== undefined) return exchange(call, receiver, timeouts, { token, context, attempt, release })
    return gate
      .enter(context.signal)
      .then(entered => exchange(call, receiver, timeouts, { token, context, attempt, release: entered }))
  }

  function exchange(
    call: UpstreamCall,
    receiver: ExchangeReceiver,
    timeouts: ExchangeTimeouts,
    { token, context, attempt, release }: Try
  ): Promise<'ended' | 'cancelled'> {
    const { api } = transport
    if (context.signal.aborted) {
      release?.()
      return Promise.reject(abortError(context.signal))
    }
    const request: ExchangeRequest = {
      method: call.method,
      path: call.path,
      headers: buildHeaders(options.userAgent, token, context, call.headers)
    }
    if (call.body !== undefined) request.body = call.body
    const { onUpstreamCall } = context
    context.onUpstreamCallStarted?.()
    return runExchange({
      dispatcher: api.dispatcher,
      origin: api.origin,
      request,
      receiver,
      timeouts,
      signal: context.signal,
      onSettled(observation) {
        release?.()
        onUpstreamCall?.({ operation: call.operation, attempt, ...observation })
      }
    })
  }

  /**
   * One try with a token, and a second one with a new token when a held one was refused; one that was fetched just now is not
   * fetched again. What is final goes through `giveUp`.
   */
  function authorized<T>(
    context: CallContext,
    attempt: (send: SendCall) => Promise<T>,
    attemptNumber: number,
    giveUp: (thrown: unknown) => never
  ): Promise<T> {
    if (context.signal.aborted) return Promise.reject(abortError(context.signal))
    const tryWith = (token: AccessToken | null): Promise<T> =>
      attempt((call, receiver, timeouts) => send(call, receiver, timeouts, token, context, attemptNumber))
    const tryOnce = (token: AccessToken | null): Promise<T> =>
      tryWith(token).catch((thrown: unknown) => {
        if (isTokenRefused(thrown)) tokens.reject(token)
        return giveUp(thrown)
      })
    const tryTwice = (token: AccessToken | null): Promise<T> =>
      tryWith(token).catch((thrown: unknown) => {
        if (!isTokenRefused(thrown) || !tokens.reject(token)) return giveUp(thrown)
        return Promise.resolve(tokens.acquire(context)).then(tryWith).catch(giveUp)
      })
    // A token that is there is not waited for: nearly every call of nearly every gateway has one.
    const token = tokens.acquire(context)
    return token instanceof Promise ? token.then(tryOnce, giveUp) : tryTwice(token)
  }

  function run<T>(
    context: CallContext,
    attempt: (send: SendCall) => Promise<T>,
    canRetry?: () => boolean,
    // What is taken as it comes is a chat; `fetch` says what it fetches.
    operation: UpstreamOperation = 'chat'
  ): Promise<T> {
    const giveUp = (thrown: unknown): never => {
      if (!(thrown instanceof CallFailure)) throw toGatewayError(thrown)
      reportFailure(log, thrown, context, operation)
      throw thrown.error
    }
    if (options.retryPolicy.retriesMax === 0) return authorized(context, attempt, 0, giveUp)
    return withRetries(number => authorized(context, attempt, number, rethrow), options.retryPolicy, {
      signal: context.signal,
      now: options.now,
      random: options.random,
      canRetry: () => !options.isClosing() && canRetry?.() !== false
    }).catch(giveUp)
  }

  return {
    transport,
    run,
    fetch(call, context, bytesMax) {
      const announcing: UpstreamCall = {
        operation: call.operation,
        method: call.method,
        path: call.path,
        headers: ['accept-encoding', ACCEPTED_ENCODINGS, ...(call.headers ?? [])]
      }
      if (call.body !== undefined) announcing.body = call.body
      const attempt = (sendCall: SendCall) => {
        const collector = new ResponseCollector(bytesMax)
        return sendCall(announcing, collector, transport.timeouts.whole).then(() => {
          const answer = collector.take()
          return answer instanceof Promise ? answer.then(requireSuccess) : requireSuccess(answer)
        })
      }
      return run(context, attempt, undefined, call.operation)
    },
    read(operation, context, readResponse) {
      try {
        return readResponse()
      } catch (thrown) {
        const failure = GatewayError.is(thrown) ? bodyFailure(thrown) : thrown
        if (!(failure instanceof CallFailure)) throw thrown
        reportFailure(log, failure, context, operation)
        throw failure.error
      }
    }
  }
}

/** A 401 inside the body of a success is not about the token. */
function isTokenRefused(thrown: unknown): boolean {
  return thrown instanceof CallFailure && thrown.status === 401 && thrown.isRetryable
}

function rethrow(thrown: unknown): never {
  throw thrown
}

/** What the upstream says when a client asked for the wrong thing: nothing that an operator could mend. */
const CLIENT_FAULT_STATUSES: readonly number[] = [400, 404, 413, 422]

/**
 * Reports a call that finally failed: to its request, and with one log line that says what was asked, how it failed and for which
 * request, and nothing of what was sent or received. Call it once for a failed call.
 */
export function reportFailure(
  log: Logger,
  failure: CallFailure,
  context: Pick<CallContext, 'requestId' | 'onUpstreamFailure'>,
  operation: UpstreamOperation
): void {
  const { status, errorType, error } = failure
  context.onUpstreamFailure?.(errorType)
  // The contracts name no level. The list of models is asked for in words of the gateway's own: its 404 is a wrong address.
  const isFaultOfClient = status !== null && operation !== 'models' && CLIENT_FAULT_STATUSES.includes(status)
  log[isFaultOfClient ? 'info' : 'warn'](
    {
      event: 'upstream_call_failed',
      request_id: context.requestId,
      operation,
      status: status ?? undefined,
      error_type: errorType,
      code: error.code,
      // A status has no other cause than itself.
      cause: status === null ? describeCause(error) : undefined
    },
    'The upstream call failed'
  )
}

function buildHeaders(
  userAgent: string,
  token: AccessToken | null,
  context: CallContext,
  own: readonly string[] | undefined
): string[] {
  const headers = ['user-agent', userAgent]
  if (token !== null) headers.push('authorization', `Bearer ${token.value.reveal()}`)
  for (const header of context.headers) headers.push(header)
  // Calls that no request causes, such as the warm-up of the catalog, bring no headers.
  if (!context.headers.includes('X-Request-ID')) headers.push('X-Request-ID', context.requestId)
  if (own !== undefined) for (const header of own) headers.push(header)
  return headers
}
