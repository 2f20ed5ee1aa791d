// Checks the gateway key of a request, and decides with which credential the upstream is called
// (operations.md 4.1 and 4.4; decisions.md 22).
import type { FastifyRequest } from 'fastify'
import { createApiKeys, findApiKey, readBearer } from '../../shared/api-key.ts'
import type { Logger } from '../../shared/logging.ts'
import type { ProfileSet } from '../../shared/profile.ts'
import { isAuthRequired, type Settings } from '../../shared/settings.ts'
import { GatewayError } from '../normalized/index.ts'
import { isPassToken, readPassToken, resemblesPassToken } from '../providers/pass-token.ts'
import type { UpstreamAuthorization } from '../providers/types.ts'
import { createAdminKeyCheck } from './admin-key.ts'
import { createAuthenticationFailures } from './authentication-failures.ts'
import type { QueryValues } from './families.ts'
import type { Fingerprint } from './fingerprint.ts'
import type { RouteTraits } from './route-traits.ts'

const SERVER_AUTHORIZATION: UpstreamAuthorization = { type: 'server' }

/**
 * Checks a request against its route and returns the upstream's credential. Raises `invalid_api_key`, `admin_key_required`,
 * `invalid_admin_key` or `invalid_upstream_authorization`.
 */
export type CredentialCheck = (request: FastifyRequest, traits: RouteTraits) => UpstreamAuthorization

export function createCredentialCheck(dependencies: {
  settings: Settings
  profiles: Pick<ProfileSet, 'origin'>
  log: Logger
  fingerprint: Fingerprint
  nowMs: () => number
}): CredentialCheck {
  const { settings, profiles, log } = dependencies
  const isKeyNeeded = isAuthRequired(settings)
  const keys = createApiKeys(settings)
  const failures = createAuthenticationFailures(dependencies)
  const checkAdminKey = createAdminKeyCheck(settings, failures)

  function checkKey(request: FastifyRequest, isBearerTaken: boolean): void {
    const presented = findApiKey(request.headers, request.query as QueryValues, { isBearerTaken })
    if (presented === undefined) {
      failures.report(request.context, 'missing')
      throw new GatewayError('invalid_api_key', { message: 'API key required' })
    }
    const name = keys.match(presented)
    if (name !== undefined) {
      request.context.apiKeyName = name
      return
    }
    failures.report(request.context, 'wrong')
    throw new GatewayError('invalid_api_key')
  }

  function readAuthorization(request: FastifyRequest, token: string): UpstreamAuthorization {
    try {
      return readPassToken(token)
    } catch (error) {
      const fields = { event: 'pass_token_rejected', ...request.context.logIds }
      log.warn(fields, 'Failed to pass token to upstream')
      throw error
    }
  }

  return (request, traits) => {
    if (traits.access === 'open') return SERVER_AUTHORIZATION
    if (traits.access === 'admin-key') {
      checkAdminKey(request)
      return SERVER_AUTHORIZATION
    }
    const bearer =
      settings.passToken && traits.takesUpstreamAuthorization ? readBearer(request.headers.authorization) : undefined
    const isBearerTaken = bearer !== undefined && isPassToken(bearer)
    if (isKeyNeeded) checkKey(request, isBearerTaken)
    // A client may send its token to every gateway that it knows; the profiles of a file have credentials of their own.
    if (profiles.origin === 'file') return SERVER_AUTHORIZATION
    // Where no key is needed, a client may send any key: only what looks like upstream authorization is taken for it.
    const isForUpstream = isBearerTaken || (bearer !== undefined && !isKeyNeeded && resemblesPassToken(bearer))
    return isForUpstream ? readAuthorization(request, bearer) : SERVER_AUTHORIZATION
  }
}
