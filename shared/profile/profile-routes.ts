// What follows from a set of profiles for routing: the dynamic profile, the declared aliases, and
// which of them this build can execute (bridge.md 4.2, 7.2 and 9.1).
import { NATIVE_PROVIDER_KIND } from './native-profile.ts'
import type { AliasTarget, ModelAlias, ModelCapabilities, ProfileSet, ProviderProfile } from './profile.ts'

/** An alias with its profile. */
export interface DeclaredAlias {
  readonly profile: ProviderProfile
  readonly alias: ModelAlias
}

/** The schema that an alias of an external provider needs to be executed. */
const EXTERNAL_ROUTES_SCHEMA = 'gateway.provider-profiles.v3' satisfies ProfileSet['schemaVersion']

/**
 * The native profile whose provider is asked for its models: it serves every model without an alias
 * and without the prefix of another profile. It is the one that says so, else the first native one:
 * its aliases are names and defaults beside the models that its credential sees, no list of them
 * (specification.md 2.3).
 */
export function findDynamicProfile({ profiles }: Pick<ProfileSet, 'profiles'>): ProviderProfile | undefined {
  const native = profiles.filter(({ providerKind }) => !isExternalKind(providerKind))
  return native.find(({ modelInventory }) => modelInventory === 'dynamic') ?? native[0]
}

/** An external profile whose provider is asked for its models: they are public as prefix + id (decisions.md 88). */
export type PrefixedProfile = ProviderProfile & {
  readonly publicPrefix: string
  readonly defaultCapabilities: ModelCapabilities
}

/** The external profiles with a dynamic inventory, in the order of the file. */
export function listPrefixedProfiles({ profiles }: Pick<ProfileSet, 'profiles'>): PrefixedProfile[] {
  return profiles.filter(
    (profile): profile is PrefixedProfile =>
      isExternalKind(profile.providerKind) &&
      profile.modelInventory === 'dynamic' &&
      profile.publicPrefix !== undefined &&
      profile.defaultCapabilities !== undefined
  )
}

/** Every profile whose provider is asked for its models, in the order of the file. */
export function listDiscoveredProfiles(set: Pick<ProfileSet, 'profiles'>): ProviderProfile[] {
  const asked = new Set<ProviderProfile | undefined>([findDynamicProfile(set), ...listPrefixedProfiles(set)])
  return set.profiles.filter(profile => asked.has(profile))
}

/** The place whose prefix a public name begins with: the longest one, where one prefix begins with another. */
export function findPrefixed<Place extends { readonly publicPrefix: string }>(
  places: readonly Place[],
  publicName: string
): Place | undefined {
  let found: Place | undefined
  for (const place of places) {
    if (!publicName.startsWith(place.publicPrefix)) continue
    if (found === undefined || place.publicPrefix.length > found.publicPrefix.length) found = place
  }
  return found
}

/** Every alias in the order of the file, disabled ones included. */
export function listAliases({ profiles }: Pick<ProfileSet, 'profiles'>): DeclaredAlias[] {
  return profiles.flatMap(profile => profile.models.map(alias => ({ profile, alias })))
}

/** Where the requests of an alias may go: its targets, else the model of its own profile (decisions.md 116). */
export function listDestinations(
  { profileId }: Pick<ProviderProfile, 'profileId'>,
  { upstreamModel, targets }: Pick<ModelAlias, 'upstreamModel' | 'targets'>
): ReadonlyArray<Pick<AliasTarget, 'profileId' | 'upstreamModel'>> {
  return targets ?? [{ profileId, upstreamModel }]
}

/** Whether a provider of this kind is external: every kind but the native upstream's. */
export function isExternalKind(providerKind: string): boolean {
  return providerKind !== NATIVE_PROVIDER_KIND
}

/** Whether the file's schema is too old to execute the profile's aliases. Such a file starts, and their requests are refused. */
export function requiresNewerSchema(
  { origin, schemaVersion }: Pick<ProfileSet, 'origin' | 'schemaVersion'>,
  { providerKind }: Pick<ProviderProfile, 'providerKind'>
): boolean {
  return origin === 'file' && isExternalKind(providerKind) && schemaVersion !== EXTERNAL_ROUTES_SCHEMA
}

/**
 * The profiles of a set that have a route: those that are asked for their models, those with an
 * enabled alias of their own, and those to which an enabled alias leads (decisions.md 88 and 116).
 */
export function listRouted(set: Pick<ProfileSet, 'profiles'>): ProviderProfile[] {
  const discovered = listDiscoveredProfiles(set)
  const enabled = listAliases(set).filter(({ alias }) => alias.enabled)
  const ids = new Set(
    enabled.flatMap(({ profile, alias }) => alias.targets?.map(({ profileId }) => profileId) ?? [profile.profileId])
  )
  return set.profiles.filter(profile => discovered.includes(profile) || ids.has(profile.profileId))
}
