// Reads the content of a profile file in three steps: every member, then the rules between them,
// then the profiles that it describes (bridge.md 4.2, 4.3, 4.6).
import type { ProfileSet } from '../../shared/profile/profile.ts'
import { StartupError } from '../../shared/startup-error.ts'
import { type IssuePath, writeIssuePath } from '../config-file/issue-path.ts'
import { type BrokenRule, findBrokenRule } from './rules.ts'
import { readFileShape } from './schema.ts'
import { toProfile } from './to-profile.ts'

/** A validated file. */
export interface ProfileDocument {
  readonly set: ProfileSet
  /** For each profile, whether its host was written with an IPv6 zone, which its base URL does not show. */
  readonly zones: readonly boolean[]
}

const MESSAGES: Readonly<Record<BrokenRule['code'], string>> = {
  invalid_profile_schema: 'Provider profile config does not match the required schema.',
  duplicate_profile_id: 'Provider profile ids must be globally unique.',
  duplicate_model_alias: 'Public model aliases must be globally unique.'
}

/**
 * Turns the parsed content of a profile file into profiles. Throws `StartupError`: `invalid_profile_schema` for a wrong member, then
 * `duplicate_profile_id`, then `duplicate_model_alias`, then `invalid_profile_schema` for a rule between members.
 */
export function readProfileDocument(value: unknown): ProfileDocument {
  const shape = readFileShape(value)
  if ('issue' in shape) throw refusal('invalid_profile_schema', shape.issue.path, shape.issue.hint)
  const { file } = shape
  const broken = findBrokenRule(file)
  if (broken !== undefined) throw refusal(broken.code, broken.path)
  return {
    set: { schemaVersion: file.schema_version, origin: 'file', profiles: file.profiles.map(toProfile) },
    zones: file.profiles.map(profile => profile.base_url.hasZone)
  }
}

function refusal(code: BrokenRule['code'], path: IssuePath, hint = ''): StartupError {
  return new StartupError(code, MESSAGES[code], [], `${writeIssuePath(path)}${hint}`)
}
