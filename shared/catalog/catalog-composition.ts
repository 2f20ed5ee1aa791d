// Composes the catalog of a gateway: what the profiles discover, and the aliases that the profile
// file declares (bridge.md 5.4 and 6.3; decisions.md 16 and 88).

import { compareCodePoints } from '../json.ts'
import { NATIVE_PROVIDER_KIND } from '../profile/native-profile.ts'
import type { ProfileSet, ProviderProfile } from '../profile/profile.ts'
import {
  type DeclaredAlias,
  findPrefixed,
  isExternalKind,
  listAliases,
  listDiscoveredProfiles,
  listPrefixedProfiles,
  requiresNewerSchema
} from '../profile/profile-routes.ts'
import { revisionOf } from '../revision.ts'
import {
  CATALOG_SCHEMA_VERSION,
  type CatalogModel,
  type CatalogSnapshot,
  createCatalogSnapshot,
  describeInventory,
  type InventoryState,
  type ProfileInventory
} from './catalog.ts'
import { describeAlias, describePrefixed } from './catalog-models.ts'

/** The profile id of a catalog that several profiles fill. */
export const REGISTRY_PROFILE_ID = 'provider-registry'

/** The inventories that are known, by profile id. */
export type Inventories = ReadonlyMap<string, ProfileInventory>

export interface CatalogComposition {
  /** The ids of the profiles that are asked for their models, in the order of the file. */
  readonly discovered: readonly string[]
  /** The catalog for what is known; undefined where nothing can be shown before the native upstream was asked for its models. */
  compose(inventories: Inventories): CatalogSnapshot | undefined
}

export interface CompositionOptions {
  readonly configRevision: string
  /** Start of the gateway in milliseconds since the epoch: the creation time of declared aliases. */
  readonly startedAtMs: number
}

/**
 * The composition for a set of profiles. Without a profile that is asked for its models the catalog is complete from the start. A file
 * shows its aliases after the discovered models; a gateway without a file shows what its upstream lists.
 */
export function createCatalogComposition(profiles: ProfileSet, options: CompositionOptions): CatalogComposition {
  const discovered = listDiscoveredProfiles(profiles)
  const [first] = discovered
  if (first === undefined) {
    const snapshot = createStaticSnapshot(profiles, options)
    return { discovered: [], compose: () => snapshot }
  }
  const isAlone = discovered.length === 1 && !isExternalKind(first.providerKind)
  if (isAlone && (profiles.origin === 'settings' || listAliases(profiles).length === 0)) {
    return createDiscoveredComposition(first)
  }
  return {
    discovered: discovered.map(({ profileId }) => profileId),
    compose: createMixedComposer(profiles, discovered, options)
  }
}

/** The composition of a catalog that shows only what one profile of the native kind discovers. */
export function createDiscoveredComposition({
  profileId,
  providerKind
}: Pick<ProviderProfile, 'profileId' | 'providerKind'>): CatalogComposition {
  return {
    discovered: [profileId],
    compose(inventories) {
      const inventory = inventories.get(profileId)
      return inventory && createCatalogSnapshot(inventory, { profileId, providerKind })
    }
  }
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
    inventories: [],
    models
  }
}

/** A model before it belongs to a snapshot. */
type ShownModel = Omit<CatalogModel, 'inventoryRevision'>

/**
 * Composes the models of several profiles: what was discovered, in the order of the file, then the aliases by name. An alias decides what
 * its id shows: one with the id of a discovered model takes that model's place, and the id of a disabled alias is not shown, because
 * requests for it are refused. A name that begins with a prefix belongs to the profile of the longest one.
 */
