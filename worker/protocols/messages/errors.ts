// Errors as the messages protocol sends them (messages contract, section 8). Its SDK picks the class by status, and reads
// `error.type`, `error.message` and `error.details.error_code`.
import type { ErrorCode, GatewayError, JsonObject } from '../../normalized/index.ts'
import type { WrittenError } from '../face.ts'
import { writeErrorHeaders } from '../shared/error-headers.ts'

/** Codes that the envelope names, because the status and the type alone do not tell them apart. */
const NAMED_CODES: ReadonlySet<ErrorCode> = new Set([
  'credential_unavailable',
  'destination_mismatch',
  'gateway_not_ready',
  'gateway_overloaded',
  'invalid_upstream_authorization',
  'model_concurrency_limit',
  'model_required',
  'provider_failure',
  'provider_protocol_error',
  'provider_timeout',
  'unknown_model_alias',
  'unsupported_semantic'
])

/** Writes an error with its status, headers and body. The id of the request stands in the body too. */
export function writeMessagesError(error: GatewayError, context: { requestId: string }): WrittenError {
  const status = error.code === 'unsupported_media_type' ? 400 : error.status
  return {
    status,
    headers: writeErrorHeaders(error),
    body: { type: 'error', error: writeDescription(error, status), request_id: context.requestId }
  }
}

function writeDescription(error: GatewayError, status: number): JsonObject {
  const description: JsonObject = { type: mapErrorType(status), message: writeMessage(error) }
  if (!NAMED_CODES.has(error.code)) return description
  return { ...description, code: error.code, details: { error_code: error.reason ?? error.code } }
}

/** The envelope has no member for the field at fault, so the message names it. */
function writeMessage({ message, param }: GatewayError): string {
  return param === undefined || message.includes(param) ? message : `${param}: ${message}`
}

function mapErrorType(status: number): string {
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
