// Reads a secret that a configuration file names: from its variable, or from the file that the
// variable's `_FILE` names (decisions.md 87).
import { settingsTable } from '../../shared/settings/table.ts'
import { readTextFile } from '../../shared/text-file.ts'

/** The suffix of the variable that names a file with the value, as for settings (bridge.md 2). */
export const FILE_SUFFIX = '_FILE'

/** Returns the value of a variable of the environment or the `.env` file; undefined when it is not set. */
export type VariableLookup = (name: string) => string | undefined

/** A variable of the environment whose value is a secret. */
export interface SecretVariable {
  readonly name: string
  /** The profile or key that names the variable works without it. */
  readonly isOptional?: true
  /** What its value must be; undefined for a value that can be used. */
  findProblem(value: string): string | undefined
}

/** Its text, from the variable or from the file that it names; undefined for an optional variable that is not set. */
export function readVariable(
  { name, isOptional, findProblem }: SecretVariable,
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
