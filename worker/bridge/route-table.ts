// Turns the validated profiles into the table that `resolve-route.ts` reads.

import { createSlotKey } from '../../shared/model-slots.ts'
import { readAddressPolicy } from '../../shared/profile/network-policy.ts'
import type { ModelAlias, ProfileSet, ProviderProfile } from '../../shared/profile/profile.ts'
import { expandFeatures } from '../../shared/profile/profile-features.ts'
import { computeProfileRevision } from '../../shared/profile/profile-revision.ts'
import {
  findDynamicProfile,
  isExternalKind,
  listPrefixedProfiles,
  type PrefixedProfile,
  requiresNewerSchema
} from '../../shared/profile/profile-routes.ts'
import type { Settings } from '../../shared/settings.ts'
import { type DeclaredCapabilities, declareCapabilities, type ProfileTraits } from './declared-capabilities.ts'
import { createPrefixEvidence, createRouteEvidence } from './evidence.ts'
import { createKnownFacts } from './model-facts.ts'
import type { PrefixRoute } from './prefix-route.ts'
import type { AliasRefusal, AliasRoute, DynamicRoute, RouteTable, TargetRoute } from './resolve-route.ts'

export type RouteSettings = Pick<Settings, 'passModel' | 'embeddings'> & {
  upstream: Pick<Settings['upstream'], 'model'>
}

/**
 * The routes of all aliases, refused ones included, and of the profiles that are asked for their models (bridge.md 7.2).
 * @param configRevision for the evidence of the aliases' requests.
 */
export function createRouteTable(set: ProfileSet, settings: RouteSettings, configRevision: string): RouteTable {
  const aliases = new Map<string, AliasRoute>()
  const discovered = findDynamicProfile(set)
  const dynamic = discovered && createDynamicRoute(discovered, settings, set.origin)
  for (const profile of set.profiles) {
    // Once for all aliases: it hashes every one of them.
    const revisions = { configRevision, profileRevision: computeProfileRevision(profile) }
    for (const alias of profile.models) {
      // The settings name their default model and decide whether the client's is sent, so the default model needs no alias.
      if (set.origin === 'settings' && profile === discovered && alias.publicAlias === alias.upstreamModel) continue
      const evidence = set.origin === 'file' ? createRouteEvidence(profile, alias, revisions) : undefined
      const route = { ...createAliasRoute(set, profile, alias), ...(evidence && { evidence }) }
      aliases.set(alias.publicAlias, addTargets(route, alias, { set, configRevision }))
    }
  }
  const prefixes = listPrefixedProfiles(set).map(profile => createPrefixRoute(profile, configRevision))
  return {
    aliases,
    ...(prefixes.length > 0 && { prefixes, facts: createKnownFacts() }),
    ...(dynamic !== undefined && { dynamic })
  }
}

function createPrefixRoute(profile: PrefixedProfile, configRevision: string): PrefixRoute {
  const { publicPrefix, profileId, providerKind, wire, defaultCapabilities, tokenCounting } = profile
  const { features, limits } = defaultCapabilities
  return {
    publicPrefix,
    profileId,
    providerKind,
    ...(wire !== undefined && { wire }),
    ...(isStateOurs(profile) && { isStateOurs: true as const }),
    defaults: { features: expandFeatures(features), limits },
    traits: readTraits(profile),
    ...(tokenCounting === 'off' && { isTokenCountOff: true as const }),
    evidence: createPrefixEvidence(profile, { configRevision, profileRevision: computeProfileRevision(profile) })
  }
}

function createAliasRoute(set: ProfileSet, profile: ProviderProfile, alias: ModelAlias): AliasRoute {
  const { profileId, providerKind, wire, tokenCounting } = profile
  const { upstreamModel } = alias
  const slotKey = createSlotKey(profileId, upstreamModel)
  const route: AliasRoute = { profileId, providerKind, upstreamModel, slotKey }
  if (wire !== undefined) route.wire = wire
  if (isStateOurs(profile, alias)) route.isStateOurs = true
  const refusal = findRefusal(set, profile, alias)
  if (refusal !== undefined) route.refusal = refusal
  const capabilities = readCapabilities(profile, alias)
  if (capabilities !== undefined) route.capabilities = capabilities
  if (tokenCounting === 'off') route.isTokenCountOff = true
  return route
}

