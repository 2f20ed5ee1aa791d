// The settings of the gateway as one frozen object, parsed from the texts of variables by the rows of `settings/table.ts`.
import { availableParallelism } from 'node:os'
import { countThreads, readMemoryLimit } from './memory-plan.ts'
import { type ResolvedVariables, resolveVariables, type SettingIssue, type Variables } from './settings/resolve.ts'
import { type SettingName, type SettingsTable, settingNames, settingsTable } from './settings/table.ts'
import { readTextFile } from './text-file.ts'

export type {
  ResolvedVariables,
  SettingIssue,
  Variables
} from './settings/resolve.ts'

type Camel<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Lowercase<Head>}${Capitalize<Camel<Rest>>}`
  : Lowercase<Name>

type ValueOf<Name extends SettingName> = ReturnType<SettingsTable[Name]['defaultValue']>

type Group<Prefix extends string> = {
  readonly [Name in SettingName as Name extends `${Prefix}${infer Rest}` ? Camel<Rest> : never]: ValueOf<Name>
}

type ProxyGroup = {
  readonly [Name in 'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY' as Camel<Name>]: ValueOf<Name>
}

/**
 * Every setting by the camel case form of its variable: `GATEWAY_LOG_LEVEL` is `logLevel`, `UPSTREAM_BASE_URL` is
 * `upstream.baseUrl`, `OTEL_…` are under `otel`, the proxy variables under `proxy`. An unset optional setting is undefined.
 */
export type Settings = Group<'GATEWAY_'> & {
  readonly upstream: Group<'UPSTREAM_'>
  readonly otel: Group<'OTEL_'>
  readonly proxy: ProxyGroup
}

/** The keys in `Settings` of these variables of the gateway. */
export type SettingsKey<Name extends SettingName> = Name extends `GATEWAY_${infer Rest}` ? Camel<Rest> : never

/** Raised for one or more invalid settings. The message names the variables and the expected values, never the given ones. */
export class SettingsError extends Error {
  readonly issues: readonly SettingIssue[]

  constructor(issues: readonly SettingIssue[]) {
    super(issues.map(issue => `${issue.setting} ${issue.message}`).join('; '))
    this.name = 'SettingsError'
    this.issues = issues
  }
}

/**
 * Reads settings from variables such as `process.env`. Names may have any case; unknown names are ignored.
 * Throws `SettingsError` with all problems at once.
 */
export function parseSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  return settingsFrom(resolveEnvironment(environment))
}

/** The raw texts, problems and warnings of an environment; secret files are read here. */
export function resolveEnvironment(environment: Readonly<Record<string, string | undefined>>): ResolvedVariables {
  return resolveVariables(environment, {
    readSecretFile: path => readTextFile(path)
  })
}

/** Reads settings from resolved variables. Throws `SettingsError` with all problems at once. */
export function settingsFrom(resolved: Pick<ResolvedVariables, 'variables' | 'issues'>): Settings {
  const issues = [...resolved.issues]
  const values = new Map<SettingName, unknown>()
  for (const name of settingNames) values.set(name, readValue(name, resolved.variables, issues))
  if (issues.length > 0) throw new SettingsError(issues)
  if (resolved.variables.GATEWAY_POOL_THREADS === undefined) {
    values.set('GATEWAY_POOL_THREADS', defaultPoolThreads(Number(values.get('GATEWAY_WORKERS'))))
  }
  return assembleSettings(values)
}

/** Whether a client must send an API key: authentication is switched on, there is a keys file, or the mode is PROD. */
export function isAuthRequired(settings: Pick<Settings, 'enableApiKeyAuth' | 'keysFile' | 'mode'>): boolean {
  return settings.enableApiKeyAuth || settings.keysFile !== undefined || settings.mode === 'PROD'
}

/** The key of a setting inside its group: `GATEWAY_LOG_LEVEL` gives `{ group: undefined, key: 'logLevel' }`. */
export function settingPath(name: SettingName): {
  group: 'upstream' | 'otel' | 'proxy' | undefined
  key: string
} {
  if (name.startsWith('GATEWAY_')) return { group: undefined, key: camelCase(name.slice('GATEWAY_'.length)) }
  if (name.startsWith('UPSTREAM_'))
    return {
      group: 'upstream',
      key: camelCase(name.slice('UPSTREAM_'.length))
    }
  if (name.startsWith('OTEL_')) return { group: 'otel', key: camelCase(name.slice('OTEL_'.length)) }
  return { group: 'proxy', key: camelCase(name) }
}

/** The value of one setting; undefined where it is optional and unset. */
export function readSetting(settings: Settings, name: SettingName): unknown {
  const { group, key } = settingPath(name)
  const members: Readonly<Record<string, unknown>> = group === undefined ? settings : settings[group]
  return members[key]
}

/** The frozen settings object of values that have been read, an unset one being undefined. */
export function assembleSettings(values: ReadonlyMap<SettingName, unknown>): Settings {
  const groups = { upstream: {}, otel: {}, proxy: {} } as Record<string, Record<string, unknown>>
  const settings: Record<string, unknown> = {}
  for (const [name, value] of values) {
    const { group, key } = settingPath(name)
    const target = group === undefined ? settings : (groups[group] ?? settings)
    target[key] = value
  }
  for (const [group, members] of Object.entries(groups)) settings[group] = Object.freeze(members)
  // The keys come from the same table as the type, so the assertion is correct.
  return Object.freeze(settings) as Settings
}

function readValue(name: SettingName, variables: Variables, issues: SettingIssue[]): unknown {
  const row = settingsTable[name]
  const text = variables[name]
  if (text === undefined) return row.defaultValue()
  const result = row.type.schema.safeParse(text)
  if (result.success) return result.data
  issues.push({
    setting: name,
    message: result.error.issues[0]?.message ?? 'is not valid'
  })
  return undefined
}

function defaultPoolThreads(workers: number): number {
  return countThreads(availableParallelism(), workers, readMemoryLimit())
}

function camelCase(name: string): string {
  return name.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
