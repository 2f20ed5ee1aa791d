// The profile that exists when no profile file is chosen (bridge.md 5.1).

import type { Settings } from '../settings.ts'
import type { ProviderKind } from '../support/support-vocabulary.ts'
import type { ModelAlias, ProfileSet, ProviderProfile } from './profile.ts'

export const NATIVE_PROFILE_ID = 'native-upstream'
export const NATIVE_PROVIDER_KIND = 'native' satisfies ProviderKind

const NATIVE_PROFILE_SCHEMA = 'gateway.provider-profiles.v2'

/** The profile set of native mode. The base URL and the default model are its only variable parts. */
export function createNativeProfileSet(settings: Pick<Settings, 'upstream'>): ProfileSet {
  const { baseUrl, model } = settings.upstream
  const models: ModelAlias[] = []
  if (model !== undefined) {
    models.push({
      publicAlias: model,
      upstreamModel: model,
      capabilityProfile: 'native-upstream-v1',
      supportStatus: 'stable',
      enabled: true,
      deprecated: false
    })
  }
  const profile: ProviderProfile = {
    profileId: NATIVE_PROFILE_ID,
    providerKind: NATIVE_PROVIDER_KIND,
    baseUrl,
    credentialEnv: 'UPSTREAM_CREDENTIALS',
    networkPolicyRef: 'public-native',
    tlsPolicyRef: 'system-default',
    allowLoopback: false,
    modelInventory: 'dynamic',
    models
  }
  return { schemaVersion: NATIVE_PROFILE_SCHEMA, origin: 'settings', profiles: [profile] }
}
