// Reads the model list of the Anthropic Messages wire, page by page (messages.md 7.4, providers.md 3).
// `max_input_tokens`, `max_tokens`, `capabilities` and `lifecycle` are members of `ModelInfo` in the
// official SDK; servers with the same wire leave them out.

import { EXTERNAL_BOUNDS } from '../../../../shared/catalog/catalog.ts'
import { readTokenLimit, writeFacts } from '../../../../shared/catalog/model-facts.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'
import type { ModelListCodec } from '../../provider-face.ts'
import { readCursor, readExternalModel, readModelItems, type StatedModel, withQuery } from '../../shared/model-list.ts'
import { MESSAGES_HEADERS } from './headers.ts'
import type { MessagesCompatibleOptions } from './options.ts'

/** The largest page of the wire. */
const PAGE_MODELS = '1000'

export const messagesCompatibleModels: ModelListCodec<MessagesCompatibleOptions> = {
  bounds: EXTERNAL_BOUNDS,
  write: ({ modelsPath }, cursor) => ({
    method: 'GET',
    path: withQuery(modelsPath, { limit: PAGE_MODELS, after_id: cursor }),
    headers: MESSAGES_HEADERS
  }),
  read(body) {
    const page = isJsonObject(body) ? body : {}
    const models = readModelItems(page.data, item => readExternalModel(item, ({ id }) => id, describe))
    const cursor = page.has_more === true ? readCursor(page.last_id) : undefined
    return cursor === undefined ? { models } : { models, cursor }
  }
}

function describe({ max_input_tokens, max_tokens, capabilities, lifecycle }: JsonObject): StatedModel {
  return {
    deprecated: lifecycle === 'deprecated' || lifecycle === 'retired',
    available: lifecycle !== 'retired',
    facts: writeFacts({
      contextWindow: readTokenLimit(max_input_tokens),
      outputTokensMax: readTokenLimit(max_tokens),
      readsImages: readSupport(capabilities, 'image_input'),
      readsFiles: readSupport(capabilities, 'pdf_input')
    })
  }
}

function readSupport(capabilities: JsonValue | undefined, name: string): boolean | undefined {
  const capability = isJsonObject(capabilities) ? capabilities[name] : undefined
  const supported = isJsonObject(capability) ? capability.supported : undefined
  return typeof supported === 'boolean' ? supported : undefined
}
