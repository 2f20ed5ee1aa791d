// Writes errors in the form of the messages protocol (messages.md 8). The SDK chooses its error
// class by status, and reads `error.type`, `error.message` and `error.details.error_code`.
import type { ErrorCode, GatewayError } from '../../../normalized/index.ts'
import type { WrittenError } from '../../client-face.ts'
import { writeErrorHeaders } from '../../shared/errors/error-headers.ts'
import type { MessagesErrorBody, MessagesErrorType } from './schema.ts'

/** Codes that the body names, because their status and type are the same as those of other errors. */
const NAMED_CODES: ReadonlySet<ErrorCode> = new Set([
  'budget_exceeded',
  'context_length_exceeded',
  'credential_unavailable',
  'destination_mismatch',
  'gateway_not_ready',
  'gateway_overloaded',
  'host_not_allowed',
  'invalid_upstream_authorization',
  'key_disabled',
  'key_expired',
  'limits_unavailable',
  'model_concurrency_limit',
  'model_required',
  'origin_not_allowed',
  'provider_connections_exhausted',
  'provider_failure',
  'provider_protocol_error',
  'provider_timeout',
  'rate_limit_exceeded',
  'store_unavailable',
  'unknown_model_alias',
  'unsupported_semantic'
])

/** Writes an error with its status, headers and body. The body also has the id of the request. */
export function writeMessagesError(error: GatewayError, context: { requestId: string }): WrittenError {
  return { status: mapStatus(error), headers: writeHeaders(error), body: writeMessagesErrorBody(error, context) }
}

/**
 * Writes the body of an error, which is also the data of the last frame of a failed stream
 * (messages.md 7.2).
 */
export function writeMessagesErrorBody(error: GatewayError, context: { requestId: string }): MessagesErrorBody {
  const description = { type: mapErrorType(error), message: writeMessage(error) }
  return { type: 'error', error: { ...description, ...nameCode(error) }, request_id: context.requestId }
}

/** The SDK acts on some codes, such as those of threads, also on those of a provider. */
function nameCode({ code, reason, providerCode }: GatewayError): Pick<MessagesErrorBody['error'], 'code' | 'details'> {
  if (NAMED_CODES.has(code)) return { code, details: { error_code: reason ?? code } }
  return providerCode === undefined ? {} : { details: { error_code: providerCode } }
}

/** A wrong media type becomes 400, because the SDK has no class for 415. */
function mapStatus(error: GatewayError): number {
  return error.code === 'unsupported_media_type' ? 400 : error.status
}

function writeHeaders(error: GatewayError): Record<string, string> {
  const headers = writeErrorHeaders(error)
  // The SDK retries a 500 twice by default, but the same prompt fails again.
  if (error.code === 'upstream_generation_error') headers['x-should-retry'] = 'false'
  return headers
}

/** The body has no member for the wrong field, so the message starts with its path, as names and numbers separated by dots. */
function writeMessage({ message, param }: GatewayError): string {
  if (param === undefined) return message
  const path = param.replaceAll(/\[(\d+)\]/g, '.$1')
  const subject = `'${param}' `
  if (message.startsWith(subject)) return `${path}: ${message.slice(subject.length)}`
  return message.includes(param) ? message : `${path}: ${message}`
}

function mapErrorType(error: GatewayError): MessagesErrorType {
  const status = mapStatus(error)
  // The further statuses of the native upstream (messages.md 8): a 408 of the gateway itself is
  // another error.
  if (error.code === 'provider_failure' && status < 500) return 'invalid_request_error'
  switch (status) {
    case 401:
      return 'authentication_error'
    case 403:
      return 'permission_error'
    case 404:
      return 'not_found_error'
    case 408:
    case 504:
      return 'timeout_error'
    case 413:
      return 'request_too_large'
    case 429:
      return 'rate_limit_error'
    case 503:
      return 'overloaded_error'
    default:
      return status < 500 ? 'invalid_request_error' : 'api_error'
  }
}
