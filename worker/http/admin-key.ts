// Checks the admin key of the admin and debugging routes (operations.md 4.2). The gateway key is
// neither needed nor accepted there.
import type { FastifyRequest } from 'fastify'
import { createApiKeys, findAdminKey } from '../../shared/api-key.ts'
import type { Settings } from '../../shared/settings.ts'
import { GatewayError } from '../normalized/index.ts'
import type { AuthenticationFailures } from './authentication-failures.ts'

/**
 * Creates the check of one request. It raises `admin_key_required` where no admin key is configured, and `invalid_admin_key` where it is
 * missing or wrong. Every refusal is reported to `failures`.
 */
export function createAdminKeyCheck(
  { adminApiKey }: Pick<Settings, 'adminApiKey'>,
  failures: AuthenticationFailures
): (request: FastifyRequest) => void {
  const keys = createApiKeys({ apiKey: adminApiKey, apiKeys: {} })
  return ({ context, headers }) => {
    const presented = findAdminKey(headers)
    if (adminApiKey !== undefined && presented !== undefined && keys.match(presented) !== undefined) return
    failures.report(context, presented === undefined ? 'missing' : 'wrong')
    throw new GatewayError(adminApiKey === undefined ? 'admin_key_required' : 'invalid_admin_key')
  }
}
