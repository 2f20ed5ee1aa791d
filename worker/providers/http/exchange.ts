// One request and its response over the lowest layer of the HTTP client. It bounds every phase,
// handles the abort, and gives the connection back on every path (field-lessons.md H1 to H5); the
// receiver interprets the bytes.

import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Bytes } from '../../../shared/bytes.ts'
import { GatewayError } from '../../normalized/index.ts'
import { createTurnBatch } from '../../performance/turn-batch.ts'
import type { ResponseHead } from '../../protocols/provider-face.ts'
import { abortError } from './abort.ts'
import { isOnePiece, sendInPieces, writeLength } from './body-pieces.ts'
import { CallFailure, timeoutFailure, transportFailure } from './call-failure.ts'
import type { RequestDispatcher } from './connections/forward-dispatcher.ts'
import { isStale } from './connections/stale-connections.ts'
import type { ExchangeControl, ExchangeReceiver } from './exchange-receiver.ts'
import { PhaseTimer } from './phase-timer.ts'
import { responseTurns } from './response-turns.ts'

export interface ExchangeRequest {
  method: 'GET' | 'POST'
  path: string
  /** Names and values in turn: the HTTP client sends this form without copying it. */
  headers: string[]
  body?: Bytes
  /** Called when a connection takes the request, before its first byte is written. */
  onStart?: (() => void) | undefined
  /** Called when the head of the response arrives, before the receiver gets it. */
  onHead?: ((status: number) => void) | undefined
  /** Called when the connection has taken all of a body that goes out in pieces: nothing reads its memory any more. */
  onBodyTaken?: (() => void) | undefined
}

export interface ExchangeTimeouts {
  /** From asking for a connection until the request can be written. */
  connectMs: number
  /** Each gap while the body goes out. */
  writeMs: number
  /** From the end of the request until the response's headers. */
  headMs: number
  /** Each gap between received bytes of the body; 0 sets no limit. */
  idleMs: number
}

/** How an exchange ended, for the metrics: the provider's status as text, or one of the fixed words. */
export interface ExchangeObservation {
  status: string
  /** Of the response, also where its body was cut; undefined where no response began. */
  httpStatus: number | undefined
  /** From the request's first byte to the response's last. */
  durationMs: number
}

export interface StaleReplacement {
  dispatcher: RequestDispatcher
  /** Called when the request is sent again. */
  onReplaced(): void
}

export interface ExchangeOptions {
  dispatcher: RequestDispatcher
  /** Sends the request again, once, where its connection was stale; absent: that is a failure. */
  replacement?: StaleReplacement | undefined
  /** Scheme, host and port. */
  origin: string
  request: ExchangeRequest
  receiver: ExchangeReceiver
  timeouts: ExchangeTimeouts
  /** Of the whole exchange; undefined sets no limit. */
  totalMs?: number | undefined
  signal: AbortSignal
  /** Called once for every exchange that was begun, before its promise settles. */
  onSettled?: ((observation: ExchangeObservation) => void) | undefined
}

/** A small read never waits: it is cheap, and would stand behind the reads of fast responses. */
const SMALL_READ_BYTES = 4096
/** The same for a read that ends the response, as that of most whole responses does. */
const SMALL_LAST_READ_BYTES = 16 * 1024

/**
 * Sends a request and gives the response to the receiver. Resolves after the last byte, or after `cancel`.
 * Rejects with `CallFailure` when the transport fails or a phase takes too long, with the signal's `GatewayError` when it is
 * aborted, and with the error that the receiver threw.
 */
export function runExchange(options: ExchangeOptions): Promise<'ended' | 'cancelled'> {
  return new Promise((resolve, reject) => {
    if (options.signal.aborted) {
      reject(abortError(options.signal))
      return
    }
    new Exchange(options, resolve, reject).start()
  })
}

/** Batches the steps after the last byte, reading the response and writing the client's, per turn of the event loop. */
const resolveEnded = createTurnBatch<(outcome: 'ended') => void>(resolve => resolve('ended'))

type Phase = 'connecting' | 'sending' | 'waiting for the response' | 'reading the response'

