// What a profile may say depends on its kind: the reviewed policies, and token counting
// (bridge.md 4.2).
import { LOOPBACK_POLICY, PRIVATE_POLICY } from '../../shared/profile/network-policy.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'
import type { ProviderKind } from '../../shared/support/support-vocabulary.ts'

export const TLS_POLICY = 'system-default'
/** Trusts the authorities of `ca_file` beside those of the system (providers.md 1). */
export const PRIVATE_TLS_POLICY = 'private-ca'
export const TLS_POLICIES = [TLS_POLICY, PRIVATE_TLS_POLICY] as const
export const PUBLIC_POLICIES: Readonly<Record<ProviderKind, string>> = {
  native: 'public-native',
  chat_compatible: 'public-openai',
  messages_compatible: 'public-anthropic',
  content_compatible: 'public-gemini'
}

/** The kinds that cannot count tokens: their profiles say whether the gateway estimates (`token_counting`). */
export const KINDS_WITH_TOKEN_COUNTING: ReadonlySet<ProviderKind> = new Set(['chat_compatible'])
/** The kinds whose wire has two names of the output limit (`output_limit_field`). */
export const KINDS_WITH_OUTPUT_LIMIT_FIELDS: ReadonlySet<ProviderKind> = new Set(['chat_compatible'])
/** The kinds that have several wires (`wire`). */
export const KINDS_WITH_WIRES: ReadonlySet<ProviderKind> = new Set(['chat_compatible'])

type PolicyMembers = Pick<
  ProviderProfile,
  'providerKind' | 'allowLoopback' | 'allowPrivate' | 'networkPolicyRef' | 'tlsPolicyRef' | 'caFile'
>

/** A member that is wrong, and the text that says what is allowed. */
export interface PolicyProblem {
  readonly member: 'network_policy_ref' | 'tls_policy_ref' | 'allow_private'
  readonly message: string
}

/** Returns the first member that names an unknown policy or one that does not fit the profile; undefined when all are right. */
export function findPolicyProblem(profile: PolicyMembers): PolicyProblem | undefined {
  const { allowLoopback, allowPrivate = false, networkPolicyRef } = profile
  if (allowLoopback && allowPrivate) return { member: 'allow_private', message: ONE_NETWORK }
  if (allowPrivate !== (networkPolicyRef === PRIVATE_POLICY)) {
    return { member: allowPrivate ? 'network_policy_ref' : 'allow_private', message: PRIVATE_TOGETHER }
  }
  const expected = allowLoopback ? LOOPBACK_POLICY : PUBLIC_POLICIES[profile.providerKind]
  if (!allowPrivate && networkPolicyRef !== expected) return { member: 'network_policy_ref', message: UNKNOWN_POLICY }
  if ((profile.caFile !== undefined) !== (profile.tlsPolicyRef === PRIVATE_TLS_POLICY)) {
    return { member: 'tls_policy_ref', message: CA_TOGETHER }
  }
  const isKnown = profile.caFile !== undefined || profile.tlsPolicyRef === TLS_POLICY
  return isKnown ? undefined : { member: 'tls_policy_ref', message: UNKNOWN_POLICY }
}

/** The text for a reference to a policy that does not exist. */
export const UNKNOWN_POLICY = 'Provider profile references an unknown reviewed policy.'
const ONE_NETWORK = 'Provider profile allows loopback or private networks, not both.'
const CA_TOGETHER = 'The policy private-ca and ca_file belong together.'
const PRIVATE_TOGETHER = 'The policy private-network and allow_private: true belong together.'

const NETWORK_POLICIES: ReadonlySet<string> = new Set([
  LOOPBACK_POLICY,
  PRIVATE_POLICY,
  ...Object.values(PUBLIC_POLICIES)
])

/** Whether a network policy of this name exists. */
export function isNetworkPolicy(name: string): boolean {
  return NETWORK_POLICIES.has(name)
}
