// Checks the admin key of the admin and debugging routes (operations.md 4.2). The gateway key is
// neither needed nor accepted there.
import type { FastifyRequest } from 'fastify'
import { createKeyRing } from '../../shared/keys/key-ring.ts'
import { findAdminKey } from '../../shared/secrets/api-key.ts'
import type { Settings } from '../../shared/settings.ts'
import { GatewayError } from '../normalized/index.ts'
import type { AuthenticationFailures } from './authentication-failures.ts'

export interface AdminKeyCheck {
  /** Whether the request carries the admin key. Nothing is reported. */
  isPresented(request: Pick<FastifyRequest, 'headers'>): boolean
  /**
   * Raises `admin_key_required` where no admin key is configured, and `invalid_admin_key` where it is missing or wrong. Every refusal is
   * reported.
   */
  check(request: FastifyRequest): void
}

/** The key of the admin is no key of a client, so it has a ring of its own. */
export function createAdminKeyCheck(
  { adminApiKey }: Pick<Settings, 'adminApiKey'>,
  failures: AuthenticationFailures
): AdminKeyCheck {
  const ring = createKeyRing({ apiKey: adminApiKey, apiKeys: {} })
  function isPresented({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
    const presented = findAdminKey(headers)
    return presented !== undefined && ring.find(presented) !== undefined
  }
  return {
    isPresented,
    check(request) {
      if (isPresented(request)) return
      failures.report(request.context, findAdminKey(request.headers) === undefined ? 'missing' : 'wrong')
      throw new GatewayError(adminApiKey === undefined ? 'admin_key_required' : 'invalid_admin_key')
    }
  }
}
