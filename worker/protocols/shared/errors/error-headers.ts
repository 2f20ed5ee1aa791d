// Headers that an error has in every client protocol.
import type { ErrorCode, GatewayError } from '../../../normalized/index.ts'

/** Refusals by the gateway whose cause may end within a second. */
const TEMPORARY_REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'gateway_not_ready',
  'gateway_overloaded',
  'limits_unavailable',
  'model_concurrency_limit',
  'store_unavailable'
])
const REFUSAL_RETRY_AFTER_S = '1'

/** The client has to send another key. */
const KEY_REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['invalid_api_key', 'key_expired', 'key_disabled'])

/**
 * Writes `retry-after` for a temporary refusal, `x-should-retry` for a spent budget, `allow` for a wrong method and `www-authenticate` for a
 * missing key.
 */
export function writeErrorHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = {}
  const retryAfter = error.retryAfter ?? (TEMPORARY_REFUSALS.has(error.code) ? REFUSAL_RETRY_AFTER_S : undefined)
  const isTemporary = error.status === 429 || error.status === 503
  if (isTemporary && retryAfter !== undefined) headers['retry-after'] = retryAfter
  // SDKs repeat every 429, but a budget is not free again while they wait.
  if (error.code === 'budget_exceeded') headers['x-should-retry'] = 'false'
  if (error.allow !== undefined) headers.allow = error.allow
  if (KEY_REFUSALS.has(error.code)) headers['www-authenticate'] = 'Bearer'
  return headers
}
