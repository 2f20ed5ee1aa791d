// The rules between members of a keys file (keys.md 1).
import { hash } from 'node:crypto'
import { DEFAULT_KEY_NAME } from '../../shared/keys/key-ring.ts'
import type { Settings } from '../../shared/settings.ts'
import type { FileProblem } from '../config-file/problems.ts'
import type { KeysContent } from './schema.ts'

/** Names that are not unique, and groups that do not exist. `settingNames`: the names of the keys of the settings. */
export function findNameProblems(content: KeysContent, settingNames: readonly string[]): FileProblem[] {
  const problems: FileProblem[] = []
  const taken = new Set([DEFAULT_KEY_NAME, ...settingNames])
  const seen = new Set<string>()
  for (const [index, { name, group }] of content.keys.entries()) {
    const path = ['keys', index, 'name']
    if (taken.has(name)) problems.push({ path, explanation: 'is the name of a key of the settings' })
    if (seen.has(name)) problems.push({ path, explanation: 'is the name of another key' })
    seen.add(name)
    if (group !== undefined && !Object.hasOwn(content.groups, group)) {
      problems.push({ path: ['keys', index, 'group'], explanation: 'is no group of the file' })
    }
  }
  return problems
}

/** Secrets that more than one key has, or one key twice: the request would not say which key it is. */
export function findRepeatedSecrets(
  digests: ReadonlyArray<readonly string[]>,
  { apiKey, apiKeys, adminApiKey }: Pick<Settings, 'adminApiKey' | 'apiKey' | 'apiKeys'>
): FileProblem[] {
  const problems: FileProblem[] = []
  // With the key of the administrator a client could read the records of all others.
  const ofSettings = [apiKey, ...Object.values(apiKeys), adminApiKey].flatMap(key =>
    key === undefined ? [] : [key.reveal()]
  )
  const taken = new Set(ofSettings.map(secret => hash('sha256', secret, 'hex')))
  const seen = new Set<string>()
  for (const [index, ofKey] of digests.entries()) {
    for (const [position, digest] of ofKey.entries()) {
      const path = ['keys', index, 'secrets', position]
      if (taken.has(digest)) problems.push({ path, explanation: 'is the secret of a key of the settings' })
      if (seen.has(digest)) problems.push({ path, explanation: 'is the secret of another entry' })
      seen.add(digest)
    }
  }
  return problems
}

/** Where the file sets budgets. */
export function findBudgets({ groups, keys }: KeysContent): FileProblem[] {
  const ofGroups = Object.entries(groups).map(([name, { limits }]) => ({ path: ['groups', name], limits }))
  const ofKeys = keys.map(({ limits }, index) => ({ path: ['keys', index], limits }))
  return [...ofGroups, ...ofKeys]
    .filter(({ limits }) => limits?.budget !== undefined)
    .map(({ path }) => ({ path: [...path, 'limits', 'budget'], explanation: '' }))
}
