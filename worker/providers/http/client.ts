// Calls to a provider with one credential: the attempts of each, and the response that is taken whole, read or streamed (upstream.md 1.4).

import { releaseMemory } from '../../../shared/bytes.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { CallContext, StreamedResponse, UpstreamOperation } from '../types.ts'
import { abortError } from './abort.ts'
import { type AttemptExchange, AttemptSender, type AttemptSenderOptions } from './attempt-sender.ts'
import { type Attempt, Attempts, type AttemptsOptions } from './attempts.ts'
import { ByteStream } from './byte-stream.ts'
import { CallFailure, contentFailure } from './call-failure.ts'
import type { ProviderOrigin } from './connections.ts'
import { reportCallFailure } from './failure-report.ts'
import { type ProviderCall, reviseCall } from './provider-call.ts'
import { type ReadError, requireSuccess } from './response-head.ts'
import { ACCEPTED_ENCODINGS, type BufferedResponse, ResponseCollector, readJson } from './whole-response.ts'

export interface ProviderClientOptions extends AttemptsOptions, AttemptSenderOptions {
  readError: ReadError
}

export class ProviderClient {
  readonly #options: ProviderClientOptions
  readonly #sender: AttemptSender

  constructor(options: ProviderClientOptions) {
    this.#options = options
    this.#sender = new AttemptSender(options)
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
    if (ownMemory !== undefined && this.#sender.hasTaken(ownMemory)) releaseMemory(ownMemory)
  }

  /** Makes one attempt, as `AttemptSender.send`. */
  send(exchange: AttemptExchange, attempt: Attempt, context: CallContext): Promise<'ended' | 'cancelled'> {
    return this.#sender.send(exchange, attempt, context)
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
}
