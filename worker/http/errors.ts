// The one place that turns an error into a response, in the form of the client's protocol
// (operations.md 1.1).
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createErrorDocument } from '../../shared/documents/documents.ts'
import { assertNever, GatewayError, toGatewayError } from '../normalized/index.ts'
import type { Family } from '../operations/operation.ts'
import type { WriteError, WrittenError } from '../protocols/client-face.ts'
import { writeCompletionsError } from '../protocols/completions/client/errors.ts'
import { writeContentError } from '../protocols/content/client/errors.ts'
import { writeMessagesError } from '../protocols/messages/client/errors.ts'
import { writeErrorHeaders } from '../protocols/shared/errors/error-headers.ts'
import { findConnection } from './connections/served-connection.ts'
import { sendWhole } from './respond.ts'

/** The system form has its own words for these codes. */
const SYSTEM_WORDS: Partial<Record<string, { code: string; message: string }>> = {
  unknown_url: { code: 'not_found', message: 'Not Found' }
}

/** Writes an error for a route that belongs to no client protocol: `{"error":{"code","message"}}`, with `errors` where it has several. */
export const writeSystemError: WriteError = error => {
  const words = SYSTEM_WORDS[error.code]
  const { errors } = error
  return {
    status: error.status,
    headers: writeErrorHeaders(error),
    body: {
      error: {
        code: words?.code ?? error.code,
        message: words?.message ?? error.message,
        ...(errors === undefined ? {} : { errors: errors.map(({ path, message }) => ({ path, message })) })
      }
    }
  }
}

/**
 * Writes an error for the machine endpoints: the same two members inside a versioned document
 * (bridge.md 5.2).
 */
const writeMachineError: WriteError = (error, context) => {
  const written = writeSystemError(error, context)
  const { code, message } = error
  const document = createErrorDocument({
    code: SYSTEM_WORDS[code]?.code ?? code,
    message: SYSTEM_WORDS[code]?.message ?? message,
    ...(error.reason === undefined ? {} : { details: [{ reason_id: error.reason }] })
  })
  return { ...written, body: { ...document } }
}

/** Writes an error in the form of a family. */
function writeFamilyError(family: Family, error: GatewayError, context: { requestId: string }): WrittenError {
  switch (family) {
    case 'completions':
      return writeCompletionsError(error)
    case 'messages':
      return writeMessagesError(error, context)
    case 'content':
      return writeContentError(error, context)
    case 'system':
      return writeSystemError(error, context)
    default:
      return assertNever(family)
  }
}

/**
 * Creates the handler of everything that was thrown. Faults of the gateway become a fixed 500 and a log line; errors of Fastify are
 * translated. When the response has begun already, the connection is closed instead.
 */
export function createErrorResponder() {
  return function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { context } = request
    const error = readFrameworkError(thrown) ?? toGatewayError(thrown)
    context.failed(error)
    if (reply.raw.headersSent) {
      reply.hijack()
      context.lifetime.cut(error)
      return
    }
    const isMachinePath = context.family === 'system' && isMachineEndpoint(context.routedPath)
    const written = isMachinePath ? writeMachineError(error, context) : writeFamilyError(context.family, error, context)
    sendWhole(reply, {
      status: written.status,
      contentType: 'application/json',
      headers: [...Object.entries(written.headers).flat(), ...(isPrivate(request) ? NOT_STORED : [])],
      body: JSON.stringify(written.body),
      isLast: mustCloseConnection(error, request)
    })
  }
}

/** Caches may store a 404. */
const NOT_STORED = ['cache-control', 'no-store']

function isPrivate({ context }: FastifyRequest): boolean {
  return context.traits?.access === 'admin-key'
}

function isMachineEndpoint(path: string): boolean {
  return path === '/ready' || path === '/readyz' || path.startsWith('/bridge/')
}

/**
 * A connection can only be used again when its request was read to the end. Node skips the rest of
 * a body of known size; the end of one of unknown size, or that waits for `100 Continue`, may never
 * come. After a body that was too large or too slow the connection is always closed
 * (operations.md 3.3).
 */
function mustCloseConnection(error: GatewayError, request: FastifyRequest): boolean {
  if (CLOSING_CODES.has(error.code)) return true
  if (findConnection(request.raw.socket)?.fault !== undefined) return true
  if (request.raw.complete) return false
  const { headers } = request
  return headers['transfer-encoding'] !== undefined || headers.expect !== undefined
}

/** The last one: a client that asked for another protocol may have sent bytes of it. */
const CLOSING_CODES: ReadonlySet<string> = new Set(['request_entity_too_large', 'request_timeout', 'upgrade_required'])

/** Fastify's own errors, recognised by their code. Their texts may repeat parts of the request and are not sent. */
function readFrameworkError(thrown: unknown): GatewayError | undefined {
  if (GatewayError.is(thrown) || !(thrown instanceof Error)) return undefined
  const { code, statusCode } = thrown as Error & { code?: unknown; statusCode?: unknown }
  if (typeof code !== 'string' || !code.startsWith('FST_ERR_')) return undefined
  if (code === 'FST_ERR_BAD_URL') return new GatewayError('invalid_request', { message: 'The path cannot be decoded.' })
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return new GatewayError('unknown_url')
  const isClientFault = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
  return isClientFault ? new GatewayError('invalid_request', { status: statusCode }) : undefined
}
