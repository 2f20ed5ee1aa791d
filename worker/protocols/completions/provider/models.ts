// Reads the model list of the chat-completions wire, which the Responses wire shares (providers.md 3).
// The wire itself names only `id` and `owned_by`; services and servers add members of their own.
// OpenRouter's names are those of its documentation; the others were seen in lists or in clients of
// the service, and a member under another name leaves the default of the profile:
// - vLLM, SGLang: `max_model_len` (their `ModelCard`)
// - OpenRouter: `context_length`, `architecture.input_modalities` and `.output_modalities`,
//   `top_provider.max_completion_tokens`, pages by `links.next`
// - Mistral: `max_context_length`, `capabilities.vision`, `.completion_chat`, `deprecation`
// - LM Studio: `loaded_context_length`, `max_context_length`, `type` (llm, vlm, embeddings)
// - Groq: `context_window`, `max_completion_tokens`, `active`
// - Together: `context_length`, `type` (chat, language, embedding); its list has no object around it
// - Moonshot: `context_length`, `supports_image_in`
// - xAI: `input_modalities`, `output_modalities`
// - servers on llama.cpp: `meta.n_ctx`; `n_ctx_train` is what the model could do, not what the server was started with
// - this gateway: `input_token_limit`, `output_token_limit`, `metadata.type`

import { EXTERNAL_BOUNDS } from '../../../../shared/catalog/catalog.ts'
import { readTokenLimit, writeFacts } from '../../../../shared/catalog/model-facts.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'
import type { ModelListCodec } from '../../provider-face.ts'
import { readCursor, readExternalModel, readModelItems, readWords, type StatedModel } from '../../shared/model-list.ts'
import { WIRE_HEADERS } from '../../shared/wire-headers.ts'

export const chatCompatibleModels: ModelListCodec<{ modelsPath: string }> = {
  bounds: EXTERNAL_BOUNDS,
  write: ({ modelsPath }, cursor) => ({
    method: 'GET',
    path: cursor === undefined ? modelsPath : modelsPath + cursor,
    headers: WIRE_HEADERS
  }),
  read(body) {
    const page = isJsonObject(body) ? body : {}
    const list = Array.isArray(body) ? body : page.data
    const models = readModelItems(list, item => readExternalModel(item, ({ id }) => id, describe))
    const cursor = isJsonObject(page.links) ? readNextQuery(page.links.next) : undefined
    return cursor === undefined ? { models } : { models, cursor }
  }
}

/** The query of a link to the next page. Its path is not followed: the list stays where the profile has it. */
function readNextQuery(link: JsonValue | undefined): string | undefined {
  const text = readCursor(link)
  const start = text?.indexOf('?') ?? -1
  if (text === undefined || start < 0) return undefined
  return `?${new URLSearchParams(text.slice(start + 1))}`
}

function describe(model: JsonObject): StatedModel {
  const architecture = objectOf(model.architecture)
  const capabilities = objectOf(model.capabilities)
  const inputs = readWords(architecture.input_modalities) ?? readWords(model.input_modalities)
  return {
    ownedBy: typeof model.owned_by === 'string' ? model.owned_by : null,
    modelType: readType(model),
    available: model.active !== false && model.available !== false,
    deprecated: model.deprecated === true || typeof model.deprecation === 'string',
    facts: writeFacts({
      contextWindow: findLimit(
        model.max_model_len,
        model.loaded_context_length,
        model.context_length,
        model.max_context_length,
        model.context_window,
        objectOf(model.meta).n_ctx,
        model.input_token_limit
      ),
      outputTokensMax: findLimit(
        objectOf(model.top_provider).max_completion_tokens,
        model.max_completion_tokens,
        model.output_token_limit
      ),
      readsImages: inputs?.includes('image') ?? findImages(model, capabilities),
      readsFiles: inputs?.includes('file')
    })
  }
}

function findLimit(...stated: ReadonlyArray<JsonValue | undefined>): number | undefined {
  return stated.map(readTokenLimit).find(limit => limit !== undefined)
}

function findImages({ supports_image_in, type }: JsonObject, { vision }: JsonObject): boolean | undefined {
  if (typeof vision === 'boolean') return vision
  if (typeof supports_image_in === 'boolean') return supports_image_in
  if (type === 'vlm') return true
  return type === 'llm' ? false : undefined
}

/** The words of services for what the catalog calls `chat` and `embedder`. */
const TYPES: Readonly<Record<string, string>> = {
  chat: 'chat',
  language: 'chat',
  llm: 'chat',
  vlm: 'chat',
  code: 'chat',
  embedding: 'embedder',
  embeddings: 'embedder',
  embedder: 'embedder'
}

/** What a model is for, where the list says so; another word of a service is kept. */
function readType(model: JsonObject): string | null {
  const outputs = readWords(objectOf(model.architecture).output_modalities) ?? readWords(model.output_modalities)
  if (outputs?.includes('text')) return 'chat'
  if (outputs?.some(word => word.startsWith('embedding'))) return 'embedder'
  const stated = [objectOf(model.metadata).type, model.type].find(word => typeof word === 'string')
  if (typeof stated === 'string' && Object.hasOwn(TYPES, stated)) return TYPES[stated] ?? null
  if (objectOf(model.capabilities).completion_chat === true) return 'chat'
  return typeof stated === 'string' && !UNSAID_TYPES.has(stated) ? stated : null
}

/** Words that say nothing about what a model is for. */
const UNSAID_TYPES: ReadonlySet<string> = new Set(['model', 'base', 'fine-tuned'])

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
