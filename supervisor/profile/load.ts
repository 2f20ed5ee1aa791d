// Loads a profile file: reads it once, validates it, and takes the secrets that it names from the
// environment (bridge.md 3 and 4).
import { readAddressPolicy, readPolicyReference } from '../../shared/profile/network-policy.ts'
import {
  createCredentials,
  type ProfileCredentials,
  type ProfileSet,
  type ProviderProfile
} from '../../shared/profile/profile.ts'
import { listRouted } from '../../shared/profile/profile-routes.ts'
import { StartupError, type StartupErrorCode } from '../../shared/startup-error.ts'
import { type IssuePath, writeIssuePath } from '../config-file/issue-path.ts'
import { type ConfigFileKind, readConfigFile } from '../config-file/read.ts'
import type { VariableLookup } from '../config-file/variable.ts'
import { findDestinationProblem, findUrlProblem } from './destination.ts'
import { readProfileDocument } from './document.ts'
import { findFileProblems } from './files.ts'
import { findPolicyProblem, isNetworkPolicy, UNKNOWN_POLICY } from './policies.ts'
import { type ReferenceProblem, readSecrets } from './secrets.ts'

export const PROFILE_FILE: ConfigFileKind = { code: 'invalid_profile_schema', subject: 'Provider profile config' }

export interface LoadedProfiles {
  /** Frozen at every depth. */
  readonly profiles: ProfileSet
  readonly credentials: ProfileCredentials
}

/** Reads the file and its secrets. Throws `StartupError` with the first problem and never repeats content, values or the path. */
export function loadProfiles(path: string, lookup: VariableLookup): LoadedProfiles {
  const { set, zones } = readProfileDocument(readConfigFile(path, PROFILE_FILE))
  const credentials = createCredentials()
  const routed = new Set(listRouted(set))
  for (const [index, profile] of set.profiles.entries()) {
    const refuse: Refuse = (code, message, problems) => {
      const places = problems.map(({ place, explanation }) => {
        const text = writeIssuePath(['profiles', index, ...place])
        return explanation === undefined ? text : `${text}: ${explanation}`
      })
      throw new StartupError(code, message, [], places.join('; '))
    }
    checkDestinations(profile, { hasZone: zones[index] === true, refuse })
    checkPolicies(profile, refuse)
    // A profile without a route makes no call.
    if (!routed.has(profile)) continue
    const { secrets, problems } = readSecrets(profile, lookup)
    if (problems.length > 0) refuse('credential_unavailable', CREDENTIAL_UNAVAILABLE, problems)
    for (const [key, secret] of secrets) credentials[key] = secret
    const fileProblems = findFileProblems(profile)
    if (fileProblems.length > 0) refuse('profile_file_unavailable', FILE_UNAVAILABLE, fileProblems)
  }
  return Object.freeze({ profiles: deepFreeze(set), credentials: Object.freeze(credentials) })
}

const CREDENTIAL_UNAVAILABLE = 'Credential reference is unavailable for an enabled profile.'
const FILE_UNAVAILABLE = 'A file that an enabled profile names cannot be used.'

type Place = Pick<ReferenceProblem, 'place'> & Partial<ReferenceProblem>
type Refuse = (code: StartupErrorCode, message: string, problems: readonly Place[]) => void

/** Where the profile's calls go: to its provider, to its token server, and through its proxy. No name is resolved. */
function checkDestinations(profile: ProviderProfile, { hasZone, refuse }: { hasZone: boolean; refuse: Refuse }): void {
  const check = (problem: string | undefined, ...place: IssuePath) => {
    if (problem !== undefined) refuse('invalid_destination', problem, [{ place }])
  }
  const { auth, proxy = 'none' } = profile
  check(findDestinationProblem(profile, hasZone), 'base_url')
  if (proxy !== 'none' && proxy !== 'environment') check(findUrlProblem('proxy', proxy), 'proxy')
  if (auth?.type !== 'oauth2') return
  const policy =
    auth.networkPolicyRef === undefined ? readAddressPolicy(profile) : readPolicyReference(auth.networkPolicyRef)
  check(findUrlProblem(policy, auth.tokenUrl), 'auth', 'oauth2', 'token_url')
}

function checkPolicies(profile: ProviderProfile, refuse: Refuse): void {
  const problem = findPolicyProblem(profile)
  if (problem !== undefined) refuse('invalid_policy_reference', problem.message, [{ place: [problem.member] }])
  const { auth } = profile
  if (auth?.type !== 'oauth2' || auth.networkPolicyRef === undefined || isNetworkPolicy(auth.networkPolicyRef)) return
  const place = ['auth', 'oauth2', 'network_policy_ref']
  refuse('invalid_policy_reference', UNKNOWN_POLICY, [{ place }])
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