class Exchange implements Dispatcher.DispatchHandler, ExchangeControl {
  readonly #options: ExchangeOptions
  readonly #resolve: (outcome: 'ended' | 'cancelled') => void
  readonly #reject: (reason: unknown) => void
  #controller: Dispatcher.DispatchController | undefined
  #phase: Phase = 'connecting'
  readonly #timer = new PhaseTimer(limitMs => this.#breakOff(timeoutFailure(this.#phase, limitMs)))
  #status: number | undefined
  #startedAtMs: number | undefined
  #isSettled = false
  /** The request goes out a second time: its first connection was stale. */
  #isReplaced = false
  #isPaused = false
  /** The body goes out in pieces, and each of them restarts the timer. */
  #isPieced = false
  /** The pieces of one read of the connection arrive one after the other, and are received together behind the last of them. */
  #isReading = false
  #pieces: Buffer[] = []
  #piecesBytes = 0
  /** The last piece has arrived. */
  #isEnded = false
  /** The pieces wait for a turn of the event loop; the connection is paused meanwhile. */
  #isHeld = false

  constructor(
    options: ExchangeOptions,
    resolve: (outcome: 'ended' | 'cancelled') => void,
    reject: (reason: unknown) => void
  ) {
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
  }

  start(): void {
    const { dispatcher, signal, totalMs } = this.#options
    if (totalMs !== undefined) this.#timer.limitTotal(totalMs, this.#onTotalTimeout)
    signal.addEventListener('abort', this.#onAbort, { once: true })
    this.#dispatch(dispatcher)
  }

  #dispatch(dispatcher: RequestDispatcher): void {
    const { origin, request, timeouts } = this.#options
    const dispatchOptions: Dispatcher.DispatchOptions = {
      origin,
      path: request.path,
      method: request.method,
      headers: writeLength(request.headers, request.body),
      // Both limits are kept by this class, where a pause does not count as silence of the provider.
      headersTimeout: 0,
      bodyTimeout: 0
    }
    if (request.body !== undefined) dispatchOptions.body = this.#outgoingBody(request.body)
    try {
      dispatcher.dispatch(dispatchOptions, this)
    } catch (thrown) {
      this.#fail(transportFailure(thrown))
    }
    // On a connection that is open the request has begun by now.
    if (this.#phase === 'connecting' && !this.#isSettled) this.#enter('connecting', timeouts.connectMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isSettled) {
      // The request was aborted while its connection was being made.
      controller.abort(new Error('abandoned'))
      return
    }
    this.#startedAtMs = performance.now()
    this.#phase = 'sending'
    this.#options.request.onStart?.()
    // A request in one piece is written within this turn, so only the wait for its response needs a timer.
    if (this.#isPieced) this.#enter('sending', this.#options.timeouts.writeMs)
  }

  onBodySent(): void {
    if (!this.#isSettled && this.#phase === 'sending' && this.#isPieced) this.#timer.refresh()
  }

  onRequestSent(): void {
    if (!this.#isSettled && this.#phase === 'sending') {
      this.#enter('waiting for the response', this.#options.timeouts.headMs)
    }
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ResponseHead['headers']): void {
    // An informational response is not the response.
    if (this.#isSettled || status < 200) return
    this.#status = status
    this.#phase = 'reading the response'
    this.#startRead()
    this.#options.request.onHead?.(status)
    try {
      this.#options.receiver.onHead({ status, headers }, this)
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return
    if (!this.#isReading) this.#startRead()
    this.#piecesBytes += chunk.length
    this.#pieces.push(chunk)
  }

  onResponseEnd(): void {
    this.#isEnded = true
    if (!this.#isReading) this.#startRead()
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    do this.#receivePieces()
    while (this.#pieces.length > 0 && !this.#isSettled)
    if (this.#isSettled) return
    if (this.#status === undefined && isStale(error)) this.#replaceStale(error)
    else this.#breakOff(transportFailure(error))
  }

  /** In a turn of its own: the HTTP client is closing the connection. */
  #replaceStale(error: Error): void {
    const { replacement } = this.#options
    if (replacement === undefined || this.#isReplaced) {
      this.#breakOff(transportFailure(error))
      return
    }
    this.#isReplaced = true
    this.#timer.pause()
    this.#phase = 'connecting'
    queueMicrotask(() => {
      if (this.#isSettled) return
      replacement.onReplaced()
      this.#dispatch(replacement.dispatcher)
    })
  }

  pause(): void {
    if (this.#isSettled || this.#isPaused) return
    this.#isPaused = true
    this.#timer.pause()
    this.#controller?.pause()
  }

  resume(): void {
    if (this.#isSettled || !this.#isPaused) return
    this.#isPaused = false
    if (!this.#isHeld) this.#readOn()
  }

  cancel(): void {
    if (!this.#settle(String(this.#status ?? 'cancelled'))) return
    this.#controller?.abort(new Error('cancelled'))
    this.#resolve('cancelled')
  }

  /** Afterwards there are pieces only when the receiver has left some. */
  #receivePieces(): void {
    const pieces = this.#pieces
    if (pieces.length === 0 || this.#isSettled) return
    this.#pieces = []
    this.#piecesBytes = 0
    try {
      const left = this.#options.receiver.onData(pieces)
      if (left === undefined) return
      this.#pieces.push(left)
      this.#piecesBytes = left.length
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  #receiveMeasured(): void {
    const startedMs = performance.now()
    this.#receivePieces()
    responseTurns.take(performance.now() - startedMs)
  }

  /**
   * Keeps pieces back that are too much for this turn; the wait does not count as silence of the provider. Others arrive while the connection
   * is paused only when it closes.
   */
  #holdPieces(): void {
    this.#isHeld = true
    this.#timer.pause()
    if (!this.#isEnded) this.#controller?.pause()
    void responseTurns.wait().then(() => {
      this.#isHeld = false
      this.#receiveMeasured()
      if (this.#isSettled) return
      if (this.#pieces.length > 0) this.#holdPieces()
      else if (this.#isEnded) this.#end()
      else if (!this.#isPaused) this.#readOn()
    })
  }

  #readOn(): void {
    this.#enter('reading the response', this.#options.timeouts.idleMs)
    this.#controller?.resume()
  }

  #end(): void {
    if (this.#settle(String(this.#status))) resolveEnded(this.#resolve)
  }

  readonly #onAbort = (): void => {
    if (!this.#settle('cancelled')) return
    const error = abortError(this.#options.signal)
    this.#controller?.abort(error)
    this.#reject(error)
  }

  #outgoingBody(body: Bytes): Uint8Array | Readable {
    if (isOnePiece(body)) return body
    this.#isPieced = true
    return sendInPieces(body, this.#options.request.onBodyTaken)
  }

  #fail(thrown: unknown): void {
    const outcome = thrown instanceof CallFailure ? thrown.outcome : undefined
    // What the gateway itself ends for want of room is no failure of the provider.
    const isOwn = GatewayError.is(thrown) && thrown.code === 'gateway_overloaded'
    if (!this.#settle(isOwn ? 'cancelled' : (outcome ?? 'protocol_error'))) return
    this.#controller?.abort(new Error('failed', { cause: thrown }))
    this.#reject(thrown)
  }

  /** A read restarts the timer once, at its end: a restart costs a tenth of what the event in a piece costs. */
  #startRead(): void {
    this.#isReading = true
    queueMicrotask(this.#endRead)
  }

  readonly #endRead = (): void => {
    this.#isReading = false
    if (this.#isSettled) return
    if (!this.#isHeld) {
      const isSmall = this.#piecesBytes <= (this.#isEnded ? SMALL_LAST_READ_BYTES : SMALL_READ_BYTES)
      if (isSmall) this.#receivePieces()
      else if (!responseTurns.isSpent) this.#receiveMeasured()
      if (this.#pieces.length > 0) this.#holdPieces()
      else if (this.#isEnded) this.#end()
    }
    if (this.#isSettled || this.#isPaused || this.#isHeld) return
    this.#enter('reading the response', this.#options.timeouts.idleMs)
  }

  #enter(phase: Phase, limitMs: number): void {
    this.#phase = phase
    this.#timer.begin(limitMs)
  }

  readonly #onTotalTimeout = (totalMs: number): void => {
    this.#breakOff(timeoutFailure('the call', totalMs, { isRetryable: false }))
  }

  /** Ends an exchange whose response does not arrive, or not to its end. */
  #breakOff(failure: CallFailure): void {
    if (this.#status === undefined || this.#options.receiver.onBrokenBody?.() !== true) {
      this.#fail(failure)
      return
    }
    if (!this.#settle(String(this.#status))) return
    this.#controller?.abort(failure)
    this.#resolve('ended')
  }

  /** Ends the exchange. Returns false when it has ended already. */
  #settle(status: string): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    this.#timer.end()
    this.#options.receiver.onClosed?.()
    this.#options.signal.removeEventListener('abort', this.#onAbort)
    const durationMs = this.#startedAtMs === undefined ? 0 : performance.now() - this.#startedAtMs
    this.#options.onSettled?.({ status, httpStatus: this.#status, durationMs })
    return true
  }
}
