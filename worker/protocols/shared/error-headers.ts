// Headers that an error has in every client protocol.
import type { ErrorCode, GatewayError } from '../../normalized/index.ts'

/** Refusals of our own that may have passed a second later. */
const OWN_REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'gateway_not_ready',
  'gateway_overloaded',
  'model_concurrency_limit'
])
const OWN_RETRY_AFTER = '1'

/** `retry-after` for a refusal that may pass, `allow` for a wrong method, `www-authenticate` for a missing key. */
export function writeErrorHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = {}
  const retryAfter = error.retryAfter ?? (OWN_REFUSALS.has(error.code) ? OWN_RETRY_AFTER : undefined)
  const isTemporary = error.status === 429 || error.status === 503
  if (isTemporary && retryAfter !== undefined) headers['retry-after'] = retryAfter
  if (error.allow !== undefined) headers.allow = error.allow
  if (error.code === 'invalid_api_key') headers['www-authenticate'] = 'Bearer'
  return headers
}
