// The profiles of a worker with the toy provider beside the native one: the aliases `toy/model` and `toy/relay`.

import { createNativeProfileSet } from '../../../shared/native-profile.ts'
import type { ProfileSet } from '../../../shared/profile.ts'
import type { Settings } from '../../../shared/settings.ts'

export function createToyProfileSet(settings: Settings): ProfileSet {
  const native = createNativeProfileSet(settings)
  const [first] = native.profiles
  if (first === undefined) throw new Error('There is a native profile.')
  const { modelInventory: _inventory, ...profile } = first
  const toy = {
    ...profile,
    profileId: 'toy-main',
    providerKind: 'toy' as typeof profile.providerKind,
    models: [alias('toy/model', 'toy-7b'), alias('toy/relay', 'toy-relay')]
  }
  return { ...native, profiles: [...native.profiles, toy] }
}

function alias(publicAlias: string, upstreamModel: string) {
  const status = { supportStatus: 'technical_preview', enabled: true, deprecated: false } as const
  return { publicAlias, upstreamModel, capabilityProfile: 'toy-v1', ...status }
}
