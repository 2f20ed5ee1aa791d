// Composes the catalog of a gateway: what the dynamic profile discovers, and the aliases that the
// profile file declares (bridge.md 5.4 and 6.3; decisions.md 16).
import {
  CATALOG_SCHEMA_VERSION,
  type CatalogModel,
  type CatalogModels,
  type CatalogSnapshot,
  createCatalogSnapshot,
  type DeclaredModel
} from './catalog.ts'
import { compareCodePoints } from './json.ts'
import type { ModelAlias, ProfileSet, ProviderProfile } from './profile.ts'
import { findDynamicProfile, listAliases } from './profile-routes.ts'
import { revisionOf } from './revision.ts'

/** The profile id of a catalog that several profiles fill. */
export const REGISTRY_PROFILE_ID = 'provider-registry'

export interface CatalogComposition {
  /** The complete catalog at the start; undefined where a profile has to be asked for its models first. */
  readonly initial: CatalogSnapshot | undefined
  /** The catalog after a discovery at `nowMs`, in milliseconds since the epoch. */
  compose(models: CatalogModels, nowMs: number): CatalogSnapshot
}

export interface CompositionOptions {
  readonly configRevision: string
  /** Start of the gateway in milliseconds since the epoch: the creation time of declared aliases. */
  readonly startedAtMs: number
}

/**
 * The composition for a set of profiles. Without a dynamic profile the catalog is complete from the start. A file that declares aliases
 * beside a dynamic profile shows them after the discovered models; everything else shows what the dynamic profile discovers.
 */
export function createCatalogComposition(profiles: ProfileSet, options: CompositionOptions): CatalogComposition {
  const dynamic = findDynamicProfile(profiles)
  if (dynamic === undefined) {
    return { initial: createStaticSnapshot(profiles, options), compose: refuseDiscovery }
  }
  const discovered = createDiscoveredComposition(dynamic)
  if (profiles.origin === 'settings' || listAliases(profiles).length === 0) return discovered
  return {
    initial: undefined,
    compose: (models, nowMs) => addAliases(discovered.compose(models, nowMs), { profiles, dynamic, ...options })
  }
}

/** The composition of a catalog that shows only what one profile discovers. */
export function createDiscoveredComposition({
  profileId,
  providerKind
}: Pick<ProviderProfile, 'profileId' | 'providerKind'>): CatalogComposition {
  return {
    initial: undefined,
    compose: (models, nowMs) => createCatalogSnapshot(models, { providerProfileId: profileId, providerKind, nowMs })
  }
}

function refuseDiscovery(): never {
  throw new Error('No profile of this catalog discovers models.')
}

/** The catalog of a file whose profiles are all static: the aliases by name, never older than the process. */
function createStaticSnapshot(
  profiles: ProfileSet,
  { configRevision, startedAtMs }: CompositionOptions
): CatalogSnapshot {
  const membership = { providerProfileId: REGISTRY_PROFILE_ID, inventoryRevision: configRevision, stale: false }
  const models = listEnabledAliases(profiles).map(({ profile, alias }) => ({
    ...describeAlias(profile, alias, startedAtMs),
    ...membership
  }))
  return {
    schemaVersion: CATALOG_SCHEMA_VERSION,
    ...membership,
    discoveredAt: 'process-startup',
    expiresAt: 'process-restart',
    source: 'profile_file',
    models
  }
}

/**
 * Adds the aliases to a discovered snapshot. An alias decides what its id shows: one with the id of a discovered model takes that model's
 * place, and the id of a disabled alias is not shown, because requests for it are refused.
 */
function addAliases(
  discovered: CatalogSnapshot,
  {
    profiles,
    dynamic,
    configRevision,
    startedAtMs
  }: { profiles: ProfileSet; dynamic: ProviderProfile } & CompositionOptions
): CatalogSnapshot {
  const inventoryRevision = revisionOf([discovered.inventoryRevision, configRevision], { keepNulls: true })
  const upstreamModels = new Map(discovered.models.map(model => [model.id, model]))
  const aliases = new Map<string, CatalogModel>()
  for (const { profile, alias } of listEnabledAliases(profiles)) {
    const upstreamModel = profile === dynamic ? upstreamModels.get(alias.upstreamModel) : undefined
    const model =
      upstreamModel === undefined
        ? {
            ...describeAlias(profile, alias, startedAtMs),
            providerProfileId: profile.profileId,
            stale: discovered.stale
          }
        : { ...upstreamModel, id: alias.publicAlias, deprecated: upstreamModel.deprecated || alias.deprecated }
    aliases.set(alias.publicAlias, { ...model, inventoryRevision })
  }
  const hiddenIds = new Set(listAliases(profiles).flatMap(({ alias }) => (alias.enabled ? [] : alias.publicAlias)))
  const models = discovered.models
    .filter(({ id }) => !hiddenIds.has(id))
    .map(model => {
      const alias = aliases.get(model.id)
      aliases.delete(model.id)
      return alias ?? { ...model, inventoryRevision }
    })
  return {
    ...discovered,
    providerProfileId: REGISTRY_PROFILE_ID,
    inventoryRevision,
    models: [...models, ...aliases.values()]
  }
}

function listEnabledAliases(profiles: ProfileSet): Array<{ profile: ProviderProfile; alias: ModelAlias }> {
  return listAliases(profiles)
    .filter(({ alias }) => alias.enabled)
    .sort((left, right) => compareCodePoints(left.alias.publicAlias, right.alias.publicAlias))
}

/** An alias as its file describes it. */
function describeAlias(
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
    declared: describeLimits(capabilities, tokenCounting !== 'off')
  }
}

function describeLimits(capabilities: ModelAlias['capabilities'], canCountTokens: boolean): DeclaredModel {
  if (capabilities === undefined) return { canCountTokens }
  const { contextWindow, maxInputTokens, maxOutputTokens } = capabilities.limits
  return {
    inputTokenLimit: maxInputTokens ?? contextWindow,
    ...(maxOutputTokens !== undefined && { outputTokenLimit: maxOutputTokens }),
    canCountTokens
  }
}
