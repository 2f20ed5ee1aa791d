// What a profile may say depends on its kind: the reviewed policies, and token counting
// (bridge.md 4.2).
import type { ProviderProfile } from '../../shared/profile.ts'
import type { ProviderKind } from '../../shared/support-vocabulary.ts'

export const LOOPBACK_POLICY = 'loopback-development'
export const TLS_POLICY = 'system-default'
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

type PolicyMembers = Pick<ProviderProfile, 'providerKind' | 'allowLoopback' | 'networkPolicyRef' | 'tlsPolicyRef'>

/** Returns the member that names an unknown policy or one that does not fit the profile; undefined when both are right. */
export function findPolicyProblem(profile: PolicyMembers): 'network_policy_ref' | 'tls_policy_ref' | undefined {
  const expected = profile.allowLoopback ? LOOPBACK_POLICY : PUBLIC_POLICIES[profile.providerKind]
  if (profile.networkPolicyRef !== expected) return 'network_policy_ref'
  return profile.tlsPolicyRef === TLS_POLICY ? undefined : 'tls_policy_ref'
}
