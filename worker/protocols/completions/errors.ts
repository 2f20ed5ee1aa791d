// Errors in the family's envelope, as an answer of its own and as a frame of a stream (completions.md 6.5, 8). The SDK fills
// `err.code`, `err.type` and `err.param` only from a top-level `error`, and picks its class by the status alone.

import type { ErrorCode, ErrorKind, GatewayError } from '../../normalized/index.ts'
import type { WrittenError } from '../face.ts'
import { writeErrorHeaders } from '../shared/error-headers.ts'
import type { CompletionsErrorBody, CompletionsErrorType } from './schema.ts'

/** Writes an error as the whole answer: status, headers beyond the usual ones, body. */
export function writeCompletionsError(error: GatewayError): WrittenError {
  return { status: error.status, headers: writeHeaders(error), body: writeBody(error) }
}

/** Writes an error that comes after the first byte, as the object of one frame. */
export function writeCompletionsStreamError(error: GatewayError): CompletionsErrorBody {
  return {
    error: {
      message: error.message,
      type: error.kind === 'rate-limit' ? 'rate_limit_error' : 'server_error',
      param: error.code === 'model_concurrency_limit' ? 'model' : null,
      code: upstreamFailures.has(error.code) ? 'stream_error' : error.code
    }
  }
}

/** What goes wrong at the upstream while it streams has one code for a client, whose request it no longer is about. */
const upstreamFailures: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'upstream_rejected',
  'upstream_unauthorized',
  'upstream_forbidden',
  'upstream_not_found',
  'upstream_error',
  'rate_limited',
  'provider_failure',
  'destination_mismatch',
  'credential_unavailable'
])

function writeBody(error: GatewayError): CompletionsErrorBody {
  const envelope: CompletionsErrorBody = {
    error: { message: error.message, type: mapType(error), param: mapParam(error), code: mapCode(error) }
  }
  if (error.code !== 'gateway_not_ready') return envelope
  // The machine document and the SDK's envelope in one: probes and SDKs ask the same routes while a worker drains.
  const details = error.reason === undefined ? [] : [{ reason_id: error.reason }]
  return { schema_version: 'gateway.error.v1', error: { ...envelope.error, details } }
}

const typeOfKind: Record<ErrorKind, CompletionsErrorType> = {
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

function mapType(error: GatewayError): CompletionsErrorType {
  // The request names a thing that is not there: a mistake in the request, unlike a model that the upstream does not find.
  if (error.code === 'unknown_url' || error.code === 'unknown_model_alias') return 'invalid_request_error'
  if (error.kind === 'upstream' && error.status < 500) return 'invalid_request_error'
  return typeOfKind[error.kind]
}

/** Upstream statuses that the family's own service has too, and answers without a code. */
const STATUSES_WITHOUT_CODE = new Set([400, 413, 422, 500])

function mapCode(error: GatewayError): string | null {
  switch (error.code) {
    case 'upstream_rejected':
    case 'upstream_error':
      return STATUSES_WITHOUT_CODE.has(error.status) ? null : 'provider_failure'
    case 'upstream_unauthorized':
      return 'invalid_api_key'
    case 'upstream_forbidden':
    case 'upstream_not_found':
    case 'rate_limited':
    case 'internal_error':
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
      // Without a path it is the body that is too large, with one the attachment there.
      return error.param === undefined ? null : 'attachments'
    case 'model_required':
    case 'model_not_found':
    case 'unknown_model_alias':
    case 'model_concurrency_limit':
      return error.param ?? 'model'
    case 'unsupported_response_format':
      return error.param ?? 'response_format.type'
    default:
      return error.param ?? null
  }
}

/** Seconds after which a refusal of our own may have passed. */
const OWN_RETRY_AFTER = '1'

const ownRefusals: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'gateway_not_ready',
  'gateway_overloaded',
  'model_concurrency_limit'
])

function writeHeaders(error: GatewayError): Record<string, string> {
  const headers = writeErrorHeaders(error)
  if (ownRefusals.has(error.code)) headers['retry-after'] ??= OWN_RETRY_AFTER
  // The same prompt would fail the same way: the SDK would retry a 500 twice by default.
  if (error.code === 'upstream_generation_error') headers['x-should-retry'] = 'false'
  if (error.code === 'invalid_api_key') headers['www-authenticate'] = 'Bearer'
  return headers
}