/** On the Responses wire the provider keeps the state unless the profile says otherwise; the ids of one of several deployments are no use to the others. */
function isStateOurs(
  { wire, state }: ProviderProfile,
  { targets }: Partial<Pick<ModelAlias, 'targets'>> = {}
): boolean {
  return wire === 'responses' && (state ?? (targets === undefined ? 'provider' : 'gateway')) === 'gateway'
}

/** The route of an alias with several deployments: that of the first one, with the list of all of them. */
function addTargets(
  route: AliasRoute,
  alias: ModelAlias,
  { set, configRevision }: { set: ProfileSet; configRevision: string }
): AliasRoute {
  if (alias.targets === undefined || !isExternalKind(route.providerKind)) return route
  const profiles = new Map(set.profiles.map(profile => [profile.profileId, profile]))
  const targets = alias.targets.map(({ profileId, upstreamModel, weight, priority }): TargetRoute => {
    const profile = profiles.get(profileId)
    if (profile === undefined) throw new Error(`No profile has the id ${profileId}.`)
    const slotKey = createSlotKey(profileId, upstreamModel)
    const target: TargetRoute = { profileId, upstreamModel, weight, priority, slotKey }
    if (set.origin !== 'file') return target
    const revisions = { configRevision, profileRevision: computeProfileRevision(profile) }
    return { ...target, evidence: createRouteEvidence(profile, { ...alias, upstreamModel }, revisions) }
  })
  const [first] = targets
  if (first === undefined) return route
  const { profileId, upstreamModel, slotKey, evidence } = first
  const added: AliasRoute = { ...route, profileId, upstreamModel, slotKey, targets, ...(evidence && { evidence }) }
  // The media of a request are judged before one of the targets is chosen.
  const isAnyLocal = targets.some(({ profileId: id }) => isLocal(profiles.get(id)))
  if (isAnyLocal && added.capabilities !== undefined) added.capabilities = { ...added.capabilities, isLocal: true }
  return added
}

function findRefusal(
  set: ProfileSet,
  profile: ProviderProfile,
  { enabled, supportStatus }: ModelAlias
): AliasRefusal | undefined {
  if (!enabled) return 'alias_disabled'
  if (requiresNewerSchema(set, profile)) return 'alias_requires_profile_v3'
  return supportStatus === 'blocked' ? 'alias_blocked' : undefined
}

/** What an external alias may be asked for. The native upstream needs no declaration: its face says what it accepts. */
function readCapabilities(
  profile: ProviderProfile,
  { capabilities, outputLimitField, unsupported = profile.unsupported }: ModelAlias
): DeclaredCapabilities | undefined {
  if (!isExternalKind(profile.providerKind) || capabilities === undefined) return undefined
  const { features, limits } = capabilities
  return declareCapabilities(
    { features: expandFeatures(features), limits },
    { ...(outputLimitField !== undefined && { outputLimitField }), ...readTraits(profile, unsupported) }
  )
}

function readTraits(profile: ProviderProfile, unsupported = profile.unsupported): ProfileTraits {
  return {
    ...(unsupported === 'refuse' && { refusesUnsupported: true as const }),
    ...(isLocal(profile) && { isLocal: true as const })
  }
}

/** Whether a provider may reach what the clients cannot: it runs on this machine or in a private network (decisions.md 105). */
function isLocal(profile: ProviderProfile | undefined): boolean {
  return profile !== undefined && readAddressPolicy(profile) !== 'public'
}

function createDynamicRoute(
  { profileId, providerKind }: ProviderProfile,
  settings: RouteSettings,
  origin: ProfileSet['origin']
): DynamicRoute {
  const { passModel, embeddings, upstream } = settings
  const route: DynamicRoute = { profileId, providerKind, passModel, defaultEmbeddingsModel: embeddings }
  if (upstream.model !== undefined) route.defaultModel = upstream.model
  if (origin === 'file') route.refusesUnlisted = true
  return route
}
