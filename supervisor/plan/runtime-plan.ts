// Plans a start before anything is opened. Preflight and start call the same function, so the
// configuration that was checked is the one that runs (field-lessons.md N3).
import { resolve } from 'node:path'
import type { KeySet } from '../../shared/keys/key-set.ts'
import type { PriceList } from '../../shared/prices.ts'
import { createNativeProfileSet, NATIVE_PROVIDER_KIND } from '../../shared/profile/native-profile.ts'
import { createCredentials, type ProfileCredentials, type ProfileSet } from '../../shared/profile/profile.ts'
import { computeConfigRevision } from '../../shared/profile/profile-revision.ts'
import { describeBrokenNames, describeIgnoredLines, isUtf16, parseDotenv } from '../../shared/settings/dotenv.ts'
import { describeUnknownName, listSpellings, type ResolvedVariables } from '../../shared/settings/resolve.ts'
import { describeServiceLinks, splitServiceLinks } from '../../shared/settings/service-links.ts'
import {
  resolveEnvironment,
  type SettingIssue,
  type Settings,
  SettingsError,
  settingsFrom
} from '../../shared/settings.ts'
import { StartupError, type StartupErrorDetail } from '../../shared/startup-error.ts'
import { matrixRevision } from '../../shared/support/support-matrix.ts'
import { readTextFile } from '../../shared/text-file.ts'
import type { VariableLookup } from '../config-file/variable.ts'
import { DEMO_CREDENTIALS } from '../demo/demo-upstream.ts'
import { readTlsFiles, type TlsFiles } from '../files/tls-files.ts'
import { type KeysFile, openKeysFile } from '../keys/keys-file.ts'
import { declarePrices, settlePrices } from '../prices/load.ts'
import { type LoadedProfiles, loadProfiles } from '../profile/load.ts'
import { resolveProfilePath } from '../profile/path.ts'
import { listVariableNames } from '../profile/variables.ts'
import { checkStartup } from '../startup-checks/check-startup.ts'
import { checkNativeDestinations } from '../startup-checks/upstream.ts'
import type { StartOptions } from './command-line.ts'

export interface RuntimePlan {
  readonly settings: Settings
  /** Names of the settings that were given and do not have their default. */
  readonly givenSettings: ReadonlySet<string>
  readonly profiles: ProfileSet
  /** Of the profiles of a file; the credentials of native mode are settings. */
  readonly credentials: ProfileCredentials
  /** Undefined without one. */
  readonly keysFile: KeysFile | undefined
  /** Those of the keys file. */
  readonly keys: KeySet | undefined
  /** Of the prices file, and the currency of all prices; undefined where no model has a price. */
  readonly prices: PriceList | undefined
  readonly revisions: { readonly config: string; readonly matrix: string }
  /** PEM texts, when HTTPS is on. */
  readonly tls: TlsFiles['server']
  /** Sentences for the log, or for stderr in a preflight. */
  readonly warnings: readonly string[]
}

export interface PlanSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly options: StartOptions
  /** Present once the embedded upstream runs. */
  readonly demo?: {
    /** Variables that point the gateway at it; they take precedence over all others. */
    readonly variables: Readonly<Record<string, string>>
    /** The plan that it was started by. Its profile file is not read again. */
    readonly plan: RuntimePlan
  }
}

const PREFLIGHT_FAILED = 'Provider configuration preflight failed.'

/** The variables of all sources, before any of them is checked. */
export interface GivenVariables {
  readonly merged: Readonly<Record<string, string>>
  readonly resolved: ResolvedVariables
  /** About files and variables that are not read as they stand. */
  readonly sourceWarnings: readonly string[]
  /** A file that cannot be read as text. */
  readonly refusals: readonly StartupErrorDetail[]
  /** Those that hold also where the configuration is refused. */
  readonly warnings: readonly string[]
}

/** Reads the variables of all sources, the files that they name included. */
export function readVariables({ environment, options, demo }: PlanSources): GivenVariables {
  const { variables, links } = splitServiceLinks(environment)
  const dotenv = readDotenv(variables, options.envFile)
  const sourceWarnings = [...dotenv.warnings, ...describeServiceLinks(links)]
  const merged = mergeVariables([dotenv.values, variables, options.variables, demo?.variables ?? {}])
  const resolved = resolveEnvironment(merged)
  // The names of a file's credentials look like misspelled settings until it is read.
  const { GATEWAY_CONFIG, GATEWAY_KEYS_FILE } = resolved.variables
  const hasFile = (options.configPath ?? GATEWAY_CONFIG ?? GATEWAY_KEYS_FILE) !== undefined
  const warnings = hasFile ? sourceWarnings : [...sourceWarnings, ...resolved.warnings]
  return { merged, resolved, sourceWarnings, refusals: dotenv.refusals, warnings }
}

