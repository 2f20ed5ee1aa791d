// Reads the model list of the content wire for the catalog (content.md 5.6, bridge.md 6.1).

import { CatalogError, type CatalogModels, readCatalogModels } from '../../../../shared/catalog.ts'
import { GatewayError, isJsonObject, type JsonValue } from '../../../normalized/index.ts'
import type { ModelListCodec } from '../../face.ts'
import { MODEL_PREFIX } from './endpoints.ts'
import type { ContentCompatibleOptions } from './options.ts'

/** The largest page of the wire: as many models as a catalog may have. */
const PAGE_SIZE = 1000

export const contentCompatibleModelList: ModelListCodec<ContentCompatibleOptions> = {
  write: ({ modelsPath }) => ({
    method: 'GET',
    path: `${modelsPath}?pageSize=${PAGE_SIZE}`,
    headers: ['accept', 'application/json']
  }),
  read(body) {
    const models = isJsonObject(body) ? body.models : undefined
    return readList(Array.isArray(models) ? models.map(readModel) : undefined)
  }
}

function readList(models: JsonValue | undefined): CatalogModels {
  try {
    return readCatalogModels(models)
  } catch (thrown) {
    if (thrown instanceof CatalogError) throw new GatewayError('provider_protocol_error', { cause: thrown })
    throw thrown
  }
}

/** A model with the names that the catalog reads. */
function readModel(model: JsonValue): JsonValue {
  if (!isJsonObject(model)) return model
  const { name, supportedGenerationMethods: methods, ...metadata } = model
  const id = typeof name === 'string' && name.startsWith(MODEL_PREFIX) ? name.slice(MODEL_PREFIX.length) : name
  return { ...metadata, ...(id === undefined ? {} : { id }), type: readType(methods) }
}

function readType(methods: JsonValue | undefined): string | null {
  if (!Array.isArray(methods)) return null
  if (methods.includes('generateContent')) return 'chat'
  return methods.some(method => typeof method === 'string' && /embed/i.test(method)) ? 'embedder' : null
}
