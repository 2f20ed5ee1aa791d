// Writes the errors of a chat completion: as a response, and as a frame of a stream (completions.md 6.5, 8).

import type { ErrorCode, GatewayError } from '../../../normalized/index.ts'
import { type ErrorEnvelope, writeErrorEnvelope } from '../../shared/completions-family/error-envelope.ts'

/** Writes an error as the whole response: status, additional headers, body. */
export const writeCompletionsError = writeErrorEnvelope

/** Writes an error that occurs after the first byte, as the object of one stream frame. */
export function writeCompletionsStreamError(error: GatewayError): ErrorEnvelope {
  return {
    error: {
      message: error.message,
      type: error.kind === 'rate-limit' ? 'rate_limit_error' : 'server_error',
      param: error.code === 'model_concurrency_limit' ? 'model' : (error.providerParam ?? null),
      code: error.providerCode ?? (upstreamFailures.has(error.code) ? 'stream_error' : error.code)
    }
  }
}

/** Upstream failures share one code in a stream: the upstream has accepted the request, so they are not about the client's request. */
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
