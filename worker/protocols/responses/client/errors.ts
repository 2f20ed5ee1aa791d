// Errors of the Responses operation: as an answer of its own, as the end of a stream, and what an upstream's refusal means for a
// request that continues a stored conversation (responses.md 6, 7.8 and 8).

import { GatewayError, type NormalizedRequest } from '../../../normalized/index.ts'
import { writeErrorEnvelope } from '../../shared/completions-family/error-envelope.ts'
import type { ResponsesFailure } from './schema.ts'
import { findRequestedThread } from './stored-conversation.ts'

/** Writes an error as the whole answer: status, headers beyond the usual ones, body. */
export const writeResponsesError = writeErrorEnvelope

/** What a failed response says of an error that came after the first byte. */
export function writeResponsesFailure(error: GatewayError): ResponsesFailure {
  const code = error.kind === 'rate-limit' ? 'rate_limit_exceeded' : 'server_error'
  return { code, message: error.message }
}

/**
 * What an error means for the request: where it continues a conversation that the upstream does not know, the error names the
 * parameter instead of whatever the upstream was asked for (field lesson F5).
 */
export function refineResponsesError(error: GatewayError, request: NormalizedRequest): GatewayError {
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
      // With a thread no model is sent, so a missing one can only be the thread's own.
      return namesThread
    case 'upstream_rejected':
      return error.status === 400 && namesThread
    default:
      return false
  }
}
