// Responds to input that is not an HTTP request, and to CONNECT. Neither reaches the router, so the response is written directly to the
// socket.
import type { Socket } from 'node:net'
import { http } from '../../shared/node-http.ts'

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
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = readStatus(error.code)
  const code = status === 408 ? 'request_timeout' : 'invalid_request'
  sendRefusal(socket, { status, code, requestId: recordRefusal(status) })
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
