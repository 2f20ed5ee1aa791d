// Finds the raw text of every setting: names in any case, aliases, secrets from files, and the warnings for unknown names.
import { closestMatch } from 'leven'
import { type SettingName, settingNames, settingsTable } from './table.ts'

/** Raw texts by the canonical names of the table. */
export type Variables = Readonly<Record<string, string>>

/** An invalid setting: its name and the expected value, never the given one. */
export interface SettingIssue {
  readonly setting: string
  readonly message: string
}

export interface ResolvedVariables {
  readonly variables: Variables
  readonly issues: readonly SettingIssue[]
  /** Sentences for the log and stderr: unknown names and settings that this build does not act on. */
  readonly warnings: readonly string[]
}

export interface ResolveOptions {
  /** Reads a secret file named by `<NAME>_FILE`; throws when it cannot be read. */
  readonly readSecretFile: (path: string) => string
}

const SETTING_PREFIX = /^(GATEWAY|UPSTREAM)_/
const secretFileNames = settingNames.filter(name => settingsTable[name].isSecret).map(name => `${name}_FILE`)
const knownNames: readonly string[] = [
  ...settingNames,
  ...settingNames.flatMap(name => settingsTable[name].aliases),
  ...secretFileNames
]

const spellings = new Map<string, readonly string[]>()
for (const name of settingNames) {
  const { aliases, isSecret } = settingsTable[name]
  const all = [name, ...aliases, ...(isSecret ? [`${name}_FILE`] : [])]
  for (const one of all) spellings.set(one, all)
}

/** The names under which the setting of this name can be given, itself included; only itself for another variable. */
export function listSpellings(name: string): readonly string[] {
  return spellings.get(name) ?? [name]
}

/**
 * Takes the variables of an environment and returns the raw text of each known setting that is set.
 * Empty texts are dropped where they count as unset; a name in its exact case has priority over the same name in another case.
 */
export function resolveVariables(
  environment: Readonly<Record<string, string | undefined>>,
  options: ResolveOptions
): ResolvedVariables {
  const given = foldNames(environment)
  const variables: Record<string, string> = Object.create(null)
  const issues: SettingIssue[] = []
  const warnings = unknownNameWarnings(given)
  for (const name of settingNames) {
    const found = findText(name, given, options)
    if (found === undefined) continue
    if (typeof found !== 'string') {
      issues.push(found)
      continue
    }
    variables[name] = found
  }
  return { variables, issues, warnings }
}

function foldNames(environment: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const folded = new Map<string, string>()
  for (const [name, text] of Object.entries(environment)) {
    const canonical = name.toUpperCase()
    if (text !== undefined && (name === canonical || !folded.has(canonical))) folded.set(canonical, text)
  }
  return folded
}

function findText(
  name: SettingName,
  given: Map<string, string>,
  options: ResolveOptions
): string | SettingIssue | undefined {
  const row = settingsTable[name]
  for (const candidate of [name, ...row.aliases]) {
    const text = given.get(candidate)
    const isGiven = text !== undefined && text !== ''
    if (candidate === name && row.isSecret) {
      const file = given.get(`${name}_FILE`)
      if (file !== undefined && file !== '') return isGiven ? bothGiven(name) : readSecret(name, file, options)
    }
    if (isGiven) return text
  }
  return undefined
}

function bothGiven(name: string): SettingIssue {
  return { setting: name, message: `and ${name}_FILE must not both be set` }
}

function readSecret(name: string, file: string, options: ResolveOptions): string | SettingIssue {
  let content: string
  try {
    content = options.readSecretFile(file)
  } catch {
    // The system's error contains the path, which must not be printed; the setting's name is enough to find it.
    return { setting: `${name}_FILE`, message: 'must name a readable file' }
  }
  // PowerShell writes UTF-16 with a byte order mark, which is not UTF-8. A random key may contain zero bytes, so these alone say nothing.
  if (content.startsWith('\ufffd\ufffd') && content.includes('\0')) {
    return { setting: `${name}_FILE`, message: 'must name a file in UTF-8, not in UTF-16' }
  }
  // Editors and `echo` end a file with a newline that is not part of the secret.
  const text = content.replace(/\r?\n$/, '')
  return text === '' ? { setting: `${name}_FILE`, message: 'must name a file that is not empty' } : text
}

function unknownNameWarnings(given: Map<string, string>): string[] {
  const unknown = [...given.keys()].filter(name => SETTING_PREFIX.test(name) && !knownNames.includes(name))
  return unknown.sort().map(describeUnknownName)
}

/** The warning for a variable that looks like a setting but is unknown. */
export function describeUnknownName(name: string): string {
  return `Unknown setting ${name} is ignored; the nearest known name is ${closestMatch(name, knownNames)}.`
}