/** Returns the frozen plan of a start. Throws `StartupError` with every problem of the settings at once, or the first one of the file. */
export function planRuntime(sources: PlanSources, given: GivenVariables = readVariables(sources)): RuntimePlan {
  const { options, demo } = sources
  const { merged, resolved } = given
  const { variables } = resolved
  refuseIfAny(given.refusals)
  const settings = parse(resolved)
  const profilePath = resolveProfilePath({ flag: options.configPath, variable: settings.config })
  // Once the embedded upstream runs, the credentials are its own and no reason to refuse --demo.
  const isDemo = options.isDemo && demo === undefined
  const findings = checkStartup(settings, { variables, isDemo, isNativeMode: profilePath === undefined })
  const tlsFiles = readTlsFiles(settings)
  refuseIfAny([...findings.refusals, ...tlsFiles.refusals])

  const lookup: VariableLookup = name => {
    // The embedded upstream has credentials of its own, which are known before it runs.
    if (options.isDemo && name === 'UPSTREAM_CREDENTIALS') return DEMO_CREDENTIALS
    // A secret setting can come from a file, and then it is no variable.
    return merged[name] || variables[name]
  }
  const { profiles, credentials } = chooseProfiles(profilePath, { settings, lookup, earlier: demo?.plan })
  const destinations = checkNativeDestinations(settings, listNativeUrls(profiles, credentials, settings))
  refuseIfAny(destinations.refusals)
  const declared = declarePrices(settings, profiles)
  const keysFile = openKeysFile(settings, {
    lookup,
    hasPrices: declared.isAny,
    currency: declared.currency,
    isDemo: options.isDemo
  })
  return Object.freeze({
    settings,
    givenSettings: new Set(Object.keys(variables)),
    profiles,
    credentials,
    keysFile,
    keys: keysFile?.loaded.keys,
    prices: settlePrices(declared, keysFile?.loaded.keys.currency),
    revisions: Object.freeze({ config: computeConfigRevision(profiles), matrix: matrixRevision }),
    tls: tlsFiles.server,
    warnings: [
      ...given.sourceWarnings,
      ...withoutVariables(resolved.warnings, [
        ...listVariableNames(profiles.profiles),
        ...(keysFile?.loaded.variableNames ?? [])
      ]),
      ...findings.warnings,
      ...destinations.warnings
    ]
  })
}

function refuseIfAny(refusals: readonly StartupErrorDetail[]): void {
  if (refusals.length > 0) throw new StartupError('invalid_profile_schema', PREFLIGHT_FAILED, refusals)
}

/** The profiles of the chosen file, or the native profile that the settings describe. */
function chooseProfiles(
  path: string | undefined,
  options: { settings: Settings; lookup: VariableLookup; earlier: RuntimePlan | undefined }
): LoadedProfiles {
  if (path === undefined) {
    return { profiles: createNativeProfileSet(options.settings), credentials: Object.freeze(createCredentials()) }
  }
  return options.earlier ?? loadProfiles(path, options.lookup)
}

/** Where the native executors send credentials and prompts. */
function listNativeUrls(
  { profiles, origin }: ProfileSet,
  credentials: ProfileCredentials,
  settings: Settings
): string[] {
  const { upstream, passToken } = settings
  const natives = profiles.filter(profile => profile.providerKind === NATIVE_PROVIDER_KIND)
  const usesTokenServer =
    origin === 'file'
      ? natives.some(profile => credentials[profile.profileId] !== undefined)
      : upstream.credentials !== undefined || passToken
  return [...natives.map(profile => profile.baseUrl), ...(usesTokenServer ? [upstream.authUrl] : [])]
}

/** A file may name its variables like settings; such a variable is no misspelled setting. */
function withoutVariables(warnings: readonly string[], names: readonly string[]): string[] {
  const expected = new Set(names.map(describeUnknownName))
  return warnings.filter(warning => !expected.has(warning))
}

function parse(resolved: Parameters<typeof settingsFrom>[0]): Settings {
  try {
    return settingsFrom(resolved)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    throw new StartupError('invalid_profile_schema', PREFLIGHT_FAILED, error.issues.map(describeIssue))
  }
}

function describeIssue(issue: SettingIssue): StartupErrorDetail {
  return { reasonId: 'invalid_settings', setting: issue.setting, explanation: `${issue.setting} ${issue.message}` }
}

/** Later sources win, in any case of a name: `gateway_port` in the environment beats `GATEWAY_PORT` in the file. */
function mergeVariables(sources: ReadonlyArray<Readonly<Record<string, string | undefined>>>): Record<string, string> {
  const merged: Record<string, string> = Object.create(null)
  for (const source of sources) {
    const names = Object.keys(source).filter(name => source[name] !== undefined)
    // Within one source the exact spelling wins, so it is written last.
    names.sort((left, right) => Number(left === left.toUpperCase()) - Number(right === right.toUpperCase()))
    // A weaker source must not win because it has the setting under a name that is looked at first.
    const given = names.filter(name => source[name] !== '').map(name => name.toUpperCase())
    for (const spelling of given.flatMap(listSpellings)) delete merged[spelling]
    for (const name of names) merged[name.toUpperCase()] = source[name] ?? ''
  }
  return merged
}

function readDotenv(
  environment: PlanSources['environment'],
  envFile: string | undefined
): { values: Record<string, string>; warnings: string[]; refusals: StartupErrorDetail[] } {
  let text: string
  try {
    text = readTextFile(resolve(envFile ?? '.env'))
  } catch (error) {
    return { values: {}, warnings: describeUnread(error, envFile), refusals: [] }
  }
  if (isUtf16(text)) return { values: {}, warnings: [], refusals: [WRONG_DOTENV] }
  const { values, ignoredLines, brokenNames } = parseDotenv(text, environment)
  return {
    values,
    warnings: [...describeIgnoredLines(ignoredLines), ...describeBrokenNames(brokenNames)],
    refusals: []
  }
}

/** There need be no file in the working directory, but one that another user alone may read would be missed without a word. */
function describeUnread(error: unknown, envFile: string | undefined): string[] {
  if (envFile !== undefined) return ['The file named by --env-path cannot be read; it is ignored.']
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' ? [] : ['The .env file of the working directory cannot be read; it is ignored.']
}

/** Settings of such a file would silently have their defaults. */
const WRONG_DOTENV: StartupErrorDetail = {
  reasonId: 'invalid_settings',
  explanation: 'The .env file is not text in UTF-8; editors and shells of Windows write UTF-16. Save it as UTF-8'
}
