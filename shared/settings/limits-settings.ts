// The settings that the process of shared limits gets: the address of its server and those of its log. No other process gets the address.
import { readRedisUrl } from '../limits/redis-url.ts'
import { assembleSettings, type Settings, type SettingsKey } from '../settings.ts'
import type { SettingName } from './table.ts'
import { readTransferredValues, type TransferredSettings, writeTransferredSettings } from './transfer.ts'

export const LIMITS_SETTINGS = [
  'GATEWAY_MODE',
  'GATEWAY_LOG_LEVEL',
  'GATEWAY_LOG_FORMAT',
  'GATEWAY_LOG_FILENAME',
  'GATEWAY_LOG_REDACT_SENSITIVE',
  'GATEWAY_LIMITS_REDIS_URL',
  'GATEWAY_LIMITS_PREFIX'
] as const satisfies readonly SettingName[]

/** What the code of the process of shared limits may read. */
export type LimitsSettings = Pick<Settings, SettingsKey<(typeof LIMITS_SETTINGS)[number]>>

/** The settings of the process of shared limits as plain data, secrets in plain text. `readLimitsSettings` is the inverse. */
export function writeLimitsSettings(settings: Settings): TransferredSettings {
  return writeTransferredSettings(settings, LIMITS_SETTINGS)
}

/** Settings from what `writeLimitsSettings` returned. Throws `SettingsError` for anything else. */
export function readLimitsSettings(transferred: TransferredSettings): LimitsSettings {
  return assembleSettings(readTransferredValues(transferred, LIMITS_SETTINGS))
}

/** The texts among them that must be masked in every log line: the address, and its password as written and as sent. */
export function listLimitsSecrets({ limitsRedisUrl }: LimitsSettings): string[] {
  const url = limitsRedisUrl?.reveal()
  if (url === undefined) return []
  const written = URL.canParse(url) ? new URL(url).password : ''
  return [url, written, readRedisUrl(url)?.password ?? ''].filter(text => text !== '')
}
