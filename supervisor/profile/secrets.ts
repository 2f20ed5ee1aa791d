// Reads the secrets of profiles: each from its variable, or from the file that the variable's
// `_FILE` names (decisions.md 87).
import { type ProviderProfile, secretKey } from '../../shared/profile.ts'
import { Secret } from '../../shared/secret.ts'
import { settingsTable } from '../../shared/settings/table.ts'
import { readTextFile } from '../../shared/text-file.ts'
import type { IssuePath } from '../config-file/issue-path.ts'
import { FILE_SUFFIX, listVariables, type ProfileVariable } from './variables.ts'

/** Returns the value of a variable of the environment or the `.env` file; undefined when it is not set. */
export type VariableLookup = (name: string) => string | undefined

/** Something that a profile names and that cannot be used. The explanation holds names of variables and members, never a value or a path. */
export interface ReferenceProblem {
  readonly place: IssuePath
  readonly explanation: string
}

export interface ProfileSecrets {
  /** By the keys of `ProfileCredentials`. */
  readonly secrets: ReadonlyMap<string, Secret>
  readonly problems: readonly ReferenceProblem[]
}

/** Reads every secret of a profile that makes calls. */
export function readSecrets(profile: ProviderProfile, lookup: VariableLookup): ProfileSecrets {
  const secrets = new Map<string, Secret>()
  const problems: ReferenceProblem[] = []
  for (const variable of listVariables(profile)) {
    const value = readVariable(variable, lookup)
    if (value === undefined) continue
    if ('problem' in value) {
      problems.push({ place: variable.place, explanation: value.problem })
    } else {
      const key = variable.isCredential === true ? profile.profileId : secretKey(profile.profileId, variable.name)
      secrets.set(key, new Secret(value.text))
    }
  }
  return { secrets, problems }
}

/** Its text, from the variable or from the file that it names; undefined for an optional variable that is not set. */
export function readVariable(
  { name, isOptional, findProblem }: Pick<ProfileVariable, 'name' | 'isOptional' | 'findProblem'>,
  lookup: VariableLookup,
  read: (path: string) => string = readTextFile
): { text: string } | { problem: string } | undefined {
  const fileName = `${name}${FILE_SUFFIX}`
  const given = lookup(name)
  // The settings have read the files of their own secrets already.
  const file = isSecretSetting(name) ? undefined : lookup(fileName)
  if (isSet(given) && isSet(file)) return { problem: `${name} and ${fileName} must not both be set` }
  const text = isSet(file) ? readFile(file, read) : given
  if (text === undefined && isSet(file)) return { problem: `${fileName} must name a readable file` }
  if (!isSet(text)) {
    if (isSet(file)) return { problem: `${fileName} must name a file that is not empty` }
    return isOptional === true ? undefined : { problem: `neither ${name} nor ${fileName} is set` }
  }
  const expectation = findProblem(text)
  return expectation === undefined ? { text } : { problem: `the value of ${name} ${expectation}` }
}

function isSecretSetting(name: string): boolean {
  return Object.hasOwn(settingsTable, name) && settingsTable[name as keyof typeof settingsTable].isSecret
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== ''
}

/** Editors and `echo` end a file with a newline that is no part of the secret. */
function readFile(path: string, read: (path: string) => string): string | undefined {
  try {
    return read(path).replace(/\r?\n$/, '')
  } catch {
    return undefined
  }
}
