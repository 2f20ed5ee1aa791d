// Writes models in the content protocol's form, page by page (content.md 5.6).

import type { CatalogModel } from '../../../../shared/catalog/catalog.ts'
import { invalidRequest, type JsonValue } from '../../../normalized/index.ts'
import type { ContentModel, ContentModelList } from './schema.ts'
import { readMember } from './spelling.ts'

/** The values of a query string, as the router parses them. */
export type PageQuery = Readonly<Record<string, string | string[] | undefined>>

const PAGE_SIZE_DEFAULT = 50
const PAGE_SIZE_MAX = 1000

/**
 * Writes the page that `pageSize` and `pageToken` of `query` select, in the given order. The last page has no `nextPageToken`,
 * because the SDK's pager continues while that member is present.
 * Raises `invalid_request` for a size that is no number, and for a token of another inventory.
 * @param inventoryRevision changes with the list: a token of an older list could skip or repeat models.
 */
export function writeContentModelList(
  models: readonly CatalogModel[],
  { inventoryRevision, query }: { inventoryRevision: string; query: PageQuery }
): ContentModelList {
  const size = readPageSize(readValue(query, 'pageSize'))
  const start = readPageToken(readValue(query, 'pageToken'), { inventoryRevision, count: models.length })
  const end = start + size
  const page = { models: models.slice(start, end).map(writeContentModel) }
  return end < models.length ? { ...page, nextPageToken: writePageToken(end, inventoryRevision) } : page
}

/** Writes one model. Undeclared limits are left out, because a limit of 0 would mislead an agent. */
export function writeContentModel(model: CatalogModel): ContentModel {
  return {
    name: `models/${model.id}`,
    baseModelId: model.id,
    version: '',
    displayName: model.id,
    description: 'Model served by the gateway.',
    ...writeLimits(model),
    supportedGenerationMethods: listMethods(model)
  }
}

/** Writes the list of tuned models: the gateway has none, and an empty list does not fail a client as an error would. */
export function writeTunedModelList(): { tunedModels: [] } {
  return { tunedModels: [] }
}

function writeLimits({ declared }: CatalogModel): Pick<ContentModel, 'inputTokenLimit' | 'outputTokenLimit'> {
  const { inputTokenLimit, outputTokenLimit } = declared ?? {}
  return {
    ...(inputTokenLimit === undefined ? {} : { inputTokenLimit }),
    ...(outputTokenLimit === undefined ? {} : { outputTokenLimit })
  }
}

const GENERATE_METHODS = ['generateContent', 'streamGenerateContent']
const EMBED_METHODS = ['embedContent', 'batchEmbedContents']
const COUNT_METHODS = ['countTokens']

/** The operations of a model: by the upstream's type, or by its name when the upstream has no type. */
function listMethods({ id, modelType, declared }: CatalogModel): string[] {
  if (declared?.canCountTokens === false && modelType !== 'embedder') return GENERATE_METHODS
  switch (modelType ?? guessType(id)) {
    case 'embedder':
      return EMBED_METHODS
    case 'chat':
      return [...GENERATE_METHODS, ...COUNT_METHODS]
    default:
      return COUNT_METHODS
  }
}

function guessType(id: string): 'embedder' | 'chat' | 'filter' {
  if (/embedding/i.test(id)) return 'embedder'
  return /filter|check/i.test(id) ? 'filter' : 'chat'
}

function readValue(query: PageQuery, name: string): string {
  const value: JsonValue | undefined = readMember(query, name)
  const first = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' ? first : ''
}

function readPageSize(text: string): number {
  if (text === '') return PAGE_SIZE_DEFAULT
  if (!/^\d+$/.test(text)) throw invalidRequest('pageSize', `'pageSize' must be a number.`)
  const size = Number(text)
  return size === 0 ? PAGE_SIZE_DEFAULT : Math.min(size, PAGE_SIZE_MAX)
}

function writePageToken(start: number, inventoryRevision: string): string {
  return Buffer.from(`${start}:${inventoryRevision}`, 'utf8').toString('base64url')
}

function readPageToken(token: string, inventory: { inventoryRevision: string; count: number }): number {
  if (token === '') return 0
  const text = Buffer.from(token, 'base64url').toString('utf8')
  const start = Number.parseInt(text, 10)
  // The token is written again and compared, so that only the gateway's own spelling is accepted.
  const isIssued = start > 0 && start < inventory.count && writePageToken(start, inventory.inventoryRevision) === token
  if (!isIssued) throw invalidRequest('pageToken', `'pageToken' is not of this list: ask for the first page again.`)
  return start
}
