// Writes whole responses directly to the connection. Fastify's own sending would cost a serializer
// lookup, a header object and hooks per response, and every response must carry the same headers,
// whichever stage writes it.

import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { asBuffer } from '../../shared/bytes.ts'
import { PIECE_BYTES, writeInPieces } from './connections/client-writes.ts'
import { findConnection, limitUnread } from './connections/served-connection.ts'
import type { RequestContext } from './request-context.ts'

/**
 * How long a response that was sent before the end of its request waits for the client to stop
 * sending.
 */
const LINGER_MS = 1000

export interface WholeResponse {
  status: number
  contentType?: string
  /** Header names and values in turn, besides those that every response has. */
  headers?: readonly string[] | undefined
  body: string | Uint8Array
  /** Close the connection afterwards; the rest of the request is read for a moment first. */
  isLast?: boolean
}

/**
 * Sends a JSON response. `body` is the JSON text or its bytes; `headers` come besides those that
 * every response has.
 */
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

/**
 * Sends a whole response. Does nothing after a client disconnect or when a response was begun
 * already.
 */
export function sendWhole(reply: FastifyReply, whole: WholeResponse): void {
  const response = reply.raw
  const { context } = reply.request
  const isPossible = !response.headersSent && !response.destroyed
  const headers = writeHeaders(context, whole)
  // Before the hijack: while the framework owns the reply, a head that cannot be written becomes an
  // error response.
  if (isPossible) response.writeHead(whole.status, headers)
  reply.hijack()
  if (!isPossible) return
  const body = separateFromHead(context, whole.body)
  // The head closes the connection, or the client asked for it: proxies without keep-alive do for every request.
  const isLast = !response.shouldKeepAlive || headers.includes('connection')
  if (isLast) endAfterRequest(context, response, body)
  else endWhole(response, body)
  context.payloadLog?.response(context, whole.body)
  context.bodySent(whole.body)
  context.firstByte()
}

/**
 * Up to here copying bytes into a text costs less than a system call that takes head and body
 * apart.
 */
const JOINED_BYTES_MAX = 64 * 1024

function endWhole(response: ServerResponse, body?: string | Uint8Array): void {
  // A pipelined response has no connection yet: it waits for those before it, however long they
  // take.
  if (body instanceof Uint8Array && body.byteLength > PIECE_BYTES && response.socket !== null) {
    void writeInPieces(response, body).then(() => {
      if (!response.destroyed) endWhole(response)
    })
    return
  }
  // Node joins the head with a text, not with bytes; each byte is one character of this encoding.
  if (body instanceof Uint8Array && body.byteLength <= JOINED_BYTES_MAX) response.end(toLatin1(body), 'latin1')
  else response.end(body)
  limitUnread(response.socket)
}

/**
 * Node encodes the head like a text behind it, and joins no head with bytes. The notice is bytes: its last sign would be encoded twice
 * (decisions.md 70).
 */
function separateFromHead({ facts }: RequestContext, body: string | Uint8Array): string | Uint8Array {
  return typeof body === 'string' && facts.ignoredFields !== undefined ? Buffer.from(body) : body
}

function toLatin1(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('latin1')
}

function writeHeaders(context: RequestContext, whole: WholeResponse): string[] {
  const headers = context.responseHeaders()
  if (whole.contentType !== undefined) headers.push('content-type', whole.contentType)
  headers.push('content-length', String(byteLength(whole.body)))
  if (whole.headers !== undefined) headers.push(...whole.headers)
  // While draining, the headers of every response hold it already.
  if (whole.isLast === true && !headers.includes('connection')) headers.push('connection', 'close')
  return headers
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}

/**
 * Closing a connection that still has unread bytes makes the kernel send a reset, and the client
 * may never read the response (413 would look like a network failure). So the response is sent, the
 * rest of the request is read and dropped for a moment, and only then the connection is closed.
 */
function endAfterRequest(context: RequestContext, response: ServerResponse, body: string | Uint8Array): void {
  const { incoming } = context
  // After a fault of the framing the end of the request cannot be found.
  const isBroken = findConnection(incoming.socket)?.fault !== undefined
  if (!isBroken && (incoming.complete || incoming.destroyed)) {
    endWhole(response, body)
    return
  }
  if (response.req.method !== 'HEAD') {
    response.write(body, error => {
      if (error == null) context.lifetime.isSent = true
    })
  }
  const timer = setTimeout(finish, LINGER_MS)
  function finish(): void {
    clearTimeout(timer)
    incoming.removeListener('end', finish)
    response.removeListener('close', finish)
    endWhole(response)
  }
  if (!isBroken) incoming.once('end', finish)
  response.once('close', finish)
  incoming.resume()
}
