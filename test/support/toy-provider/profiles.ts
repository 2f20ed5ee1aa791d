// The profiles of a worker with the toy provider beside the native one: the alias `toy/model`.

import { createNativeProfileSet } from '../../../shared/profile/native-profile.ts'
import type { ProfileCredentials, ProfileSet } from '../../../shared/profile/profile.ts'
import { Secret } from '../../../shared/secrets/secret.ts'
import type { Settings } from '../../../shared/settings.ts'
import { TOY_KEY } from './wire.ts'

/** The credentials of these profiles. */
export const toyCredentials: ProfileCredentials = { 'toy-main': new Secret(TOY_KEY) }

export function createToyProfileSet(settings: Settings, baseUrl: string): ProfileSet {
  const native = createNativeProfileSet(settings)
  const [first] = native.profiles
  if (first === undefined) throw new Error('There is a native profile.')
  const { modelInventory: _inventory, ...profile } = first
  const toy = {
    ...profile,
    profileId: 'toy-main',
    providerKind: 'toy' as typeof profile.providerKind,
    baseUrl,
    allowLoopback: true,
    models: [alias('toy/model', 'toy-7b')]
  }
  return { ...native, profiles: [...native.profiles, toy] }
}

function alias(publicAlias: string, upstreamModel: string) {
  const status = { supportStatus: 'technical_preview', enabled: true, deprecated: false } as const
  return { publicAlias, upstreamModel, capabilityProfile: 'toy-v1', ...status }
}
