// Reads the secrets that a keys file names and keeps their digests alone (keys.md 1).
import { hash } from 'node:crypto'
import { FILE_SUFFIX, readVariable, type VariableLookup } from '../config-file/variable.ts'
import { readRegularText } from '../files/pem-files.ts'
import type { SecretContent } from './schema.ts'

const SECRET_LENGTH_MIN = 16
/** What every client can send in a header or a query, and every person can copy. */
const VISIBLE = /^[\x21-\x7e]*$/

/** The digest of a secret, or what is wrong with it. The explanation has names of variables, never a value or a path. */
export function readDigest(
  { env, file, sha256 }: SecretContent,
  lookup: VariableLookup
): { digest: string } | { problem: string } {
  if (sha256 !== undefined) return { digest: sha256.toLowerCase() }
  const read = env === undefined ? readSecretFile(file ?? '') : readSecretVariable(env, lookup)
  return 'text' in read ? { digest: hash('sha256', read.text, 'hex') } : read
}

function readSecretVariable(name: string, lookup: VariableLookup): { text: string } | { problem: string } {
  const read = readVariable({ name, findProblem }, lookup, readRegularText)
  return read ?? { problem: `${name} is not set` }
}

function readSecretFile(path: string): { text: string } | { problem: string } {
  let content: string
  try {
    content = readRegularText(path)
  } catch {
    return { problem: 'file must name a readable file' }
  }
  // Editors and `echo` end a file with a newline that is no part of the secret.
  const text = content.replace(/\r?\n$/, '')
  const expectation = findProblem(text)
  return expectation === undefined ? { text } : { problem: `the content of the file ${expectation}` }
}

function findProblem(secret: string): string | undefined {
  if (!VISIBLE.test(secret)) return 'must have visible ASCII characters alone'
  return secret.length < SECRET_LENGTH_MIN ? `must have at least ${SECRET_LENGTH_MIN} characters` : undefined
}

/** The files that secrets are read from, by the paths of now. */
export function listSecretFiles(secrets: readonly SecretContent[], lookup: VariableLookup): string[] {
  const named = secrets.flatMap(({ env, file }) => [
    ...(file === undefined ? [] : [file]),
    ...(env === undefined ? [] : [lookup(`${env}${FILE_SUFFIX}`) ?? ''])
  ])
  return [...new Set(named)].filter(file => file !== '')
}

/** The variables that secrets are read from, those that name files included. */
export function listSecretVariables(secrets: readonly SecretContent[]): string[] {
  const names = secrets.flatMap(({ env }) => env ?? [])
  return [...new Set(names)].flatMap(name => [name, `${name}${FILE_SUFFIX}`])
}
