// What the model lists of the wires have in common.

import { type CatalogEntry, CatalogError, TEXT_CHARACTERS_MAX } from '../../../shared/catalog/catalog.ts'
import type { ModelFacts } from '../../../shared/catalog/model-facts.ts'
import { isModelName } from '../../../shared/model-name.ts'
import { GatewayError, isJsonObject, type JsonObject, type JsonValue } from '../../normalized/index.ts'

/** Reads each item of a list. Raises `provider_protocol_error` for what is no list. */
export function readModelItems<Item>(list: unknown, read: (item: JsonValue) => Item): Item[] {
  if (Array.isArray(list)) return list.map(read)
  throw new GatewayError('provider_protocol_error', { cause: new CatalogError('not_a_list') })
}

/** What a wire states about a model; what it does not state is absent or null. */
export interface StatedModel {
  ownedBy?: string | null
  modelType?: string | null
  available?: boolean
  deprecated?: boolean
  facts?: ModelFacts | undefined
}

/**
 * Reads an item of an external provider's list; undefined for one without a usable id. Other members
 * of the item are not kept: a list may hold a page of text for each of thousands of models.
 */
export function readExternalModel(
  item: JsonValue,
  findId: (item: JsonObject) => JsonValue | undefined,
  describe: (item: JsonObject) => StatedModel
): CatalogEntry | undefined {
  if (!isJsonObject(item)) return undefined
  const id = findId(item)
  if (typeof id !== 'string' || !isModelName(id)) return undefined
  const { facts, ...stated } = describe(item)
  const { ownedBy = null, modelType = null, available = true, deprecated = false } = stated
  return {
    id,
    ownedBy: keepText(ownedBy),
    modelType: keepText(modelType),
    available,
    deprecated,
    providerMetadata: {},
    ...(facts !== undefined && { facts })
  }
}

/** A text of a list, bounded; null for anything else. */
export function keepText(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' && value.length <= TEXT_CHARACTERS_MAX ? value : null
}

/** A cursor as a provider writes it; undefined for what is none. */
export function readCursor(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= CURSOR_CHARACTERS_MAX ? value : undefined
}

const CURSOR_CHARACTERS_MAX = 4096

/** A list of words; undefined for what is none. */
export function readWords(value: JsonValue | undefined): string[] | undefined {
  return Array.isArray(value) ? value.filter(word => typeof word === 'string') : undefined
}

/** The path with the parameters that are given. */
export function withQuery(path: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value)
  return query.size === 0 ? path : `${path}?${query}`
}
