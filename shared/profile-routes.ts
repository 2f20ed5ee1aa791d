// What follows from a set of profiles for routing: the dynamic profile, the declared aliases, and
// which of them this build can execute (bridge.md 4.2, 7.2 and 9.1).
import { NATIVE_PROVIDER_KIND } from './native-profile.ts'
import type { ModelAlias, ProfileSet, ProviderProfile } from './profile.ts'

/** An alias with its profile. */
export interface DeclaredAlias {
  readonly profile: ProviderProfile
  readonly alias: ModelAlias
}

/** The schema that an alias of an external provider needs to be executed. */
const EXTERNAL_ROUTES_SCHEMA = 'gateway.provider-profiles.v3' satisfies ProfileSet['schemaVersion']

/**
 * The native profile whose provider is asked for its models; a set has one at most. It is the one that
 * says so, else the first one: its aliases are names and defaults beside the models that its credential
 * sees, no list of them (specification.md 2.3).
 */
export function findDynamicProfile({ profiles }: Pick<ProfileSet, 'profiles'>): ProviderProfile | undefined {
  const natives = profiles.filter(({ providerKind }) => !isExternalKind(providerKind))
  return natives.find(({ modelInventory }) => modelInventory === 'dynamic') ?? natives[0]
}

/** Every alias in the order of the file, disabled ones included. */
export function listAliases({ profiles }: Pick<ProfileSet, 'profiles'>): DeclaredAlias[] {
  return profiles.flatMap(profile => profile.models.map(alias => ({ profile, alias })))
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
  const dynamic = findDynamicProfile(set)
  const enabled = listAliases(set).filter(({ alias }) => alias.enabled)
  const ids = new Set(
    enabled.flatMap(({ profile, alias }) => alias.targets?.map(({ profileId }) => profileId) ?? [profile.profileId])
  )
  return set.profiles.filter(
    profile => profile === dynamic || profile.modelInventory === 'dynamic' || ids.has(profile.profileId)
  )
}
