// Reads the secrets of profiles: each from its variable, or from the file that the variable's
// `_FILE` names (decisions.md 87).
import { type ProviderProfile, secretKey } from '../../shared/profile/profile.ts'
import { Secret } from '../../shared/secrets/secret.ts'
import type { IssuePath } from '../config-file/issue-path.ts'
import { readVariable, type VariableLookup } from '../config-file/variable.ts'
import { listVariables } from './variables.ts'

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
