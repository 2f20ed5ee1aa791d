// The route of a model by the prefix of a profile: the profile's provider is asked for its models, and
// each is public as prefix + id (decisions.md 88, providers.md 3).

import { describeDiscovered } from '../../shared/catalog/discovered-capabilities.ts'
import { isModelName } from '../../shared/model-name.ts'
import { createSlotKey } from '../../shared/model-slots.ts'
import type { ModelCapabilities, ProviderWire } from '../../shared/profile/profile.ts'
import { findPrefixed } from '../../shared/profile/profile-routes.ts'
import { rememberCombinations } from '../performance/remember-texts.ts'
import { type DeclaredCapabilities, declareCapabilities, type ProfileTraits } from './declared-capabilities.ts'
import type { RouteEvidence } from './evidence.ts'
import type { KnownFacts } from './model-facts.ts'

/** The profile of one prefix: plain data. */
export interface PrefixRoute {
  publicPrefix: string
  profileId: string
  providerKind: string
  /** Absent where the profile names none. */
  wire?: ProviderWire
  /** As of an alias. */
  isStateOurs?: true
  /** What every model of the profile can do unless its provider states another fact; features by their names. */
  defaults: ModelCapabilities
  traits: ProfileTraits
  /** The profile refuses token counts. */
  isTokenCountOff?: true
  evidence: Omit<RouteEvidence, 'publicAlias' | 'upstreamModel'>
}

/** The part of a plan that follows from a prefix. */
export interface PrefixedModel {
  profileId: string
  providerKind: string
  wire?: ProviderWire
  isStateOurs?: true
  upstreamModel: string
  slotKey: string
  capabilities: DeclaredCapabilities
  isTokenCountOff?: true
  evidence: RouteEvidence
  isUndeclared: true
}

/**
 * Finds the model behind a prefix; undefined for a name without one, and `unknown` for one whose rest can be no id of a provider. Whether
 * the inventory lists the model is not decided here: the threads of the translation do not know it.
 */
export function findPrefixedModel(
  routes: readonly PrefixRoute[],
  facts: KnownFacts | undefined,
  publicModel: string
): PrefixedModel | 'unknown' | undefined {
  const route = findPrefixed(routes, publicModel)
  if (route === undefined) return undefined
  const upstreamModel = publicModel.slice(route.publicPrefix.length)
  if (!isModelName(upstreamModel)) return 'unknown'
  const { profileId, providerKind, wire, isStateOurs, defaults, traits, isTokenCountOff, evidence } = route
  const model: PrefixedModel = {
    profileId,
    providerKind,
    upstreamModel,
    slotKey: findSlotKey(profileId, upstreamModel),
    capabilities: declareCapabilities(describeDiscovered(defaults, facts?.byName.get(publicModel)), traits),
    evidence: { ...evidence, publicAlias: publicModel, upstreamModel },
    isUndeclared: true
  }
  if (wire !== undefined) model.wire = wire
  if (isStateOurs !== undefined) model.isStateOurs = isStateOurs
  if (isTokenCountOff !== undefined) model.isTokenCountOff = isTokenCountOff
  return model
}

const findSlotKey = rememberCombinations(createSlotKey)
