// A model in the model lists of all client protocols: from the upstream's catalog, or a public name of the profile file.

import type { CatalogModel } from '../../../shared/catalog.ts'

/** A public name of the profile file that stands for a model of another provider. */
export interface AliasModel {
  readonly id: string
  readonly providerKind: string
  /** RFC 3339 UTC: when the profile file was loaded. */
  readonly discoveredAt: string
  readonly deprecated: boolean
  /** Declared limits in tokens. */
  readonly inputTokenLimit?: number
  readonly outputTokenLimit?: number
  /** False when the profile switches token counting off. */
  readonly canCountTokens: boolean
}

export type ListedModel = CatalogModel | AliasModel

export function isCatalogModel(model: ListedModel): model is CatalogModel {
  return 'providerMetadata' in model
}
