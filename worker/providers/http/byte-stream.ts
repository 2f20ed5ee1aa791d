// The body of a response as pieces in order of arrival. The connection is paused while its reader is slow.

import { readContentEncoding } from '../../../shared/net/content-encoding.ts'
import { toGatewayError } from '../../normalized/index.ts'
import type { ResponseHead } from '../../protocols/provider-face.ts'
import { readHeader } from '../../protocols/shared/errors/response-header.ts'
import type { StreamedResponse } from '../types.ts'
import { CallFailure, protocolFailure } from './call-failure.ts'
import type { ExchangeControl, ExchangeReceiver } from './exchange-receiver.ts'
import { type ReadError, requireSuccess } from './response-head.ts'
import { ResponseCollector } from './whole-response.ts'

/** The connection is paused once this much waits for the reader. */
const WAITING_BYTES_MAX = 64 * 1024

/** Takes one response whose body is read while it arrives. */
export class ByteStream implements ExchangeReceiver, AsyncIterableIterator<Uint8Array> {
  readonly #opened = Promise.withResolvers<StreamedResponse>()
  readonly #pieces: Buffer[] = []
  #waitingBytes = 0
  #control: ExchangeControl | undefined
  /** Takes a response that is no success. */
  #collector: ResponseCollector | undefined
  #isOver = false
  #failure: unknown
  /** Wakes the reader. */
  #wake: (() => void) | undefined

  /** Resolves at the head of a success. Rejects with the failure of any other response. */
  open(exchange: Promise<unknown>, readError: ReadError): Promise<StreamedResponse> {
    exchange.then(() => this.#onEnd(readError)).catch((thrown: unknown) => this.#finish(thrown))
    return this.#opened.promise
  }

  /** What ended an open response before its end, for the report of the call. */
  get callFailure(): CallFailure | undefined {
    return this.#failure instanceof CallFailure ? this.#failure : undefined
  }

  onHead(head: ResponseHead, control: ExchangeControl): void {
    if (head.status !== 200) {
      this.#collector = new ResponseCollector()
      this.#collector.onHead(head, control)
      return
    }
    // The request announces none: decompression would hold pieces back.
    if (readContentEncoding(readHeader(head.headers, 'content-encoding')) !== 'identity') {
      throw protocolFailure('unsupported_content_encoding')
    }
    this.#control = control
    this.#opened.resolve({ ...head, bytes: this })
  }

  onData(pieces: readonly Buffer[]): undefined {
    if (this.#collector !== undefined) return this.#collector.onData(pieces)
    for (const piece of pieces) {
      this.#pieces.push(piece)
      this.#waitingBytes += piece.length
    }
    if (this.#waitingBytes >= WAITING_BYTES_MAX) this.#control?.pause()
    this.#wake?.()
  }

  onBrokenBody(): boolean {
    return this.#collector?.onBrokenBody() === true
  }

  onClosed(): void {
    this.#collector?.onClosed()
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const piece = this.#pieces.shift()
      if (piece !== undefined) {
        this.#waitingBytes -= piece.length
        if (this.#waitingBytes < WAITING_BYTES_MAX) this.#control?.resume()
        return { done: false, value: piece }
      }
      if (this.#failure instanceof CallFailure) throw this.#failure.error
      if (this.#failure !== undefined) throw toGatewayError(this.#failure)
      if (this.#isOver) return { done: true, value: undefined }
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  /** Ends the exchange: nothing more is read. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#isOver = true
    this.#drop()
    this.#control?.cancel()
    this.#wake?.()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #onEnd(readError: ReadError): Promise<void> {
    if (this.#collector !== undefined) {
      requireSuccess(this.#collector.take() ?? (await this.#collector.decompress()), readError)
    }
    this.#finish(undefined)
  }

  /** A failure of the provider comes behind what arrived before it; after an abort nothing is wanted. */
  #finish(failure: unknown): void {
    if (failure !== undefined && !(failure instanceof CallFailure)) this.#drop()
    if (!this.#isOver) this.#failure = failure
    this.#isOver = true
    this.#opened.reject(failure)
    this.#wake?.()
  }

  #drop(): void {
    this.#pieces.length = 0
    this.#waitingBytes = 0
  }
}
