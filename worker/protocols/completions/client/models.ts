// Writes models in the family's form, and in the short form of LiteLLM-style model info (completions.md 11, bridge.md 6.3).

import type { CatalogModel } from '../../../../shared/catalog.ts'
import type { JsonObject } from '../../../../shared/json.ts'
import { type AliasModel, isCatalogModel, type ListedModel } from '../../shared/listed-model.ts'

export type CompletionsModel = {
  id: string
  object: 'model'
  /** Seconds since the epoch. */
  created: number
  owned_by: string
  metadata: { type: string }
  [extension: string]: unknown
}

export type ModelInfo = { model_name: string; litellm_params: { model: string }; model_info: { id: string } }

/** Writes the list in the given order. */
export function writeModelList(models: readonly ListedModel[]): { object: 'list'; data: CompletionsModel[] } {
  return { object: 'list', data: models.map(writeModel) }
}

/** Writes one model. The provider's other members are kept, but cannot replace the family's own members. */
export function writeModel(model: ListedModel): CompletionsModel {
  const { extensions, type, owner } = isCatalogModel(model) ? describeCatalogModel(model) : describeAlias(model)
  return {
    ...extensions,
    id: model.id,
    object: 'model',
    created: Math.floor(Date.parse(model.discoveredAt) / 1000),
    owned_by: owner,
    ...(model.deprecated ? { deprecated: true } : {}),
    metadata: { type }
  }
}

export function writeModelInfoList(models: readonly ListedModel[]): { data: ModelInfo[] } {
  return { data: models.map(writeModelInfo) }
}

export function writeModelInfo(model: Pick<ListedModel, 'id'>): ModelInfo {
  return { model_name: model.id, litellm_params: { model: model.id }, model_info: { id: model.id } }
}

interface Description {
  extensions: JsonObject
  type: string
  owner: string
}

function describeCatalogModel(model: CatalogModel): Description {
  // A shutdown date of null is omitted: it only says that no end of the model is announced.
  const { shutdown_date: shutdownDate, ...metadata } = model.providerMetadata
  return {
    extensions: {
      ...metadata,
      ...(shutdownDate === undefined || shutdownDate === null ? {} : { shutdown_date: shutdownDate }),
      ...(model.available ? {} : { available: false })
    },
    type: model.modelType ?? (/embedding/i.test(model.id) ? 'embedder' : 'chat'),
    owner: model.ownedBy ?? model.providerKind
  }
}

function describeAlias(model: AliasModel): Description {
  const methods = ['generateContent', 'streamGenerateContent', ...(model.canCountTokens ? ['countTokens'] : [])]
  return {
    extensions: {
      type: 'model',
      display_name: model.id,
      description: 'Model served by the gateway.',
      ...(model.inputTokenLimit === undefined ? {} : { input_token_limit: model.inputTokenLimit }),
      ...(model.outputTokenLimit === undefined ? {} : { output_token_limit: model.outputTokenLimit }),
      supportedGenerationMethods: methods
    },
    type: 'chat',
    owner: model.providerKind
  }
}