function createMixedComposer(
  profiles: ProfileSet,
  discovered: readonly ProviderProfile[],
  { configRevision, startedAtMs }: CompositionOptions
): CatalogComposition['compose'] {
  const prefixed = listPrefixedProfiles(profiles)
  const aliases = listEnabledAliases(profiles)
  const hiddenIds = new Set(listAliases(profiles).flatMap(({ alias }) => (alias.enabled ? [] : alias.publicAlias)))
  const servesOthers =
    prefixed.length > 0 ||
    aliases.some(({ profile }) => isExternalKind(profile.providerKind) && !requiresNewerSchema(profiles, profile))
  const startedAt = new Date(startedAtMs).toISOString()

  function listDiscovered(profile: ProviderProfile, inventory: ProfileInventory): ShownModel[] {
    const prefixedProfile = prefixed.find(({ profileId }) => profileId === profile.profileId)
    const { profileId: providerProfileId, providerKind } = profile
    const { stale, discoveredAt } = inventory
    return inventory.models.entries
      .map(entry =>
        prefixedProfile === undefined
          ? { ...entry, providerKind, providerProfileId, discoveredAt, stale }
          : { ...describePrefixed(prefixedProfile, entry), discoveredAt, stale }
      )
      .filter(({ id }) => !hiddenIds.has(id) && findPrefixed(prefixed, id)?.profileId === prefixedProfile?.profileId)
  }

  return inventories => {
    if (!servesOthers && inventories.size === 0) return undefined
    const states = discovered.map(({ profileId }) => describeInventory(profileId, inventories.get(profileId)))
    const shown = new Map<string, ShownModel>()
    for (const profile of discovered) {
      const inventory = inventories.get(profile.profileId)
      if (inventory === undefined) continue
      for (const model of listDiscovered(profile, inventory)) shown.set(model.id, model)
    }
    for (const declared of aliases) shown.set(declared.alias.publicAlias, showAlias(declared, inventories, startedAtMs))
    const revisions = states.map(({ inventoryRevision }) => inventoryRevision)
    const inventoryRevision = revisionOf([...revisions, configRevision], { keepNulls: true })
    const stale = states.some(({ state }) => state !== 'fresh')
    return {
      schemaVersion: CATALOG_SCHEMA_VERSION,
      providerProfileId: REGISTRY_PROFILE_ID,
      inventoryRevision,
      discoveredAt: findEarliest(states, 'discoveredAt') ?? startedAt,
      expiresAt: findEarliest(states, 'expiresAt') ?? startedAt,
      stale,
      source: stale ? 'stale_cache' : 'provider_api',
      inventories: states,
      models: [...shown.values()].map(model => ({ ...model, inventoryRevision }))
    }
  }
}

/** An alias of the native upstream shows the data of its model where that is known; every other one what the file declares. */
function showAlias({ profile, alias }: DeclaredAlias, inventories: Inventories, startedAtMs: number): ShownModel {
  const { profileId: providerProfileId, providerKind } = profile
  const inventory = inventories.get(providerProfileId)
  const stale = inventory?.stale === true
  const entry =
    providerKind === NATIVE_PROVIDER_KIND
      ? inventory?.models.entries.find(({ id }) => id === alias.upstreamModel)
      : undefined
  if (entry === undefined || inventory === undefined) {
    return { ...describeAlias(profile, alias, startedAtMs), providerProfileId, stale }
  }
  return {
    ...entry,
    id: alias.publicAlias,
    deprecated: entry.deprecated || alias.deprecated,
    providerKind,
    providerProfileId,
    discoveredAt: inventory.discoveredAt,
    stale
  }
}

/** The earliest time, of those that are known: all are RFC 3339 in UTC, which sorts as text. */
function findEarliest(states: readonly InventoryState[], time: 'discoveredAt' | 'expiresAt'): string | undefined {
  return states
    .flatMap(state => state[time] ?? [])
    .sort(compareCodePoints)
    .at(0)
}

function listEnabledAliases(profiles: ProfileSet): DeclaredAlias[] {
  return listAliases(profiles)
    .filter(({ alias }) => alias.enabled)
    .sort((left, right) => compareCodePoints(left.alias.publicAlias, right.alias.publicAlias))
}
