// Reads the model list of the content wire, page by page (content.md 5.6, providers.md 3). Google GenAI
// has `models` with `inputTokenLimit`, `outputTokenLimit` and `supportedGenerationMethods`; Vertex AI has
// `publisherModels`, whose names are `publishers/google/models/<id>`, and states none of these.

import { EXTERNAL_BOUNDS } from '../../../../shared/catalog/catalog.ts'
import { readTokenLimit, writeFacts } from '../../../../shared/catalog/model-facts.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'
import type { ModelListCodec } from '../../provider-face.ts'
import {
  readCursor,
  readExternalModel,
  readModelItems,
  readWords,
  type StatedModel,
  withQuery
} from '../../shared/model-list.ts'
import { MODEL_PREFIX } from './endpoints.ts'
import type { ContentCompatibleOptions } from './options.ts'

/** The largest page of the wire; a service with smaller ones cuts the number itself. */
const PAGE_SIZE = '1000'

export const contentCompatibleModelList: ModelListCodec<ContentCompatibleOptions> = {
  bounds: EXTERNAL_BOUNDS,
  write: ({ modelsPath }, cursor) => ({
    method: 'GET',
    path: withQuery(modelsPath, { pageSize: PAGE_SIZE, pageToken: cursor }),
    headers: ['accept', 'application/json']
  }),
  read(body) {
    const page = isJsonObject(body) ? body : {}
    const models = readModelItems(listOf(page), item => readExternalModel(item, readId, describe))
    const cursor = readCursor(page.nextPageToken)
    return cursor === undefined ? { models } : { models, cursor }
  }
}

/** A page of which nothing may be shown has no list, only the token of the next one. */
function listOf(page: JsonObject): JsonValue | undefined {
  return page.models ?? page.publisherModels ?? (page.nextPageToken === undefined ? undefined : [])
}

/** The id behind the collection that the name begins with. */
function readId({ name }: JsonObject): JsonValue | undefined {
  if (typeof name !== 'string') return undefined
  const publisher = /^publishers\/[^/]+\/models\//.exec(name)?.[0] ?? MODEL_PREFIX
  return name.startsWith(publisher) ? name.slice(publisher.length) : name
}

function describe(model: JsonObject): StatedModel {
  return {
    modelType: readType(model.supportedGenerationMethods),
    facts: writeFacts({
      contextWindow: readTokenLimit(model.inputTokenLimit),
      outputTokensMax: readTokenLimit(model.outputTokenLimit)
    })
  }
}

function readType(methods: JsonValue | undefined): string | null {
  const words = readWords(methods) ?? []
  if (words.includes('generateContent')) return 'chat'
  return words.some(word => /embed/i.test(word)) ? 'embedder' : null
}
