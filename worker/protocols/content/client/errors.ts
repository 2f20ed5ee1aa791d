// Errors as the content protocol sends them: the status object of Google's RPC framework
// (content.md 7).
import type { ErrorCode, GatewayError, JsonObject } from '../../../normalized/index.ts'
import type { WrittenError } from '../../client-face.ts'
import { writeErrorHeaders } from '../../shared/errors/error-headers.ts'

/** Stable reasons in `details`, for clients that need more than the RPC status. */
const REASONS: Partial<Record<ErrorCode, string>> = {
  budget_exceeded: 'budget_exceeded',
  context_length_exceeded: 'context_length_exceeded',
  credential_unavailable: 'credential_unavailable',
  destination_mismatch: 'destination_mismatch',
  gateway_not_ready: 'gateway_not_ready',
  gateway_overloaded: 'gateway_overloaded',
  host_not_allowed: 'host_not_allowed',
  invalid_api_key: 'API_KEY_INVALID',
  invalid_json: 'invalid_json',
  invalid_upstream_authorization: 'invalid_upstream_authorization',
  key_disabled: 'key_disabled',
  key_expired: 'key_expired',
  limits_unavailable: 'limits_unavailable',
  model_concurrency_limit: 'model_concurrency_limit',
  model_required: 'model_required',
  origin_not_allowed: 'origin_not_allowed',
  provider_connections_exhausted: 'provider_connections_exhausted',
  provider_failure: 'provider_failure',
  provider_protocol_error: 'provider_protocol_error',
  provider_timeout: 'provider_timeout',
  rate_limit_exceeded: 'rate_limit_exceeded',
  request_entity_too_large: 'request_entity_too_large',
  store_unavailable: 'store_unavailable',
  unknown_model_alias: 'unknown_model_alias',
  unsupported_semantic: 'unsupported_semantic'
}

/** Codes about one field of the body, whose path the response contains. */
const FIELD_CODES: ReadonlySet<ErrorCode> = new Set([
  'attachment_download_failed',
  'context_length_exceeded',
  'invalid_request',
  'invalid_url',
  'unsupported_media_type',
  'unsupported_parameter',
  'unsupported_response_format',
  'unsupported_semantic'
])

/** Writes an error with its status, headers and body. */
export function writeContentError(error: GatewayError, _context: { requestId: string }): WrittenError {
  const status = error.code === 'unsupported_media_type' ? 400 : error.status
  const details = writeDetails(error, status)
  return {
    status,
    headers: writeErrorHeaders(error),
    body: {
      error: {
        code: status,
        message: error.message,
        status: mapRpcStatus(status, error.code),
        ...(details.length === 0 ? {} : { details })
      }
    }
  }
}

function writeDetails(error: GatewayError, status: number): JsonObject[] {
  const details: JsonObject[] = []
  const reason = REASONS[error.code]
  if (reason !== undefined) {
    details.push({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: error.reason ?? reason,
      domain: 'gateway'
    })
  }
  if (error.param !== undefined && FIELD_CODES.has(error.code)) {
    details.push({
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ field: error.param, description: error.message }]
    })
  }
  if (error.limit !== undefined) {
    const { key, name } = error.limit
    details.push({
      '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
      violations: [{ subject: `key:${key}`, description: error.message, quotaId: name }]
    })
  }
  // A `retry-after` date cannot be written as a duration; only the header has it.
  if (status === 429 && error.retryAfter !== undefined && /^\d+(\.\d+)?$/.test(error.retryAfter)) {
    details.push({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${error.retryAfter}s` })
  }
  return details
}

function mapRpcStatus(status: number, code: ErrorCode): string {
  // The further statuses of the native upstream (content.md 7): the gateway has words of its own
  // for some of them.
  if (code === 'provider_failure' && status < 500) return 'FAILED_PRECONDITION'
  switch (status) {
    case 400:
    case 409:
    case 413:
    case 415:
    case 422:
      return 'INVALID_ARGUMENT'
    case 401:
      return 'UNAUTHENTICATED'
    case 403:
      return 'PERMISSION_DENIED'
    case 404:
      return 'NOT_FOUND'
    case 405:
    case 501:
      return 'UNIMPLEMENTED'
    case 408:
    case 504:
      return 'DEADLINE_EXCEEDED'
    case 429:
      return 'RESOURCE_EXHAUSTED'
    case 499:
      return 'CANCELLED'
    case 502:
    case 503:
      return 'UNAVAILABLE'
    default:
      return status < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL'
  }
}
