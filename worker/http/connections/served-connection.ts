// The requests of one connection that were read and whose responses are not complete. A client may send requests without waiting for
// responses (pipelining) and without reading them, so their number is bounded.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { GatewayError } from '../../normalized/index.ts'

/** Requests of one connection that are served at once. Responses are sent in order, so that more would only wait in memory. */
export const SERVED_MAX = 32
/** Requests of one connection that wait to be served: those that one read brings, usually. The connection ends after this many. */
export const WAITING_MAX = 256
/** A client that reads nothing for so long, although bytes are ready for it, loses its connection. */
export const UNREAD_TIMEOUT_MS = 300_000

export interface ConnectionHandlers {
  serve: (outgoing: ServerResponse) => void
  /** The request is not served: its connection has ended. */
  skip: (outgoing: ServerResponse) => void
}

const CONNECTION = Symbol('served connection')

interface ServedSocket extends Socket {
  [CONNECTION]?: ServedConnection
}

/** The connection of a socket; undefined before its first request. */
export function findConnection(socket: Socket): ServedConnection | undefined {
  return (socket as ServedSocket)[CONNECTION]
}

/** Takes a request that was read: it is served at once, or when requests before it are complete. */
export function receiveRequest(outgoing: ServerResponse, handlers: ConnectionHandlers): void {
  const socket: ServedSocket = outgoing.req.socket
  socket[CONNECTION] ??= new ServedConnection(socket, handlers)
  socket[CONNECTION].receive(outgoing)
}

/** Closes the connection when the client reads nothing of what was written to it for a long time. Costs nothing once all was sent. */
export function limitUnread(socket: Socket | null): void {
  if (socket !== null && socket.writableLength > 0) socket.setTimeout(UNREAD_TIMEOUT_MS)
}

/** For the event `timeout`: closes an idle connection, and one that is not read; not one that waits for a provider. */
export function closeTimedOut(socket: Socket): void {
  const isIdle = (findConnection(socket)?.openCount ?? 0) === 0
  if (isIdle || socket.writableLength > 0) socket.destroy()
}

/**
 * Whether the end of the request's body is known beyond doubt: `chunked` is its only transfer coding. A proxy may apply another one, or
 * ignore it, and then takes other bytes for the next request (RFC 9112, 6.1).
 */
export function isFramingClear({ headers, httpVersionMinor }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  return coding === undefined || (coding.trim().toLowerCase() === 'chunked' && httpVersionMinor === 1)
}

class ServedConnection {
  /**
   * The newest response, until it is complete: a reference from an idle connection would keep the whole request in memory, body
   * included, and every collection of young objects would copy it.
   */
  current: ServerResponse | undefined
  /** Responses that are not complete, those of waiting requests included. */
  openCount = 0
  /** The bytes after the head of the last request are not valid HTTP: nothing of it, and no further request, can be read. */
  fault: GatewayError | undefined
  /** A request that has its response, and whose body did not come to its end by then. */
  #unread: IncomingMessage | undefined

  readonly #socket: Socket
  readonly #handlers: ConnectionHandlers
  readonly #waiting: ServerResponse[] = []
  /** The last request was taken; those behind it are not served. */
  #isEnding = false
  /** A request behind the last one was read. */
  #isRefusing = false
  /** Nothing is read from the socket. */
  #isHeld = false
  #takenBytes = 0

  constructor(socket: Socket, handlers: ConnectionHandlers) {
    this.#socket = socket
    this.#handlers = handlers
  }

  receive(outgoing: ServerResponse): void {
    if (this.#isEnding) {
      this.#refuse(outgoing)
      return
    }
    this.current = outgoing
    this.openCount += 1
    outgoing.on('finish', completeResponse)
    if (!isFramingClear(outgoing.req)) this.#endWith(outgoing)
    if (this.openCount === 2) this.#preparePipelining()
    if (this.openCount > SERVED_MAX) this.#wait(outgoing)
    else this.#handlers.serve(outgoing)
  }

  /** Ends the connection with this request, whose response is the error. */
  fail(outgoing: ServerResponse, fault: GatewayError): void {
    this.fault = fault
    this.#endWith(outgoing)
  }

  /** Whether what is read now is the body of a request that has its response: a refused body that is on its way, usually. */
  get isBehindResponse(): boolean {
    return this.#unread?.complete === false
  }

  /** Serves no further request: the connection is being closed. */
  stop(): void {
    this.#isEnding = true
  }

  complete(outgoing: ServerResponse): void {
    this.openCount -= 1
    if (this.current === outgoing) this.current = undefined
    this.#unread = outgoing.req.complete ? undefined : outgoing.req
    if (this.#waiting.length > 0) this.#serveNext()
  }

  /**
   * Bytes that the connection has sent since the last call. They belong to the response that has just ended; those of a pipelined
   * response that was ready behind it are sent before its end is seen, and count for it.
   */
  takeSentBytes(): number {
    const { bytesWritten } = this.#socket
    const sent = bytesWritten - this.#takenBytes
    this.#takenBytes = bytesWritten
    return sent
  }

  #preparePipelining(): void {
    this.#socket.setTimeout(UNREAD_TIMEOUT_MS)
    // Each request behind the first one listens for the end of the connection.
    this.#socket.setMaxListeners(2 * SERVED_MAX)
  }

  #wait(outgoing: ServerResponse): void {
    this.#hold()
    this.#waiting.push(outgoing)
    if (this.#waiting.length === WAITING_MAX) this.#endWith(outgoing)
  }

  #serveNext(): void {
    while (this.#waiting.length > 0 && this.openCount - this.#waiting.length < SERVED_MAX) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      if (this.#socket.writable) this.#handlers.serve(next)
      else this.#handlers.skip(next)
    }
    if (this.#waiting.length === 0 && !this.#isEnding) this.#release()
  }

  /** The response to this request is the last one of its connection, and says so. */
  #endWith(outgoing: ServerResponse): void {
    outgoing.shouldKeepAlive = false
    this.#isEnding = true
  }

  /** What was read behind the last request is dropped, and nothing more is read; observers learn of the first of these requests only. */
  #refuse(outgoing: ServerResponse): void {
    if (this.#isRefusing) return
    this.#isRefusing = true
    this.#hold()
    this.#handlers.skip(outgoing)
  }

  #hold(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.#socket.pause()
    this.#socket.on('resume', pauseAgain)
    this.#socket.once('close', this.#skipWaiting)
  }

  #release(): void {
    this.#isHeld = false
    this.#socket.removeListener('resume', pauseAgain)
    this.#socket.removeListener('close', this.#skipWaiting)
    this.#socket.resume()
  }

  readonly #skipWaiting = (): void => {
    for (const outgoing of this.#waiting.splice(0)) this.#handlers.skip(outgoing)
  }
}

/** Reading the body of a request resumes the socket, and so does Node when it has sent what was written. */
function pauseAgain(this: Socket): void {
  this.pause()
}

function completeResponse(this: ServerResponse): void {
  findConnection(this.req.socket)?.complete(this)
}
