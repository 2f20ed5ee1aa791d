// Writes models in the form of the messages protocol, page by page (messages.md 7.4).

import type { CatalogModel } from '../../../../shared/catalog/catalog.ts'
import { invalidRequest } from '../../../normalized/index.ts'
import type { MessagesModel, MessagesModelPage } from './schema.ts'

/** Which part of the list a client asks for. */
export interface ModelPageQuery {
  /** How many models, from 1 to `PAGE_MODELS_MAX`. */
  limit: number
  afterId?: string
  beforeId?: string
  /** The lifecycle stages of the models to list; absent lists all models. */
  lifecycles?: string[]
}

const PAGE_MODELS_DEFAULT = 20
const PAGE_MODELS_MAX = 1000

/** Providers do not report a release date; the protocol writes an unknown date as the epoch. */
const UNKNOWN_RELEASE = '1970-01-01T00:00:00Z'

/** Reads the parsed query string. A limit that is no positive integer counts as absent, a larger one is cut to the maximum. */
export function readModelPageQuery(query: Readonly<Record<string, unknown>>): ModelPageQuery {
  const limit = Number(readText(query.limit))
  const afterId = readText(query.after_id)
  const beforeId = readText(query.before_id)
  // The SDK writes a list with brackets behind the name.
  const lifecycles = [query['lifecycle[]'], query.lifecycle].flat().filter(word => typeof word === 'string')
  return {
    limit: Number.isInteger(limit) && limit > 0 ? Math.min(limit, PAGE_MODELS_MAX) : PAGE_MODELS_DEFAULT,
    ...(afterId === undefined ? {} : { afterId }),
    ...(beforeId === undefined ? {} : { beforeId }),
    ...(lifecycles.length === 0 ? {} : { lifecycles })
  }
}

/**
 * Writes one page of the list in the order of the list: the first models after `afterId`, or the last models before `beforeId`.
 * Paging in either direction lists every model once. Raises `invalid_request` for a cursor that is not an id of the list.
 */
export function writeModelPage(models: readonly CatalogModel[], query: ModelPageQuery): MessagesModelPage {
  const { lifecycles } = query
  const listed = lifecycles === undefined ? models : models.filter(model => lifecycles.includes(findLifecycle(model)))
  const start = query.afterId === undefined ? 0 : findCursor(listed, 'after_id', query.afterId) + 1
  const end = query.beforeId === undefined ? listed.length : findCursor(listed, 'before_id', query.beforeId)
  const range = listed.slice(start, end)
  const page = query.beforeId === undefined ? range.slice(0, query.limit) : range.slice(-query.limit)
  return {
    data: page.map(writeModel),
    has_more: page.length < range.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null
  }
}

/** Writes one model with every member that the protocol requires. */
export function writeModel(model: CatalogModel): MessagesModel {
  return {
    id: model.id,
    type: 'model',
    display_name: model.id,
    created_at: UNKNOWN_RELEASE,
    capabilities: null,
    lifecycle: findLifecycle(model),
    deprecated_at: null,
    retires_at: null,
    line: null,
    max_input_tokens: model.declared?.inputTokenLimit ?? null,
    max_tokens: model.declared?.outputTokenLimit ?? null
  }
}

function findCursor(listed: readonly CatalogModel[], param: 'after_id' | 'before_id', id: string): number {
  const index = listed.findIndex(model => model.id === id)
  if (index < 0) throw invalidRequest(param, `'${param}' must be the id of a listed model.`)
  return index
}

function findLifecycle(model: CatalogModel): MessagesModel['lifecycle'] {
  return model.deprecated ? 'deprecated' : 'active'
}

/** The text of a query parameter, the first one if it is repeated; an empty text counts as absent. */
function readText(value: unknown): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' && first !== '' ? first : undefined
}
