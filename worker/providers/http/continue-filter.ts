// Passes over the `100 Continue` that some servers send before the response to every POST. No request asks for it, but a client must accept
// it (RFC 9110, section 15.2), and the HTTP client ends the connection at it.

import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'

const CONTINUE = Buffer.from('HTTP/1.1 100')
/** Where the first digit of the status stands. */
const STATUS_AT = 'HTTP/1.1 '.length
/** The first digit of an informational status. */
const INFORMATIONAL = 0x31
const HEAD_END = '\r\n\r\n'
/** A longer head is left to the HTTP client, which refuses it. */
const HEAD_BYTES_MAX = 4096

/** Returns a connector whose connections do not show a `100 Continue` to the HTTP client. */
export function passOverContinue(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...result) => {
      if (result[0] === null) filterReads(result[1])
      callback(...result)
    })
  }
}

/** The HTTP client takes what has arrived with `read`, and sends one request at a time with `write`. */
function filterReads(socket: Socket): void {
  const { read, write } = socket
  /** Nothing of the response to what was written last has been read. */
  let isHeadNext = false
  /** The start of a head whose rest has not arrived. */
  let held: Buffer | undefined

  socket.write = function filteredWrite(...written: unknown[]): boolean {
    isHeadNext = true
    return Reflect.apply(write, this, written)
  }
  socket.read = function filteredRead(size?: number): Buffer | null {
    const chunk: Buffer | null = read.call(this, size)
    if (!isHeadNext || chunk === null) return chunk
    const bytes = skipContinues(held === undefined ? chunk : Buffer.concat([held, chunk]))
    held = isStartOfContinue(bytes) && bytes.length <= HEAD_BYTES_MAX ? bytes : undefined
    if (bytes.length === 0 || held !== undefined) return null
    isHeadNext = false
    return bytes
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
