// Errors in the envelope that completions and Responses share (completions.md 8). The SDK fills `err.code`, `err.type` and
// `err.param` only from a top-level `error`, and selects the error class by the status alone.

import type { ErrorKind, GatewayError } from '../../../normalized/index.ts'
import type { WrittenError } from '../../client-face.ts'
import { writeErrorHeaders } from '../errors/error-headers.ts'

export type EnvelopeErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_denied_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'insufficient_quota'
  | 'server_error'

export type ErrorEnvelope = {
  schema_version?: 'gateway.error.v1'
  error: {
    message: string
    type: EnvelopeErrorType
    param: string | null
    code: string | null
    details?: Array<{ reason_id: string }>
  }
}

/** Writes an error as a whole response: status, headers beyond the usual ones, body. */
export function writeErrorEnvelope(error: GatewayError): WrittenError {
  return { status: error.status, headers: writeHeaders(error), body: writeBody(error) }
}

function writeHeaders(error: GatewayError): Record<string, string> {
  const headers = writeErrorHeaders(error)
  // The SDK retries a 500 twice by default, but the same prompt would fail again.
  if (error.code === 'upstream_generation_error') headers['x-should-retry'] = 'false'
  return headers
}

function writeBody(error: GatewayError): ErrorEnvelope {
  const envelope: ErrorEnvelope = {
    error: { message: error.message, type: mapType(error), param: mapParam(error), code: mapCode(error) }
  }
  if (error.code !== 'gateway_not_ready') return envelope
  // One body is both the machine document and the SDK's envelope, because probes and SDKs call the same routes during a drain.
  const details = error.reason === undefined ? [] : [{ reason_id: error.reason }]
  return { schema_version: 'gateway.error.v1', error: { ...envelope.error, details } }
}

const typeOfKind: Record<ErrorKind, EnvelopeErrorType> = {
  'invalid-request': 'invalid_request_error',
  authentication: 'authentication_error',
  permission: 'permission_denied_error',
  'not-found': 'not_found_error',
  'too-large': 'invalid_request_error',
  'rate-limit': 'rate_limit_error',
  overloaded: 'server_error',
  timeout: 'server_error',
  upstream: 'server_error',
  internal: 'server_error'
}

function mapType(error: GatewayError): EnvelopeErrorType {
  // Agents take this type as the end of their attempts.
  if (error.code === 'budget_exceeded') return 'insufficient_quota'
  // A URL or an alias that the gateway does not have is a mistake in the request, unlike a model that the upstream does not find.
  if (error.code === 'unknown_url' || error.code === 'unknown_model_alias') return 'invalid_request_error'
  // So does the service of this protocol for a stored object.
  if (error.code === 'object_not_found') return 'invalid_request_error'
  if (error.kind === 'upstream' && error.status < 500) return 'invalid_request_error'
  return typeOfKind[error.kind]
}

/** Upstream statuses for which the SDK's own service sends an error without a code. */
const STATUSES_WITHOUT_CODE = new Set([400, 409, 413, 422, 500])

function mapCode(error: GatewayError): string | null {
  switch (error.code) {
    case 'upstream_rejected':
      return error.providerCode ?? (STATUSES_WITHOUT_CODE.has(error.status) ? null : 'provider_failure')
    case 'rate_limited':
      return error.providerCode ?? null
    case 'upstream_error':
      return STATUSES_WITHOUT_CODE.has(error.status) ? null : 'provider_failure'
    case 'upstream_unauthorized':
      return 'invalid_api_key'
    case 'upstream_forbidden':
    case 'upstream_not_found':
    case 'internal_error':
    case 'object_not_found':
      return null
    default:
      return error.code
  }
}

function mapParam(error: GatewayError): string | null {
  switch (error.code) {
    case 'invalid_url':
    case 'attachment_download_failed':
    case 'unsupported_media_type':
      return 'attachments'
    case 'request_entity_too_large':
      // An error without a path is about the body, one with a path about an attachment.
      return error.param === undefined ? null : 'attachments'
    case 'model_required':
    case 'model_not_found':
    case 'unknown_model_alias':
    case 'model_concurrency_limit':
      return error.param ?? 'model'
    case 'unsupported_response_format':
      return error.param ?? 'response_format.type'
    default:
      return error.param ?? error.providerParam ?? null
  }
}
