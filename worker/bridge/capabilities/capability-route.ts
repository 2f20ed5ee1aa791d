// Finds the route whose capabilities a query asks for (bridge.md 5.6 and 5.7).

import { describeDiscovered } from '../../../shared/catalog/discovered-capabilities.ts'
import { isModelName } from '../../../shared/model-name.ts'
import type { ModelAlias, ProfileSet, ProviderProfile } from '../../../shared/profile/profile.ts'
import { expandFeatures } from '../../../shared/profile/profile-features.ts'
import {
  findDynamicProfile,
  findPrefixed,
  listAliases,
  listPrefixedProfiles,
  requiresNewerSchema
} from '../../../shared/profile/profile-routes.ts'
import { findCell } from '../../../shared/support/support-matrix.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { ProviderCapabilities } from '../../protocols/capabilities.ts'
import { type ByWire, selectWire } from '../../protocols/registry.ts'
import { DEFAULT_CAPABILITY_PROFILE } from '../evidence.ts'
import type { RouteTable } from '../resolve-route.ts'
import type { CapabilityQuery } from './capability-query.ts'
import type { CapabilityRoute } from './layers.ts'

/** The route of a model name: a declared alias, or a model of the dynamic profile's inventory. */
export interface ModelRoute {
  readonly profile: ProviderProfile
  /** Undefined for a model that only the inventory can list. */
  readonly alias: ModelAlias | undefined
  /** The provider's id of a model behind the prefix of the profile; absent for every other one. */
  readonly prefixedModel?: string
}

/**
 * Finds the route of a model name, exactly as requests are routed. Whether a dynamic profile's inventory has a model without an alias is
 * not decided here. Raises `unknown_model_alias` for a disabled alias and for a model that no profile serves.
 */
export function findModelRoute(profiles: ProfileSet, model: string): ModelRoute {
  const declared = listAliases(profiles).find(({ alias }) => alias.publicAlias === model)
  if (declared !== undefined) {
    if (!declared.alias.enabled) throw new GatewayError('unknown_model_alias', { reason: 'alias_disabled' })
    return declared
  }
  const prefixed = findPrefixed(listPrefixedProfiles(profiles), model)
  if (prefixed !== undefined) {
    const prefixedModel = model.slice(prefixed.publicPrefix.length)
    if (!isModelName(prefixedModel)) throw modelNotFound()
    return { profile: prefixed, alias: undefined, prefixedModel }
  }
  const dynamic = findDynamicProfile(profiles)
  if (dynamic === undefined) throw modelNotFound()
  return { profile: dynamic, alias: undefined }
}

/** The error of a model that no inventory has. */
export function modelNotFound(): GatewayError {
  return new GatewayError('unknown_model_alias', { reason: 'model_not_found' })
}

export interface CapabilitySources {
  readonly profiles: ProfileSet
  readonly routes: Pick<RouteTable, 'dynamic' | 'facts'>
  readonly capabilities: Readonly<Record<string, ProviderCapabilities | ByWire<ProviderCapabilities>>>
}

/** What the capabilities of the query depend on, for a route that was found. */
export function describeCapabilityRoute(
  { model, publicProtocol, apiMode }: CapabilityQuery,
  { profile, alias, prefixedModel }: ModelRoute,
  { profiles, routes, capabilities }: CapabilitySources
): CapabilityRoute {
  const provider = capabilities[profile.providerKind]
  return {
    publicProtocol,
    apiMode,
    cell: findCell(publicProtocol, profile.providerKind),
    provider: provider && selectWire(provider, profile.wire),
    upstreamModel: alias?.upstreamModel ?? prefixedModel ?? findSentModel(routes.dynamic, model),
    declaredFeatures: findFeatures(model, { profile, alias, prefixedModel }, routes),
    capabilityProfile: prefixedModel === undefined ? alias?.capabilityProfile : DEFAULT_CAPABILITY_PROFILE,
    isAliasBlocked: alias !== undefined && (alias.supportStatus === 'blocked' || requiresNewerSchema(profiles, profile))
  }
}

/** What the file declares about an alias or about all models behind a prefix, and the provider states about one of these. */
function findFeatures(
  model: string,
  { profile, alias, prefixedModel }: { [Name in keyof ModelRoute]: ModelRoute[Name] | undefined },
  { facts }: CapabilitySources['routes']
): readonly string[] | undefined {
  if (alias !== undefined) return alias.capabilities && expandFeatures(alias.capabilities.features)
  const defaults = prefixedModel === undefined ? undefined : profile?.defaultCapabilities
  if (defaults === undefined) return undefined
  const { features, limits } = defaults
  return describeDiscovered({ features: expandFeatures(features), limits }, facts?.byName.get(model)).features
}

/** The model that the dynamic profile's provider is sent for a model without an alias. */
function findSentModel(dynamic: RouteTable['dynamic'], model: string): string {
  return dynamic === undefined || dynamic.passModel ? model : (dynamic.defaultModel ?? model)
}
