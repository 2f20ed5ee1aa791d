// When a request ends: the signal that aborts its work, the deadline, the close of its connection, and work that outlives the connection.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GatewayError } from '../normalized/index.ts'
import { findConnection } from './connections/served-connection.ts'

export interface RequestLifetimeOptions {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /**
   * Called once: the response was sent or its connection broke, and no detached work is left. `isComplete` is false when the client
   * disconnected before its response was complete.
   */
  readonly onEnded: (sentBytes: number, isComplete: boolean) => void
}

export class RequestLifetime {
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
  /** Ends the reading of a body that is still arriving. */
  cancelBody: ((reason: GatewayError) => void) | undefined
  /**
   * Aborted with a `GatewayError` when the client disconnects, at the drain deadline, and when the
   * time of a non-streaming request is up.
   */
  readonly signal: AbortSignal

  readonly #incoming: IncomingMessage
  readonly #outgoing: ServerResponse
  readonly #onEnded: RequestLifetimeOptions['onEnded']
  readonly #cancellation = new AbortController()
  readonly #onConnectionClosed: () => void
  readonly #isQueued: boolean
  #deadline: NodeJS.Timeout | undefined
  #isClosed = false
  /** The work of the request goes on when its connection is closed. */
  #isDetached = false
  /** What the connection of a detached request had sent when it was closed. */
  #sentBytes: number | undefined

  constructor({ incoming, outgoing, onEnded }: RequestLifetimeOptions) {
    this.signal = this.#cancellation.signal
    this.#incoming = incoming
    this.#outgoing = outgoing
    this.#onEnded = onEnded
    this.#onConnectionClosed = () => this.#close()
    // The response closes when it was sent, and when the connection breaks before that. One
    // listener, added before anything is dispatched, covers a client disconnect before, during and
    // after the first byte (field-lessons.md H1 to H3).
    outgoing.on('close', this.#onConnectionClosed)
    // A pipelined response has no connection yet and would not emit the event.
    this.#isQueued = outgoing.socket === null
    if (this.#isQueued) incoming.socket.once('close', this.#onConnectionClosed)
  }

  /** Aborts the upstream call and the reading of the body; the first reason is kept. */
  abort(reason: GatewayError): void {
    if (this.signal.aborted) return
    this.#cancellation.abort(reason)
    this.cancelBody?.(reason)
  }

  /** Aborts the request and closes its connection, because the response has begun and cannot be completed. */
  cut(reason: GatewayError): void {
    this.abort(reason)
    this.#outgoing.destroy()
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
      if (this.#sentBytes !== undefined) this.#onEnded(this.#sentBytes, true)
    }
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#isQueued) this.#incoming.socket.removeListener('close', this.#onConnectionClosed)
    clearTimeout(this.#deadline)
    // Now, because the connection may serve its next request while the work of this one goes on.
    const sentBytes = findConnection(this.#incoming.socket)?.takeSentBytes() ?? 0
    if (this.#isDetached) {
      this.#sentBytes = sentBytes
      return
    }
    const isComplete = this.#outgoing.writableFinished || this.isCut || this.isSent
    if (!isComplete) this.abort(new GatewayError('client_disconnected'))
    this.#onEnded(sentBytes, isComplete)
  }
}
