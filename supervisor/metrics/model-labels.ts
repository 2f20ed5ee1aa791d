// The `model` label of concurrency figures: an id of the catalog, an alias, or a name that the
// operator configured (operations.md 7.4). A slot key holds a folded name, and clients may write
// any.

import type { CatalogSnapshot } from '../../shared/catalog/catalog.ts'
import { createModelBound, OTHER_MODEL } from '../../shared/metrics/limits.ts'
import { createSlotKey, foldModelName, modelOf } from '../../shared/model-slots.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import { listAliases, listDestinations, listPrefixedProfiles } from '../../shared/profile/profile-routes.ts'

/** The names as of one catalog. */
export interface ModelNames {
  /** The label of a slot key; `other` for a model that neither catalog, profiles nor settings name. */
  ofKey(key: string): string
  /** The configured limits by label. */
  readonly limits: ReadonlyMap<string, number>
}

export interface ModelNaming {
  namesFor(catalog: CatalogSnapshot | undefined): ModelNames
}

/** @param namesMax distinct labels; further models get `other`. */
export function createModelNaming(options: {
  readonly profiles: Pick<ProfileSet, 'profiles'>
  readonly configured: Readonly<Record<string, number>>
  readonly namesMax: number
}): ModelNaming {
  const bound = createModelBound(options.namesMax)
  const aliases = listAliases(options.profiles).filter(({ alias }) => alias.enabled)
  const prefixes = new Map(
    listPrefixedProfiles(options.profiles).map(({ profileId, publicPrefix }) => [profileId, publicPrefix])
  )
  let known: { catalog: CatalogSnapshot | undefined; names: ModelNames } | undefined

  function collectNames(catalog: CatalogSnapshot | undefined): ModelNames {
    const byKey = new Map<string, string>()
    const byFoldedName = new Map<string, string>()
    const add = (map: Map<string, string>, key: string, name: string) => map.has(key) || map.set(key, name)
    for (const { profile, alias } of aliases) {
      for (const { profileId, upstreamModel } of listDestinations(profile, alias)) {
        add(byKey, createSlotKey(profileId, upstreamModel), alias.publicAlias)
      }
      add(byFoldedName, foldModelName(alias.publicAlias), alias.publicAlias)
    }
    for (const { id, providerProfileId } of catalog?.models ?? []) {
      const prefix = prefixes.get(providerProfileId) ?? ''
      add(byKey, createSlotKey(providerProfileId, id.startsWith(prefix) ? id.slice(prefix.length) : id), id)
      add(byFoldedName, foldModelName(id), id)
    }
    const limits = new Map<string, number>()
    const configuredNames = new Map<string, string>()
    for (const [name, limit] of Object.entries(options.configured)) {
      const label = bound(byFoldedName.get(foldModelName(name)) ?? name)
      limits.set(label, Math.min(limit, limits.get(label) ?? limit))
      // The key of an assistant or a stored thread is no model name and is not folded.
      add(configuredNames, foldModelName(name), label)
      add(configuredNames, name, label)
    }
    return {
      limits,
      ofKey: key => bound(byKey.get(key) ?? configuredNames.get(modelOf(key)) ?? OTHER_MODEL)
    }
  }

  return {
    namesFor(catalog) {
      if (known === undefined || known.catalog !== catalog) known = { catalog, names: collectNames(catalog) }
      return known.names
    }
  }
}
