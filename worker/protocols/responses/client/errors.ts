// Writes errors of the Responses operation: as a whole response, and as the end of a stream. Maps upstream errors of a request that
// continues a stored conversation (responses.md 6, 7.8 and 8).

import { GatewayError, type NormalizedRequest } from '../../../normalized/index.ts'
import { writeErrorEnvelope } from '../../shared/completions-family/error-envelope.ts'
import type { ResponsesFailure } from './schema.ts'
import { findRequestedThread } from './stored-conversation.ts'

/** Writes an error as a whole response: status, additional headers, body. */
export const writeResponsesError = writeErrorEnvelope

/** Writes the `error` member of a failed response, for an error after the first byte. */
export function writeResponsesFailure(error: GatewayError): ResponsesFailure {
  const code = error.kind === 'rate-limit' ? 'rate_limit_exceeded' : 'server_error'
  // Agents act on some codes, such as that of a context that is full (decisions.md 81).
  return { code: error.providerCode ?? code, message: error.message }
}

/**
 * Replaces an upstream error about an unknown stored conversation with one that names the client's
 * member for it (field-lessons.md F5), and returns every other error unchanged.
 */
export function refineResponsesError(error: GatewayError, request: NormalizedRequest): GatewayError {
  // A service of this wire says so itself.
  if (error.providerCode === 'previous_response_not_found') return error
  const threadId = findRequestedThread(request)
  if (threadId === undefined || !isAboutThread(error, threadId)) return error
  return new GatewayError('previous_response_not_found', {
    param: 'previous_response_id',
    message: 'The previous response does not exist, or its conversation was not stored.',
    cause: error
  })
}

function isAboutThread(error: GatewayError, threadId: string): boolean {
  const namesThread = /\bthread/i.test(error.message) || error.message.includes(threadId)
  switch (error.code) {
    case 'upstream_not_found':
      return true
    case 'model_not_found':
      // A request with a thread sends no model, so the missing model is that of the thread.
      return namesThread
    case 'upstream_rejected':
      return error.status === 400 && namesThread
    default:
      return false
  }
}
