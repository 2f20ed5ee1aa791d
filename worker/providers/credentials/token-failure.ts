// What becomes of a token that cannot be fetched: a failure of the gateway for the clients that wait for it, and one line for the
// operator (providers.md 2). The token server's own words reach neither.

import type { Logger } from '../../../shared/logging.ts'
import { GatewayError } from '../../normalized/index.ts'
import { CallFailure, describeCause } from '../http/call-failure.ts'

/** The stable id of the failure, for machines and for the log. */
export const CREDENTIAL_REFRESH_FAILED = 'credential_refresh_failed'

/**
 * The failure of a call whose token could not be fetched: 502, because a client that got the token server's 401 would take its own
 * key for wrong. Another attempt of the same call would meet the same server a moment later.
 */
export function describeTokenFailure(thrown: unknown): unknown {
  if (!(thrown instanceof CallFailure) || thrown.error.code === 'credential_unavailable') return thrown
  const { outcome, errorType } = thrown
  const words = ['token server', errorType, readOAuthError(thrown)].filter(word => word !== undefined)
  const error = new GatewayError('provider_failure', {
    reason: CREDENTIAL_REFRESH_FAILED,
    message: 'The gateway could not get a credential for the upstream.',
    cause: outcome === 'credential_error' ? thrown.error.cause : words.join(' ')
  })
  return new CallFailure(error, { outcome: 'credential_error', isRetryable: false })
}

/** Writes the line of a failed fetch. `profileId` names whose token it is. */
export function logTokenFailure(log: Logger, thrown: unknown, profileId: string): void {
  const failure = thrown instanceof CallFailure ? thrown : undefined
  log.warn(
    {
      event: 'upstream_token_failed',
      profile_id: profileId,
      reason_id: CREDENTIAL_REFRESH_FAILED,
      status: failure?.status ?? undefined,
      error_type: failure?.errorType,
      oauth_error: failure === undefined ? undefined : readOAuthError(failure),
      // A status has no other cause than itself.
      cause: failure === undefined ? String(thrown) : failure.status === null ? describeCause(failure.error) : undefined
    },
    'No access token could be fetched for the profile'
  )
}

/** The ids of OAuth are words such as `invalid_client`; a longer or other text could hold anything. */
const OAUTH_ERROR = /^[a-z][a-z_]{2,39}$/

/** It leaves out a byte order mark. */
const UTF8 = new TextDecoder()

/** The short id in the error of a token server (RFC 6749, section 5.2); undefined without one. */
export function readOAuthError({ responseBody }: CallFailure): string | undefined {
  if (responseBody === undefined) return undefined
  try {
    const body: unknown = JSON.parse(UTF8.decode(responseBody))
    if (typeof body !== 'object' || body === null || !('error' in body)) return undefined
    return typeof body.error === 'string' && OAUTH_ERROR.test(body.error) ? body.error : undefined
  } catch {
    return undefined
  }
}
