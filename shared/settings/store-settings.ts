// The settings that the store process gets: those of its database and of its log. Keys of clients and of providers are not among them, and
// the workers do not get the address and the keys of the database, so that a fault in either cannot show what it has no use for.
import { readDsnPassword } from '../memory/dsn.ts'
import { assembleSettings, type Settings, type SettingsKey } from '../settings.ts'
import { type SettingName, settingNames } from './table.ts'
import { readTransferredValues, type TransferredSettings, writeTransferredSettings } from './transfer.ts'

/** Secrets of places that service processes alone connect to. */
const SERVICE_SECRETS: ReadonlySet<SettingName> = new Set([
  'GATEWAY_RESPONSES_STORE_DSN',
  'GATEWAY_RESPONSES_STORE_KEY',
  'GATEWAY_RESPONSES_STORE_KEY_PREVIOUS',
  'GATEWAY_LIMITS_REDIS_URL'
])

export const STORE_SETTINGS = [
  'GATEWAY_MODE',
  'GATEWAY_WORKERS',
  'GATEWAY_LOG_LEVEL',
  'GATEWAY_LOG_FORMAT',
  'GATEWAY_LOG_FILENAME',
  'GATEWAY_LOG_REDACT_SENSITIVE',
  'GATEWAY_RESPONSES_STORE_DSN',
  'GATEWAY_RESPONSES_STORE_RETENTION_DAYS',
  'GATEWAY_RESPONSES_STORE_KEY',
  'GATEWAY_RESPONSES_STORE_KEY_PREVIOUS',
  'GATEWAY_RESPONSES_STORE_MAX_BYTES',
  'GATEWAY_RESPONSES_STORE_MAX_BYTES_PER_KEY',
  'GATEWAY_RESPONSES_STORE_AUTO_MIGRATE'
] as const satisfies readonly SettingName[]

/** What the code of the store process may read. */
export type StoreSettings = Pick<Settings, SettingsKey<(typeof STORE_SETTINGS)[number]>>

/** The settings of the store process as plain data, secrets in plain text. `readStoreSettings` is the inverse. */
export function writeStoreSettings(settings: Settings): TransferredSettings {
  return writeTransferredSettings(settings, STORE_SETTINGS)
}

/** Settings from what `writeStoreSettings` returned. Throws `SettingsError` for anything else. */
export function readStoreSettings(transferred: TransferredSettings): StoreSettings {
  return assembleSettings(readTransferredValues(transferred, STORE_SETTINGS))
}

/** The texts among them that must be masked in every log line. */
export function listStoreSecrets(settings: StoreSettings): string[] {
  const dsn = settings.responsesStoreDsn?.reveal()
  const password = dsn === undefined ? undefined : readDsnPassword(dsn)
  const keys = [settings.responsesStoreKey?.reveal(), settings.responsesStoreKeyPrevious?.reveal()]
  return [dsn, password, ...keys].filter(text => text !== undefined)
}

/** The settings of a worker as plain data: all but the secrets of places that it does not connect to itself. `readTransferredSettings` is the inverse. */
export function writeWorkerSettings(settings: Settings): TransferredSettings {
  return writeTransferredSettings(
    settings,
    settingNames.filter(name => !SERVICE_SECRETS.has(name))
  )
}
