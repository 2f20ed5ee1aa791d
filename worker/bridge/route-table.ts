// Turns the validated profiles into the table that `resolve-route.ts` reads.

import type { ProfileSet, ProviderProfile } from '../../shared/profile.ts'
import type { Settings } from '../../shared/settings.ts'
import type { AliasRoute, DynamicRoute, RouteTable } from './resolve-route.ts'

export type RouteSettings = Pick<Settings, 'passModel' | 'embeddings'> & {
  upstream: Pick<Settings['upstream'], 'model'>
}

/** The routes of all enabled aliases, and of the profile with a dynamic inventory (bridge.md 6). */
export function createRouteTable({ profiles }: ProfileSet, settings: RouteSettings): RouteTable {
  const aliases: Record<string, AliasRoute> = Object.create(null)
  let dynamic: DynamicRoute | undefined
  for (const profile of profiles) {
    const { profileId, providerKind } = profile
    if (isDynamic(profile)) dynamic = createDynamicRoute(profile, settings)
    for (const { publicAlias, upstreamModel, enabled } of profile.models) {
      // A dynamic profile lists such a model without renaming it, so it needs no alias: the settings decide which model is sent.
      const isRepeated = isDynamic(profile) && publicAlias === upstreamModel
      if (enabled && !isRepeated) aliases[publicAlias] = { profileId, providerKind, upstreamModel }
    }
  }
  return dynamic === undefined ? { aliases } : { aliases, dynamic }
}

function isDynamic(profile: ProviderProfile): boolean {
  return profile.modelInventory === 'dynamic'
}

function createDynamicRoute({ profileId, providerKind }: ProviderProfile, settings: RouteSettings): DynamicRoute {
  const { passModel, embeddings, upstream } = settings
  const route: DynamicRoute = { profileId, providerKind, passModel, defaultEmbeddingsModel: embeddings }
  if (upstream.model !== undefined) route.defaultModel = upstream.model
  return route
}
