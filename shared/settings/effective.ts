// Describes the settings for the log: the effective values without secrets, and the security
// posture (operations.md 5).
import type { JsonObject, JsonValue } from '../json.ts'
import { createRedactor, REDACTED } from '../secrets/redaction.ts'
import { Secret } from '../secrets/secret.ts'
import { isAuthRequired, readSetting, type Settings } from '../settings.ts'
import { settingNames, settingsTable } from './table.ts'

/** Every setting that has a value, by variable name. Secrets and credentials inside URLs are shown as `***`. */
export function describeEffectiveSettings(settings: Settings): JsonObject {
  const redactor = createRedactor()
  const described: Record<string, JsonValue> = {}
  for (const name of settingNames) {
    const value = readSetting(settings, name)
    if (value === undefined) continue
    // Values other than secrets are JSON already; only their texts need redaction.
    const shown = settingsTable[name].isSecret ? describeSecret(value) : redactor.redactValue(value)
    if (shown !== undefined) described[name] = shown as JsonValue
  }
  return described
}

/** The texts of all secret settings, which must be masked in every log line. */
export function listSecretTexts(settings: Settings): string[] {
  return settingNames.flatMap(name => {
    const value = readSetting(settings, name)
    if (value instanceof Secret) return [value.reveal()]
    if (!settingsTable[name].isSecret || typeof value !== 'object' || value === null) return []
    return Object.values(value).flatMap(one => (one instanceof Secret ? [one.reveal()] : []))
  })
}

/** The settings that decide which clients are served, what is redacted and how large requests may be. */
export function describeSecurityPosture(settings: Settings): JsonObject {
  return {
    mode: settings.mode,
    auth_required: isAuthRequired(settings),
    api_key_configured: settings.apiKey !== undefined || Object.keys(settings.apiKeys).length > 0,
    cors_allow_origins: settings.corsAllowOrigins,
    has_wildcard_cors: settings.corsAllowOrigins.includes('*'),
    allowed_hosts: settings.allowedHosts,
    log_redact_sensitive: settings.logRedactSensitive,
    logs_ip_allowlist: settings.logsIpAllowlist,
    logs_trusted_proxies: settings.logsTrustedProxies,
    max_request_body_bytes: settings.maxRequestBodyBytes,
    max_audio_file_size_bytes: settings.maxAudioFileSizeBytes,
    max_image_file_size_bytes: settings.maxImageFileSizeBytes,
    max_text_file_size_bytes: settings.maxTextFileSizeBytes,
    max_audio_image_total_size_bytes: settings.maxAudioImageTotalSizeBytes
  }
}

function describeSecret(value: unknown): JsonValue | undefined {
  if (value instanceof Secret) return REDACTED
  const names = Object.keys(Object(value))
  return names.length === 0 ? undefined : Object.fromEntries(names.map(name => [name, REDACTED]))
}
