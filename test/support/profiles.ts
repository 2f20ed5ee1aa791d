// Profile sets made by hand, for tests of routes and admission.

import { FEATURE_NAMES, type ModelAlias, type ProfileSet, type ProviderProfile } from '../../shared/profile/profile.ts'

/** Every feature that an alias may declare. */
export const ALL_FEATURES = FEATURE_NAMES

type Capabilities = NonNullable<ModelAlias['capabilities']>

export interface AliasOptions extends Partial<Omit<ModelAlias, 'capabilities'>> {
  /** All features unless given; null declares nothing. */
  features?: readonly string[] | null
  limits?: Capabilities['limits']
}

export function makeAlias(publicAlias: string, options: AliasOptions = {}): ModelAlias {
  const { features = ALL_FEATURES, limits = { contextWindow: 8192, maxOutputTokens: 4096 }, ...members } = options
  return {
    publicAlias,
    upstreamModel: 'mini-7b',
    capabilityProfile: 'reviewed-v1',
    supportStatus: 'stable',
    enabled: true,
    deprecated: false,
    ...(features === null ? {} : { capabilities: { features, limits } }),
    ...members
  }
}

/** A static profile of an external provider; a loopback base URL allows loopback. */
export function makeProfile(
  profileId: string,
  models: readonly ModelAlias[],
  members: Partial<ProviderProfile> = {}
): ProviderProfile {
  const baseUrl = members.baseUrl ?? 'https://up.example/v1'
  const allowLoopback = baseUrl.startsWith('http:')
  return {
    profileId,
    providerKind: 'chat_compatible',
    baseUrl,
    networkPolicyRef: allowLoopback ? 'loopback-development' : 'public-openai',
    tlsPolicyRef: 'system-default',
    allowLoopback,
    models,
    ...members
  }
}

export function makeNativeProfile(
  profileId: string,
  models: readonly ModelAlias[],
  members: Partial<ProviderProfile> = {}
): ProviderProfile {
  return makeProfile(profileId, models, { providerKind: 'native', networkPolicyRef: 'public-native', ...members })
}

/** A set as if it were read from a file, of the newest schema unless given. */
export function makeProfileSet(
  profiles: readonly ProviderProfile[],
  schemaVersion: ProfileSet['schemaVersion'] = 'gateway.provider-profiles.v3'
): ProfileSet {
  return { schemaVersion, origin: 'file', profiles }
}
