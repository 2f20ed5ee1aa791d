// Writes whole answers straight to the connection. Fastify's own sending is not on this path: it would cost a serializer lookup,
// a header object and hooks per answer, and every answer must carry the same headers whichever stage gives it.
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { RequestContext } from './request-context.ts'

/** How long an answer that comes before the end of its request waits for the client to stop sending. */
const LINGER_MS = 1000

export interface WholeResponse {
  status: number
  contentType?: string
  /** Header names and values in turn, besides those that every answer has. */
  headers?: readonly string[]
  body: string | Uint8Array
  /** End the connection, but let the client finish its sentence first. */
  isLast?: boolean
}

/** Sends a JSON answer. `body` is the JSON text or its bytes; `headers` come besides those that every answer has. */
export function sendJson(
  reply: FastifyReply,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array
): void {
  const flat: string[] = []
  for (const name in headers) flat.push(name, headers[name] ?? '')
  sendWhole(reply, { status, contentType: 'application/json', headers: flat, body })
}

/** Sends an answer that is known as a whole. Nothing happens when the client is gone or something was sent already. */
export function sendWhole(reply: FastifyReply, answer: WholeResponse): void {
  const response = reply.raw
  const isPossible = !response.headersSent && !response.destroyed
  // Before the framework lets go: a head that cannot be written is still answered with an error.
  if (isPossible) response.writeHead(answer.status, writeHeaders(reply.request.context, answer))
  reply.hijack()
  if (!isPossible) return
  if (answer.isLast === true) endAfterRequest(reply.request.context, response, answer.body)
  else response.end(answer.body)
}

function writeHeaders(context: RequestContext, answer: WholeResponse): string[] {
  const headers = context.responseHeaders()
  if (answer.contentType !== undefined) headers.push('content-type', answer.contentType)
  headers.push('content-length', String(byteLength(answer.body)))
  if (answer.headers !== undefined) headers.push(...answer.headers)
  // While draining the connection ends anyway, and a second `connection` header would be one too many.
  if (answer.isLast === true && !headers.includes('connection')) headers.push('connection', 'close')
  return headers
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}

/**
 * Closing a connection that still has unread bytes makes the kernel send a reset, and the client may never read the answer
 * (413 would look like a network failure). So the answer goes out, the rest of the request is read and thrown away for a
 * moment, and only then the connection is closed.
 */
function endAfterRequest(context: RequestContext, response: ServerResponse, body: string | Uint8Array): void {
  const { incoming } = context
  if (incoming.complete || incoming.destroyed) {
    response.end(body)
    return
  }
  if (response.req.method !== 'HEAD') response.write(body)
  const timer = setTimeout(finish, LINGER_MS)
  function finish(): void {
    clearTimeout(timer)
    incoming.removeListener('end', finish)
    response.removeListener('close', finish)
    response.end()
  }
  incoming.once('end', finish)
  response.once('close', finish)
  incoming.resume()
}
