// How the models of external profiles appear in the catalog: aliases as their file describes them, and
// discovered models under their prefix (bridge.md 6.3, providers.md 3).

import type { ModelAlias, ModelCapabilities, ProviderProfile } from '../profile/profile.ts'
import type { PrefixedProfile } from '../profile/profile-routes.ts'
import type { CatalogEntry, CatalogModel, DeclaredModel } from './catalog.ts'
import { describeDiscovered } from './discovered-capabilities.ts'

/** An alias as its file describes it. */
export function describeAlias(
  { providerKind, tokenCounting }: ProviderProfile,
  { publicAlias, deprecated, capabilities }: ModelAlias,
  startedAtMs: number
): Omit<CatalogModel, 'providerProfileId' | 'inventoryRevision' | 'stale'> {
  return {
    id: publicAlias,
    ownedBy: providerKind,
    modelType: 'chat',
    available: true,
    deprecated,
    providerMetadata: {},
    providerKind,
    discoveredAt: new Date(startedAtMs).toISOString(),
    declared: describeLimits(capabilities, tokenCounting)
  }
}

/** A model of a dynamic inventory under its public name, with the limits that hold for it. */
export function describePrefixed(
  { profileId, providerKind, publicPrefix, defaultCapabilities, tokenCounting }: PrefixedProfile,
  entry: CatalogEntry
): Omit<CatalogModel, 'discoveredAt' | 'stale' | 'inventoryRevision'> {
  return {
    ...entry,
    id: publicPrefix + entry.id,
    ownedBy: entry.ownedBy ?? providerKind,
    providerKind,
    providerProfileId: profileId,
    declared: describeLimits(describeDiscovered(defaultCapabilities, entry.facts), tokenCounting)
  }
}

function describeLimits(
  capabilities: ModelCapabilities | undefined,
  tokenCounting: ProviderProfile['tokenCounting']
): DeclaredModel {
  const canCountTokens = tokenCounting !== 'off'
  if (capabilities === undefined) return { canCountTokens }
  const { contextWindow, maxInputTokens, maxOutputTokens } = capabilities.limits
  return {
    inputTokenLimit: maxInputTokens ?? contextWindow,
    ...(maxOutputTokens !== undefined && { outputTokenLimit: maxOutputTokens }),
    canCountTokens
  }
}
