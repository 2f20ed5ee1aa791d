// Embeddings and token counts; both are deterministic functions of the text.
import { badRequest, noSuchModel, unprocessable } from './errors.ts'
import { isObject } from './json.ts'
import { type ModelInventory, vectorLength } from './models.ts'
import { countCharacters, countTokens } from './tokens.ts'

const INPUTS_MAX = 2048

/** FNV-1a over the UTF-16 units of a text: cheap, and different texts get different seeds for the generator. */
function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}

/** Returns a vector of numbers between -2 and 2 with few digits, from a generator that is seeded by the text. */
export function embedText(text: string, length: number): number[] {
  let state = hashText(text) || 1
  const vector = new Array<number>(length)
  for (let index = 0; index < length; index++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    vector[index] = ((state >>> 0) % 8193) / 2048 - 2
  }
  return vector
}

/** Tokens that the upstream counts for one embedded text: those of the text and five more. */
export function countEmbeddingTokens(text: string): number {
  return countTokens(text) + 5
}

/** Reads `{model, input}`, where the input is a list of texts. Throws UpstreamError 400 or 422. */
function readInputs(body: unknown): { model: string; input: string[] } {
  if (!isObject(body)) throw badRequest('the body must be an object')
  if (typeof body.model !== 'string') throw unprocessable('model is required')
  const { input } = body
  if (!Array.isArray(input) || !input.every(item => typeof item === 'string')) {
    throw unprocessable('input must be an array of strings')
  }
  if (input.length === 0 || input.length > INPUTS_MAX) {
    throw unprocessable(`input must hold 1 to ${INPUTS_MAX} strings`)
  }
  return { model: body.model, input }
}

/** The response body of `POST <base>/embeddings`. Throws UpstreamError 400, 404 or 422. */
export function writeEmbeddings(body: unknown, models: ModelInventory): unknown {
  const { model, input } = readInputs(body)
  if (models.find(model)?.type !== 'embedder') throw noSuchModel()
  const length = vectorLength(model)
  return {
    object: 'list',
    model,
    data: input.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: embedText(text, length),
      usage: { prompt_tokens: countEmbeddingTokens(text) }
    }))
  }
}

/**
 * The response body of `POST <base>/tokens/count`: an array in the order of the input.
 * @throws UpstreamError 400, 404 or 422.
 */
export function writeTokenCounts(body: unknown, models: ModelInventory): unknown {
  const { model, input } = readInputs(body)
  if (models.find(model) === undefined) throw noSuchModel()
  return input.map(text => ({ object: 'tokens', tokens: countTokens(text), characters: countCharacters(text) }))
}
