// Checks the gateway key of a request, and decides with which credential the upstream is called
// (operations.md 4.1 and 4.4; keys.md 2; decisions.md 22).
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import { DEFAULT_KEY_NAME, type FoundKey, type KeyRing, readKeyState } from '../../shared/keys/key-ring.ts'
import type { Logger } from '../../shared/logging.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import { findApiKey, readBearer } from '../../shared/secrets/api-key.ts'
import { isAuthRequired, type Settings } from '../../shared/settings.ts'
import { GatewayError } from '../normalized/index.ts'
import { isPassToken, readPassToken, resemblesPassToken } from '../providers/pass-token.ts'
import type { UpstreamAuthorization } from '../providers/types.ts'
import { createAdminKeyCheck } from './admin-key.ts'
import { createAuthenticationFailures } from './authentication-failures.ts'
import type { QueryValues } from './request/families.ts'
import type { Fingerprint } from './request/fingerprint.ts'
import type { RouteTraits } from './request/route-traits.ts'

const SERVER_AUTHORIZATION: UpstreamAuthorization = { type: 'server' }

const STATE_ERRORS = { expired: 'key_expired', disabled: 'key_disabled' } as const

/**
 * Checks a request against its route and returns the upstream's credential. Raises `invalid_api_key`, `key_expired`, `key_disabled`,
 * `admin_key_required`, `invalid_admin_key` or `invalid_upstream_authorization`.
 */
export type CredentialCheck = (request: FastifyRequest, traits: RouteTraits) => UpstreamAuthorization

export function createCredentialCheck(dependencies: {
  settings: Settings
  profiles: Pick<ProfileSet, 'origin'>
  log: Logger
  fingerprint: Fingerprint
  keyRing: KeyRing
  clock: Clock
}): CredentialCheck {
  const { settings, profiles, log, keyRing, clock } = dependencies
  const isAuthenticationOn = isAuthRequired(settings)
  const failures = createAuthenticationFailures({ ...dependencies, nowMs: clock.monotonicMs })
  const adminKey = createAdminKeyCheck(settings, failures)

  function isKeyNeeded(access: RouteTraits['access']): boolean {
    return access === 'file-key' ? keyRing.hasFile : isAuthenticationOn
  }

  function findKey(request: FastifyRequest, isBearerTaken: boolean): FoundKey {
    const presented = findApiKey(request.headers, request.query as QueryValues, { isBearerTaken })
    if (presented === undefined) {
      failures.report(request.context, 'missing')
      throw new GatewayError('invalid_api_key', { message: 'API key required' })
    }
    const key = keyRing.find(presented)
    if (key === undefined) {
      failures.report(request.context, 'wrong')
      throw new GatewayError('invalid_api_key')
    }
    const state = readKeyState(key, clock.nowMs())
    if (state === 'active') return key
    // For the record and the log line of the refusal.
    request.context.apiKeyName = key.name
    failures.report(request.context, state, key.name)
    throw new GatewayError(STATE_ERRORS[state])
  }

  /** What an operator may read is no part of any key's models, so of the keys of clients only the default one is enough. */
  function checkOperator(request: FastifyRequest): void {
    if (keyRing.hasFile && adminKey.isPresented(request)) return
    const key = findKey(request, false)
    request.context.admitKey(key)
    if (!keyRing.hasFile || key.name === DEFAULT_KEY_NAME) return
    throw new GatewayError('admin_key_required', { message: 'The default API key or the admin API key is required' })
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
      adminKey.check(request)
      return SERVER_AUTHORIZATION
    }
    const { access } = traits
    const { replay } = request.context
    if (replay !== undefined) {
      request.context.admitReplay(replay)
      return SERVER_AUTHORIZATION
    }
    const isNeeded = isKeyNeeded(access)
    if (access === 'operator-key') {
      if (isNeeded) checkOperator(request)
      return SERVER_AUTHORIZATION
    }
    // The operator sees the models of all keys.
    if (access === 'file-key' && isNeeded && adminKey.isPresented(request)) return SERVER_AUTHORIZATION
    const bearer =
      settings.passToken && traits.takesUpstreamAuthorization ? readBearer(request.headers.authorization) : undefined
    const isBearerTaken = bearer !== undefined && isPassToken(bearer)
    if (isNeeded) request.context.admitKey(findKey(request, isBearerTaken))
    // A client may send its token to every gateway that it knows; the profiles of a file have credentials of their own.
    if (profiles.origin === 'file') return SERVER_AUTHORIZATION
    // Where no key is needed, a client may send any key: only what looks like upstream authorization is taken for it.
    const isForUpstream = isBearerTaken || (bearer !== undefined && !isNeeded && resemblesPassToken(bearer))
    return isForUpstream ? readAuthorization(request, bearer) : SERVER_AUTHORIZATION
  }
}
