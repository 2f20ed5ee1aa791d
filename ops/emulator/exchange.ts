// One HTTP exchange: what came in, its record, and the few ways in which the emulator answers.
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
  /** Who the token belongs to; files are visible to their account only. */
  account: string
  /** Set before the emulator itself destroys the connection, so that this is not counted as an aborting client. */
  isBrokenOnPurpose: boolean
  /** True once the exchange is over or its connection is gone, whoever closed it. */
  isClosed: boolean
  /** Called once at that moment; `onClosed` adds to them. */
  closeListeners: Set<() => void>
}

/** Calls back when the exchange is over; returns the function that takes the listener away again. */
export function onClosed(exchange: Exchange, listener: () => void): () => void {
  exchange.closeListeners.add(listener)
  return () => {
    exchange.closeListeners.delete(listener)
  }
}

/**
 * Reads the whole request body.
 * @throws UpstreamError 413 past the bound.
 */
export function readBody(exchange: Exchange, bytesMax: number): Promise<Buffer> {
  const { request } = exchange
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) {
        // The rest is read and dropped, so that the client gets the answer and not a reset.
        chunks.length = 0
        reject(new UpstreamError(413, 'Payload too large', { headers: { connection: 'close' } }))
        return
      }
      chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)))
    request.on('error', reject)
    request.on('close', () => {
      if (!request.complete) reject(new Error('the client went away'))
    })
  })
}

/** The headers that every API answer carries; the request id is always the upstream's own. */
export function apiHeaders(exchange: Exchange): OutgoingHttpHeaders {
  const session = exchange.request.headers['x-session-id']
  return {
    'x-request-id': randomUUID(),
    'x-session-id': typeof session === 'string' && session !== '' ? session : randomUUID()
  }
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends a complete answer with the API headers. */
export function sendBody(
  exchange: Exchange,
  answer: { status: number; contentType: string; body: string | Buffer; headers?: OutgoingHttpHeaders }
): void {
  const { response } = exchange
  if (response.headersSent || response.destroyed) return
  if (answer.status === 204 || answer.status === 304) {
    response.writeHead(answer.status, { ...apiHeaders(exchange), ...answer.headers })
    response.end()
    return
  }
  const length = typeof answer.body === 'string' ? Buffer.byteLength(answer.body) : answer.body.length
  response.writeHead(answer.status, {
    'content-type': answer.contentType,
    'content-length': length,
    ...apiHeaders(exchange),
    ...answer.headers
  })
  response.end(answer.body)
}

/** Sends a JSON value as an API answer. */
export function sendJson(exchange: Exchange, status: number, value: unknown, headers?: OutgoingHttpHeaders): void {
  sendBody(exchange, {
    status,
    contentType: JSON_TYPE,
    body: JSON.stringify(value),
    ...(headers === undefined ? {} : { headers })
  })
}

/** Page that a proxy in front of the upstream sends. */
export function writeHtmlError(status: number, message: string): string {
  const escaped = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<html>\r\n<head><title>${status} ${escaped}</title></head>\r\n<body>\r\n<center><h1>${status} ${escaped}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`
}

/** Sends an error as the native API writes it: `{"status","message"}`, or the page of a proxy. */
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

/** Waits, but not longer than the connection lives. Resolves to false when the connection is gone. */
export function pause(exchange: Exchange, ms: number): Promise<boolean> {
  if (exchange.isClosed) return Promise.resolve(false)
  return new Promise(resolve => {
    const finish = () => {
      clearTimeout(timer)
      forget()
      resolve(!exchange.isClosed)
    }
    const timer = setTimeout(finish, ms)
    const forget = onClosed(exchange, finish)
  })
}
