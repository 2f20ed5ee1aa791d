// Writes models in the family's form, and in the short form of LiteLLM-style model info (completions.md 11, bridge.md 6.3).

import type { CatalogModel, DeclaredModel } from '../../../../shared/catalog/catalog.ts'
import type { JsonObject } from '../../../../shared/json.ts'

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
export function writeModelList(models: readonly CatalogModel[]): { object: 'list'; data: CompletionsModel[] } {
  return { object: 'list', data: models.map(writeModel) }
}

/** Writes one model. The provider's other members are kept, but cannot replace the family's own members. */
export function writeModel(model: CatalogModel): CompletionsModel {
  const { id, declared, modelType } = model
  return {
    ...(declared === undefined ? describeUpstream(model) : describeAlias(model, declared)),
    id,
    object: 'model',
    created: Math.floor(Date.parse(model.discoveredAt) / 1000),
    owned_by: model.ownedBy ?? model.providerKind,
    ...(model.deprecated ? { deprecated: true } : {}),
    metadata: { type: modelType ?? (/embedding/i.test(id) ? 'embedder' : 'chat') }
  }
}

export function writeModelInfoList(models: readonly CatalogModel[]): { data: ModelInfo[] } {
  return { data: models.map(writeModelInfo) }
}

export function writeModelInfo(model: Pick<CatalogModel, 'id'>): ModelInfo {
  return { model_name: model.id, litellm_params: { model: model.id }, model_info: { id: model.id } }
}

function describeUpstream(model: CatalogModel): JsonObject {
  // A shutdown date of null is omitted: it only says that no end of the model is announced.
  const { shutdown_date: shutdownDate, ...metadata } = model.providerMetadata
  return {
    ...metadata,
    ...(shutdownDate === undefined || shutdownDate === null ? {} : { shutdown_date: shutdownDate }),
    ...(model.available ? {} : { available: false })
  }
}

function describeAlias(
  { id, modelType }: CatalogModel,
  { inputTokenLimit, outputTokenLimit, canCountTokens }: DeclaredModel
): JsonObject {
  const chatMethods = ['generateContent', 'streamGenerateContent', ...(canCountTokens ? ['countTokens'] : [])]
  return {
    type: 'model',
    display_name: id,
    description: 'Model served by the gateway.',
    ...(inputTokenLimit === undefined ? {} : { input_token_limit: inputTokenLimit }),
    ...(outputTokenLimit === undefined ? {} : { output_token_limit: outputTokenLimit }),
    supportedGenerationMethods: modelType === 'embedder' ? ['embedContent', 'batchEmbedContents'] : chatMethods
  }
}
