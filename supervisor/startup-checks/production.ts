// What the mode PROD does not allow, or warns of.
import type { Secret } from '../../shared/secrets/secret.ts'
import type { Settings } from '../../shared/settings.ts'
import { isKey } from './access.ts'
import type { Findings } from './findings.ts'

const SHORT_KEY_LENGTH = 16

export function checkProduction(settings: Settings, findings: Findings): void {
  if (settings.mode !== 'PROD') return
  if (!settings.logRedactSensitive) {
    findings.refuseInProduction(settings, 'GATEWAY_LOG_REDACT_SENSITIVE', 'must not be off in PROD')
  }
  if ((settings.adminApiEnabled || settings.debugTranslateEnabled) && !isKey(settings.adminApiKey)) {
    const what = 'must be set in PROD when admin or debug routes are on'
    findings.refuseInProduction(settings, 'GATEWAY_ADMIN_API_KEY', what)
  }
  if (settings.logLevel === 'DEBUG') {
    findings.warn('GATEWAY_LOG_LEVEL is DEBUG in PROD; payloads are left out of the log.')
  }
  if (settings.corsAllowOrigins.includes('*')) {
    findings.warn('GATEWAY_CORS_ALLOW_ORIGINS holds "*", which PROD does not allow; it is dropped.')
  }
  warnOfShortKey('GATEWAY_API_KEY', settings.apiKey, findings)
  warnOfShortKey('GATEWAY_ADMIN_API_KEY', settings.adminApiKey, findings)
  for (const key of Object.values(settings.apiKeys)) warnOfShortKey('GATEWAY_API_KEYS', key, findings)
}

function warnOfShortKey(setting: string, key: Secret | undefined, findings: Findings): void {
  if (key === undefined || key.reveal().length >= SHORT_KEY_LENGTH) return
  findings.warn(`${setting} holds a key of less than ${SHORT_KEY_LENGTH} characters, which is easy to guess.`)
}
