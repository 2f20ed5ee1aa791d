// One HTTP exchange: the request, its record, and the functions that send or break its response.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { UpstreamError } from './errors.ts'
import type { RecordedRequest } from './recorder.ts'

export interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  method: string
  path: string
  record: RecordedRequest
  /** Account of the token; a file is visible to its own account only. */
  account: string
  /** Set before the emulator destroys the connection, so that the close is not counted as a client disconnect. */
  isBrokenOnPurpose: boolean
  /** True after the response is complete or the connection is closed, by either side. */
  isClosed: boolean
  /** Called once when `isClosed` becomes true; `onClosed` adds a listener. */
  closeListeners: Set<() => void>
}

/** Calls the listener when the exchange is closed; returns a function that removes the listener. */
export function onClosed(exchange: Exchange, listener: () => void): () => void {
  exchange.closeListeners.add(listener)
  return () => {
    exchange.closeListeners.delete(listener)
  }
}

/**
 * Reads the whole request body.
 * @throws UpstreamError 413 when the body is larger than `bytesMax`.
 */
export function readBody(exchange: Exchange, bytesMax: number): Promise<Buffer> {
  const { request } = exchange
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) {
        // The rest of the body is read and discarded: otherwise the client gets a connection reset instead of the 413.
        chunks.length = 0
        reject(new UpstreamError(413, 'Payload too large', { headers: { connection: 'close' } }))
        return
      }
      chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)))
    request.on('error', reject)
    request.on('close', () => {
      if (!request.complete) reject(new Error('the client disconnected before its request body was complete'))
    })
  })
}

/** The headers of every API response. The request id is always a new one; the client's session id is returned. */
export function apiHeaders(exchange: Exchange): OutgoingHttpHeaders {
  const session = exchange.request.headers['x-session-id']
  return {
    'x-request-id': randomUUID(),
    'x-session-id': typeof session === 'string' && session !== '' ? session : randomUUID()
  }
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends a complete response with the API headers. */
export function sendBody(
  exchange: Exchange,
  content: { status: number; contentType: string; body: string | Buffer; headers?: OutgoingHttpHeaders }
): void {
  const { response } = exchange
  if (response.headersSent || response.destroyed) return
  if (content.status === 204 || content.status === 304) {
    response.writeHead(content.status, { ...apiHeaders(exchange), ...content.headers })
    response.end()
    return
  }
  const length = typeof content.body === 'string' ? Buffer.byteLength(content.body) : content.body.length
  response.writeHead(content.status, {
    'content-type': content.contentType,
    'content-length': length,
    ...apiHeaders(exchange),
    ...content.headers
  })
  response.end(content.body)
}

/** Sends a JSON value as an API response. */
export function sendJson(exchange: Exchange, status: number, value: unknown, headers?: OutgoingHttpHeaders): void {
  sendBody(exchange, {
    status,
    contentType: JSON_TYPE,
    body: JSON.stringify(value),
    ...(headers === undefined ? {} : { headers })
  })
}

/** The HTML error page that a proxy in front of the upstream sends. */
export function writeHtmlError(status: number, message: string): string {
  const escaped = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<html>\r\n<head><title>${status} ${escaped}</title></head>\r\n<body>\r\n<center><h1>${status} ${escaped}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`
}

/** Sends an error in the native API's form, `{"status","message"}`, or as a proxy's HTML page. */
export function sendApiError(exchange: Exchange, error: UpstreamError): void {
  if (error.isHtml) {
    const body = writeHtmlError(error.status, error.message)
    sendBody(exchange, { status: error.status, contentType: 'text/html', body, headers: error.headers })
  } else sendJson(exchange, error.status, { status: error.status, message: error.message }, error.headers)
}

/** Destroys the connection as a crashing upstream would. */
export function breakConnection(exchange: Exchange): void {
  exchange.isBrokenOnPurpose = true
  exchange.response.destroy()
}

/** Waits `ms` milliseconds, or until the exchange is closed. Resolves to false when it is closed. */
export function pause(exchange: Exchange, ms: number): Promise<boolean> {
  if (exchange.isClosed) return Promise.resolve(false)
  return new Promise(resolve => {
    const finish = () => {
      clearTimeout(timer)
      removeListener()
      resolve(!exchange.isClosed)
    }
    const timer = setTimeout(finish, ms)
    const removeListener = onClosed(exchange, finish)
  })
}
