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

/** The profile whose provider is asked for its models; a set has one at most. */
export function findDynamicProfile({ profiles }: Pick<ProfileSet, 'profiles'>): ProviderProfile | undefined {
  return profiles.find(isDynamic)
}

/** Whether the profile's provider is asked for its models. */
export function isDynamic({ modelInventory }: Pick<ProviderProfile, 'modelInventory'>): boolean {
  return modelInventory === 'dynamic'
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

/** Whether the profile has a route: it is dynamic, or has an enabled alias. */
export function hasRoute(profile: ProviderProfile): boolean {
  return isDynamic(profile) || profile.models.some(alias => alias.enabled)
}
