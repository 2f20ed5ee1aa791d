// Snapshots of the catalog made by hand, as one discovery of one profile gives them.

import {
  type CatalogEntry,
  type CatalogModels,
  type CatalogSnapshot,
  createCatalogSnapshot,
  createInventory
} from '../../shared/catalog/catalog.ts'
import type { ProviderKind } from '../../shared/support/support-vocabulary.ts'

/** @param nowMs time of the discovery in milliseconds since the epoch. */
export function snapshotOf(
  models: CatalogModels,
  options: { providerProfileId: string; providerKind: ProviderKind; nowMs: number; stale?: boolean }
): CatalogSnapshot {
  const { providerProfileId: profileId, providerKind, nowMs, stale = false } = options
  return createCatalogSnapshot({ ...createInventory(profileId, models, nowMs), stale }, { profileId, providerKind })
}

/** A model as the list of an external provider gives it. */
export function entryOf(id: string, changes: Partial<CatalogEntry> = {}): CatalogEntry {
  return {
    id,
    ownedBy: null,
    modelType: null,
    available: true,
    deprecated: false,
    providerMetadata: {},
    ...changes
  }
}

export const NOTHING_LEFT_OUT = { skippedCount: 0, duplicateCount: 0 }
