// Loads a profile file: reads it once, validates it, and takes the credentials that it names from
// the environment (bridge.md 3 and 4).
import { isHeaderValue } from '../../shared/header-value.ts'
import { createCredentials, type ProfileCredentials, type ProfileSet } from '../../shared/profile.ts'
import { listRouted } from '../../shared/profile-routes.ts'
import { Secret } from '../../shared/secret.ts'
import { StartupError } from '../../shared/startup-error.ts'
import { findDestinationProblem } from './destination.ts'
import { readProfileDocument, writeIssuePath } from './document.ts'
import { type ProfileFile, readProfileFile } from './file.ts'
import { parseJsonProfile } from './json.ts'
import { findPolicyProblem } from './policies.ts'
import { parseYamlProfile } from './yaml.ts'

export interface LoadedProfiles {
  /** Frozen at every depth. */
  readonly profiles: ProfileSet
  readonly credentials: ProfileCredentials
}

/** Returns the value of a variable of the environment or the `.env` file; undefined when it is not set. */
export type VariableLookup = (name: string) => string | undefined

/** Reads the file and its credentials. Throws `StartupError` with the first problem and never repeats content, values or the path. */
export function loadProfiles(path: string, lookup: VariableLookup): LoadedProfiles {
  const { set, zones } = readProfileDocument(parseProfileText(readProfileFile(path)))
  const credentials = createCredentials()
  const routed = new Set(listRouted(set))
  for (const [index, profile] of set.profiles.entries()) {
    const place = (member: string) => writeIssuePath(['profiles', index, member])
    const destinationProblem = findDestinationProblem(profile, zones[index] === true)
    if (destinationProblem !== undefined) {
      throw new StartupError('invalid_destination', destinationProblem, [], place('base_url'))
    }
    const policyProblem = findPolicyProblem(profile)
    if (policyProblem !== undefined) {
      const { member, message } = policyProblem
      throw new StartupError('invalid_policy_reference', message, [], place(member))
    }
    const { credentialEnv } = profile
    // A profile without a route makes no call.
    if (credentialEnv === undefined || !routed.has(profile)) continue
    const text = lookup(credentialEnv)
    if (text === undefined || text === '' || !isHeaderValue(text)) {
      const message = 'Credential reference is unavailable for an enabled profile.'
      throw new StartupError('credential_unavailable', message, [], place('credential_env'))
    }
    credentials[profile.profileId] = new Secret(text)
  }
  return Object.freeze({ profiles: deepFreeze(set), credentials: Object.freeze(credentials) })
}

/** Returns the value that a file holds. Throws `StartupError` `invalid_profile_schema` for a text that is malformed or too deep. */
export function parseProfileText({ text, format }: ProfileFile): unknown {
  return format === 'json' ? parseJsonProfile(text) : parseYamlProfile(text)
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
