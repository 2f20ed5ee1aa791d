// Validated settings as plain data on their way to another process: a structured clone would drop what a `Secret` holds, so secrets
// travel as texts and become `Secret` again at the other end. Raw variables and defaults are read by the supervisor alone.
import { createCredentials, type ProfileCredentials } from '../profile/profile.ts'
import { Secret } from '../secrets/secret.ts'
import { assembleSettings, readSetting, type SettingIssue, type Settings, SettingsError } from '../settings.ts'
import { type SettingName, settingNames, settingsTable } from './table.ts'

type Plain = string | number | boolean
type Transferred = Plain | readonly Plain[] | Readonly<Record<string, Plain>>

/** Values under the names of their settings; unset ones are absent. Holds secrets: it belongs in a message and nowhere else. */
export type TransferredSettings = Readonly<Record<string, unknown>>

/** Settings as plain data, secrets in plain text: all of them, or those with these names. `readTransferredSettings` is the inverse. */
export function writeTransferredSettings(
  settings: Settings,
  names: readonly SettingName[] = settingNames
): TransferredSettings {
  const transferred: Record<string, unknown> = {}
  for (const name of names) {
    const value = readSetting(settings, name)
    if (value !== undefined) transferred[name] = settingsTable[name].isSecret ? revealSecrets(value) : value
  }
  return transferred
}

/**
 * Settings from what `writeTransferredSettings` returned, frozen and with their secrets as `Secret`. Throws `SettingsError` when a
 * name is unknown, a setting that has a default is missing, or a value is no plain data; the error names settings, never values.
 */
export function readTransferredSettings(transferred: TransferredSettings): Settings {
  return assembleSettings(readTransferredValues(transferred, settingNames))
}

/** The values of exactly these settings. Throws as `readTransferredSettings` does, also for the value of any other setting. */
export function readTransferredValues(
  transferred: TransferredSettings,
  names: readonly SettingName[]
): Map<SettingName, unknown> {
  const issues: SettingIssue[] = []
  const values = new Map<SettingName, unknown>()
  for (const name of names) {
    const value = Object.hasOwn(transferred, name) ? transferred[name] : undefined
    values.set(name, value === undefined ? undefined : readValue(name, value, issues))
    if (value === undefined && settingsTable[name].defaultText !== undefined) {
      issues.push({ setting: name, message: 'is missing' })
    }
  }
  for (const name of Object.keys(transferred)) {
    if (!values.has(name as SettingName)) issues.push({ setting: name, message: 'is unknown' })
  }
  if (issues.length > 0) throw new SettingsError(issues)
  return values
}

/** The credentials of profiles as plain texts. `readTransferredCredentials` is the inverse. */
export function writeTransferredCredentials(credentials: ProfileCredentials): Record<string, string> {
  return Object.fromEntries(Object.entries(credentials).map(([profileId, secret]) => [profileId, secret.reveal()]))
}

/** Credentials from what `writeTransferredCredentials` returned. */
export function readTransferredCredentials(transferred: Readonly<Record<string, string>>): ProfileCredentials {
  const credentials = createCredentials()
  for (const [profileId, text] of Object.entries(transferred)) credentials[profileId] = new Secret(text)
  return Object.freeze(credentials)
}

function revealSecrets(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal()
  return Object.fromEntries(Object.entries(Object(value)).map(([key, secret]) => [key, revealSecrets(secret)]))
}

function readValue(name: SettingName, value: unknown, issues: SettingIssue[]): unknown {
  if (!isTransferred(value)) {
    issues.push({ setting: name, message: 'is not plain data' })
    return undefined
  }
  const { isSecret } = settingsTable[name]
  const read = (plain: Plain): Plain | Secret => (isSecret ? new Secret(String(plain)) : plain)
  if (typeof value !== 'object') return read(value)
  if (isList(value)) return Object.freeze(value.map(read))
  // As the reader of the raw text builds it: without a prototype, so that no name of a model or key meets an inherited member.
  const map: Record<string, unknown> = Object.create(null)
  for (const [key, plain] of Object.entries(value)) map[key] = read(plain)
  return Object.freeze(map)
}

function isTransferred(value: unknown): value is Transferred {
  return isPlain(value) || (typeof value === 'object' && value !== null && Object.values(value).every(isPlain))
}

function isList(value: readonly Plain[] | Readonly<Record<string, Plain>>): value is readonly Plain[] {
  return Array.isArray(value)
}

function isPlain(value: unknown): value is Plain {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
