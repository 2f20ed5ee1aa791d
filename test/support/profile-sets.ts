// Validated profiles as a profile file has them, for tests that need no file.

import type { ModelAlias, ProfileSet, ProviderProfile } from '../../shared/profile/profile.ts'

/** The features without which no external alias executes, and text. */
export const BASE_FEATURES = [
  'cancellation',
  'context_token_limits',
  'model_identity',
  'ordered_content_parts',
  'request_error_classes',
  'roles',
  'stop_reason',
  'text',
  'usage'
]

/** The set of a file of the third schema. */
export function fileOf(profiles: readonly ProviderProfile[], changes: Partial<ProfileSet> = {}): ProfileSet {
  return { schemaVersion: 'gateway.provider-profiles.v3', origin: 'file', profiles, ...changes }
}

/** A profile with a dynamic inventory, the aliases of which name models of it. A plain http URL is on this machine. */
export function dynamicProfile(baseUrl: string, models: readonly ModelAlias[] = []): ProviderProfile {
  const allowLoopback = baseUrl.startsWith('http:')
  return {
    profileId: 'native-main',
    providerKind: 'native',
    baseUrl,
    credentialEnv: 'NATIVE_MAIN_KEY',
    networkPolicyRef: allowLoopback ? 'loopback-development' : 'public-native',
    tlsPolicyRef: 'system-default',
    allowLoopback,
    modelInventory: 'dynamic',
    models
  }
}

/** A keyless chat-completions provider on this machine. */
export function edgeProfile(models: readonly ModelAlias[], changes: Partial<ProviderProfile> = {}): ProviderProfile {
  return {
    profileId: 'edge-chat',
    providerKind: 'chat_compatible',
    baseUrl: 'http://127.0.0.1:9/v1',
    networkPolicyRef: 'loopback-development',
    tlsPolicyRef: 'system-default',
    allowLoopback: true,
    models,
    ...changes
  }
}

/** An enabled alias; `features` and `limits` are what the file declares about it. */
export function aliasOf(
  publicAlias: string,
  upstreamModel: string,
  { features, limits = { contextWindow: 4096 }, ...changes }: AliasChanges = {}
): ModelAlias {
  return {
    publicAlias,
    upstreamModel,
    capabilityProfile: 'reviewed-v1',
    ...(features !== undefined && { capabilities: { features, limits } }),
    supportStatus: 'technical_preview',
    enabled: true,
    deprecated: false,
    ...changes
  }
}

type Declared = NonNullable<ModelAlias['capabilities']>
type AliasChanges = Partial<ModelAlias> & { features?: readonly string[]; limits?: Declared['limits'] }

/** A keyless external profile on this machine whose models are discovered. */
export function prefixedProfile(
  profileId: string,
  publicPrefix: string,
  changes: Partial<ProviderProfile> = {}
): ProviderProfile {
  return edgeProfile([], {
    profileId,
    modelInventory: 'dynamic',
    publicPrefix,
    defaultCapabilities: { features: BASE_FEATURES, limits: { contextWindow: 1000, maxOutputTokens: 100 } },
    ...changes
  })
}
