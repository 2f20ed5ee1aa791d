// Plans a start before anything is opened. Preflight and start call the same function, so the configuration that was checked is the
// one that runs (field lesson N3).
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createNativeProfileSet } from '../shared/native-profile.ts'
import { computeConfigRevision, type ProfileCredentials, type ProfileSet } from '../shared/profile.ts'
import { describeIgnoredLines, parseDotenv } from '../shared/settings/dotenv.ts'
import {
  resolveEnvironment,
  type SettingIssue,
  type Settings,
  SettingsError,
  settingsFrom
} from '../shared/settings.ts'
import { StartupError, type StartupErrorDetail } from '../shared/startup-error.ts'
import { matrixRevision } from '../shared/support-matrix.ts'
import type { StartOptions } from './command-line.ts'
import { resolveProfilePath } from './profile-path.ts'
import { checkStartup } from './startup-checks.ts'
import { readTlsFiles, type TlsFiles } from './tls-files.ts'

export interface RuntimePlan {
  readonly settings: Settings
  /** Names of the settings that were given and do not have their default. */
  readonly givenSettings: ReadonlySet<string>
  readonly profiles: ProfileSet
  /** Of the profiles of a file; the credentials of native mode are settings. */
  readonly credentials: ProfileCredentials
  readonly revisions: { readonly config: string; readonly matrix: string }
  /** PEM texts, when HTTPS is on. */
  readonly tls: TlsFiles['server']
  /** Sentences for the log, or for stderr in a preflight. */
  readonly warnings: readonly string[]
}

export interface PlanSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly options: StartOptions
  /** Variables that point the gateway at the embedded upstream; they take precedence over all others. */
  readonly demoVariables?: Readonly<Record<string, string>>
}

const PREFLIGHT_FAILED = 'Provider configuration preflight failed.'

/** Returns the frozen plan of a start. Throws `StartupError` with every problem of the settings at once. */
export function planRuntime(sources: PlanSources): RuntimePlan {
  const { environment, options } = sources
  const dotenv = readDotenv(environment, options.envFile)
  const resolved = resolveEnvironment(
    mergeVariables([dotenv.values, environment, options.variables, sources.demoVariables ?? {}])
  )
  const settings = parse(resolved)
  const { variables } = resolved
  // Once the embedded upstream runs, the credentials are its own and no reason to refuse --demo.
  const isDemo = options.isDemo && sources.demoVariables === undefined
  const findings = checkStartup(settings, { variables, isDemo })
  const tlsFiles = readTlsFiles(settings)
  const refusals = [...findings.refusals, ...tlsFiles.refusals]
  if (refusals.length > 0) throw new StartupError('invalid_profile_schema', PREFLIGHT_FAILED, refusals)

  const profilePath = resolveProfilePath({ flag: options.configPath, variable: settings.config })
  if (profilePath !== undefined) {
    throw new StartupError(
      'invalid_profile_schema',
      'This build has no universal bridge and cannot use a provider profile file.'
    )
  }
  const profiles = createNativeProfileSet(settings)
  return Object.freeze({
    settings,
    givenSettings: new Set(Object.keys(variables)),
    profiles,
    credentials: Object.freeze({}),
    revisions: Object.freeze({ config: computeConfigRevision(profiles), matrix: matrixRevision }),
    tls: tlsFiles.server,
    warnings: [...dotenv.warnings, ...resolved.warnings, ...findings.warnings]
  })
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
    const names = Object.keys(source)
    // Within one source the exact spelling wins, so it is written last.
    names.sort((left, right) => Number(left === left.toUpperCase()) - Number(right === right.toUpperCase()))
    for (const name of names) {
      const text = source[name]
      if (text !== undefined) merged[name.toUpperCase()] = text
    }
  }
  return merged
}

function readDotenv(
  environment: PlanSources['environment'],
  envFile: string | undefined
): { values: Record<string, string>; warnings: string[] } {
  let text: string
  try {
    text = readFileSync(resolve(envFile ?? '.env'), 'utf8')
  } catch {
    const warnings = envFile === undefined ? [] : ['The file named by --env-path cannot be read; it is ignored.']
    return { values: {}, warnings }
  }
  const { values, ignoredLines } = parseDotenv(text, environment)
  return { values, warnings: describeIgnoredLines(ignoredLines) }
}
