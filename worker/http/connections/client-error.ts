// Responds to input that is not an HTTP request, and to CONNECT. Neither reaches the router, so the response is written directly to the
// socket.
import type { Socket } from 'node:net'
import { http } from '../../../shared/net/node-http.ts'
import { GatewayError } from '../../normalized/index.ts'

/** How long a client has to read the response and close; one that does neither would hold the connection for ever. */
const LINGER_MS = 1000

/**
 * Sends 400, 408 or 431 in the system form and closes the connection; a broken connection is only closed. `recordRefusal` takes the
 * status and returns the request id of the response; it is not called where no response can be sent.
 */
export function sendClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  recordRefusal: (status: number) => string
): void {
  // Everything that a client sends after this response raises the error again.
  if (socket.writableEnded) return
  if (!canRespond(error, socket)) {
    socket.destroy()
    return
  }
  const status = readStatus(error.code)
  const code = status === 408 ? 'request_timeout' : 'invalid_request'
  sendRefusal(socket, { status, code, requestId: recordRefusal(status) })
}

/** Returns the error of a request whose head was read, when the bytes after the head are not valid HTTP or did not arrive in time. */
export function toRequestFault({ code }: NodeJS.ErrnoException): GatewayError {
  const status = readStatus(code)
  if (status === 408) return new GatewayError('request_timeout')
  const isTooLarge = status === 431
  return new GatewayError('invalid_request', {
    status,
    message: isTooLarge
      ? 'The trailers of the request are too large.'
      : 'The body of the request does not match its head: its chunks or its content-length are wrong.'
  })
}

/** Returns whether a response can still be sent to a client whose connection raised this error. */
export function canRespond({ code }: NodeJS.ErrnoException, socket: Socket): boolean {
  return code !== 'ECONNRESET' && socket.writable
}

/** Sends 405 to a client that takes the gateway for a proxy, and closes the connection. */
export function refuseConnect(socket: Socket, recordRefusal: (status: number) => string): void {
  // What the client sends for its destination is dropped: unread bytes would make the kernel reset the connection.
  socket.resume()
  sendRefusal(socket, {
    status: 405,
    code: 'method_not_allowed',
    requestId: recordRefusal(405),
    headers: ['allow: GET, POST']
  })
}

function sendRefusal(
  socket: Socket,
  refusal: { status: number; code: string; requestId: string; headers?: readonly string[] }
): void {
  const { status, code, requestId, headers = [] } = refusal
  const message = http.STATUS_CODES[status] ?? 'Bad Request'
  const body = JSON.stringify({ error: { code, message } })
  const head = [
    `HTTP/1.1 ${status} ${message}`,
    `x-request-id: ${requestId}`,
    'vary: Origin',
    ...headers,
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: close'
  ]
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function readStatus(code: string | undefined): number {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408
  return code === 'HPE_HEADER_OVERFLOW' ? 431 : 400
}
