// The head of a stream whose provider is silent (decisions.md 98): balancers cut a connection on which nothing comes for a while. Until the head
// is sent a failure has its HTTP status; behind it, it is an error of the stream.

import type { FastifyReply } from 'fastify'
import { type EventStreamOptions, type EventStreamWriter, startEventStream } from '../http/event-stream.ts'

/** What writes into the stream. */
export interface HeadedSink {
  /** Takes the stream whose head was sent; a failure is written into it from then on. */
  takeHead(): void
}

export class EarlyHead<Sink extends HeadedSink> {
  readonly #reply: FastifyReply
  readonly #options: EventStreamOptions
  readonly #afterMs: number
  #timer: NodeJS.Timeout | undefined
  #stream: EventStreamWriter | undefined
  #sink: Sink | undefined
  #isOver = false

  constructor(reply: FastifyReply, options: EventStreamOptions, afterMs: number) {
    this.#reply = reply
    this.#options = options
    this.#afterMs = afterMs
  }

  /**
   * A provider is called: the time of silence begins. Another call for the same request goes on with it: the client hears nothing of
   * either.
   */
  await(sink: Sink): void {
    this.#sink = sink
    if (this.#stream !== undefined || this.#isOver) return
    this.#timer ??= setTimeout(() => this.#send(), this.#afterMs)
  }

  /** The stream, for its first event; the head is sent with it unless it was sent before. */
  take(): EventStreamWriter {
    this.close()
    this.#stream ??= startEventStream(this.#reply, this.#options)
    return this.#stream
  }

  /** The stream whose head was sent before any event; undefined where none was. */
  get sent(): EventStreamWriter | undefined {
    return this.#stream
  }

  /** The sink that has to report a failure behind the head; undefined where the failure still has its status. */
  takeFailing(): Sink | undefined {
    this.close()
    if (this.#stream === undefined) return undefined
    this.#sink?.takeHead()
    return this.#sink
  }

  /** No head is sent early from now on. */
  close(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #send(): void {
    if (this.#reply.request.context.isAborted) return
    this.#stream = startEventStream(this.#reply, this.#options)
    // Some balancers pass a head on with its first byte of the body only.
    this.#stream.keepAlive()
  }
}
