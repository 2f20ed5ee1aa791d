// The keys of clients and admins.
import type { Secret } from '../../shared/secrets/secret.ts'
import { isAuthRequired, type Settings } from '../../shared/settings.ts'
import type { Findings } from './findings.ts'

export function checkAccess(settings: Settings, findings: Findings): void {
  // The file has at least one key (keys.md 1).
  if (!isAuthRequired(settings) || settings.keysFile !== undefined) return
  if ([settings.apiKey, ...Object.values(settings.apiKeys)].some(isKey)) return
  const setting = 'GATEWAY_API_KEY'
  const where = 'when authentication is on or the mode is PROD, or GATEWAY_API_KEYS or GATEWAY_KEYS_FILE'
  findings.refuseAs('api_key_required', setting, `${setting} must be set ${where}`)
}

/** The keys of clients are compared without the white space around them, so that no client could present a key of nothing else. */
export function isKey(key: Secret | undefined): boolean {
  return key !== undefined && key.reveal().trim() !== ''
}

/** For the same reason a key with white space around it would match none. */
export function checkKeySpaces({ apiKey, apiKeys, adminApiKey }: Settings, findings: Findings): void {
  const keys = [
    ['GATEWAY_API_KEY', apiKey],
    ...Object.values(apiKeys).map(key => ['GATEWAY_API_KEYS', key] as const),
    ['GATEWAY_ADMIN_API_KEY', adminApiKey]
  ] as const
  for (const [setting, key] of keys) {
    const text = key?.reveal() ?? ''
    if (!isKey(key) || text.trim() === text) continue
    findings.refuse(setting, 'must have no white space around a key, such as a line break at its end')
  }
}

/** Every client that has such a key would be an admin. The keys of a keys file are compared when it is read (keys.md 1). */
export function checkAdminKey({ adminApiKey, apiKey, apiKeys }: Settings, findings: Findings): void {
  if (adminApiKey === undefined || !isKey(adminApiKey)) return
  const clientKeys = [apiKey, ...Object.values(apiKeys)].map(key => key?.reveal())
  if (!clientKeys.includes(adminApiKey.reveal())) return
  findings.refuse('GATEWAY_ADMIN_API_KEY', 'must differ from the API keys of clients')
}
