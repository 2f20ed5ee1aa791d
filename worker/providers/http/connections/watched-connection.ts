// What every connection to a provider has between its socket and the HTTP client. It passes over the `100 Continue` that some servers send
// before the response to every POST: no request asks for it, but a client must accept it (RFC 9110, section 15.2), and the HTTP client ends
// the connection at it. And it knows when a kept connection ends without a byte of the response: the HTTP client does not tell a request
// which connection it had, nor whether that was new.

import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { markStale } from './stale-connections.ts'

const CONTINUE = Buffer.from('HTTP/1.1 100')
/** Where the first digit of the status stands. */
const STATUS_AT = 'HTTP/1.1 '.length
/** The first digit of an informational status. */
const INFORMATIONAL = 0x31
const HEAD_END = '\r\n\r\n'
/** A longer head is left to the HTTP client, which refuses it. */
const HEAD_BYTES_MAX = 4096

/** Returns a connector whose connections do not show a `100 Continue` to the HTTP client, and mark the errors of stale ones. */
export function watchConnections(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...result) => {
      if (result[0] === null) watch(result[1])
      callback(...result)
    })
  }
}

/** The HTTP client takes what has arrived with `read`, sends one request at a time with `write`, and a head as a text. */
function watch(socket: Socket): void {
  const { read, write, destroy } = socket
  /** A byte of an earlier response has arrived. */
  let hasServed = false
  /** No byte of the response to the last request has arrived. */
  let isUnanswered = false
  /** Nothing of the response to what was written last has been read. */
  let isHeadNext = false
  /** The start of a head whose rest has not arrived. */
  let held: Buffer | undefined

  socket.write = function filteredWrite(...written: unknown[]): boolean {
    isHeadNext = true
    if (typeof written[0] === 'string') isUnanswered = true
    return Reflect.apply(write, this, written)
  }
  socket.read = function filteredRead(size?: number): Buffer | null {
    const chunk: Buffer | null = read.call(this, size)
    if (chunk !== null) {
      hasServed = true
      isUnanswered = false
    }
    if (!isHeadNext || chunk === null) return chunk
    const bytes = skipContinues(held === undefined ? chunk : Buffer.concat([held, chunk]))
    held = isStartOfContinue(bytes) && bytes.length <= HEAD_BYTES_MAX ? bytes : undefined
    if (bytes.length === 0 || held !== undefined) return null
    isHeadNext = false
    return bytes
  }
  socket.destroy = function watchedDestroy(error?: Error): Socket {
    if (error !== undefined && error !== null && hasServed && isUnanswered) markStale(error)
    return destroy.call(this, error)
  }
}

function skipContinues(bytes: Buffer): Buffer {
  let rest = bytes
  while (isStartOfContinue(rest)) {
    const end = rest.indexOf(HEAD_END)
    if (end === -1) break
    rest = rest.subarray(end + HEAD_END.length)
  }
  return rest
}

/** Whether these may be the first bytes of a `100 Continue`. */
function isStartOfContinue(bytes: Buffer): boolean {
  // Most responses are final, and this costs less than comparing texts.
  if (bytes.length > STATUS_AT && bytes[STATUS_AT] !== INFORMATIONAL) return false
  const length = Math.min(bytes.length, CONTINUE.length)
  return length > 0 && CONTINUE.compare(bytes, 0, length, 0, length) === 0
}
