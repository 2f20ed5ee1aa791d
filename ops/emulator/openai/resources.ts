// The models and the embeddings of the OpenAI wire.
import { countEmbeddingTokens, embedText } from '../embeddings.ts'
import { badRequest, UpstreamError, unprocessable } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { isObject } from '../json.ts'
import { findPageMax } from '../model-pages.ts'
import { findBatchMax } from './models.ts'
import { checkOpenAiModel } from './read.ts'

const openAiModels = ['emulator-small', 'emulator-large', 'emulator-embeddings'].map(id => ({
  id,
  object: 'model',
  created: 1_767_225_600,
  owned_by: 'emulator'
}))

/** The response body of `GET /openai/v1/models`. The wire has no pages; a service that has them links to the next one. */
export function listOpenAiModels({ path, record }: Pick<Exchange, 'path' | 'record'>): unknown {
  const start = Number(new URLSearchParams(record.query).get('offset') ?? 0)
  const end = start + findPageMax(path)
  const data = openAiModels.slice(start, end)
  if (end >= openAiModels.length) return { object: 'list', data }
  return { object: 'list', data, links: { next: `${path}?offset=${end}` } }
}

/** The response body of `GET /openai/v1/models/{id}`. Throws UpstreamError 404. */
export function findOpenAiModel(id: string): unknown {
  const model = openAiModels.find(entry => entry.id === id)
  if (model === undefined) throw new UpstreamError(404, `The model \`${id}\` does not exist`)
  return model
}

const VECTOR_LENGTH = 1536
const VECTOR_LENGTH_MAX = 4096

/**
 * The response body of `POST /openai/v1/embeddings`: vectors of numbers, or base64 of little-endian float32.
 * @throws UpstreamError 400, 404 or 422.
 */
export function writeOpenAiEmbeddings(body: unknown): unknown {
  if (!isObject(body)) throw badRequest('the body must be an object')
  const model = checkOpenAiModel(body.model)
  const inputs = typeof body.input === 'string' ? [body.input] : body.input
  if (!Array.isArray(inputs) || inputs.length === 0) throw badRequest("'input' must be a text or a list of texts")
  const batchMax = findBatchMax(model)
  if (inputs.length > batchMax) {
    const message = `'input' must have at most ${batchMax} texts, but has ${inputs.length}`
    throw new UpstreamError(400, message, { param: 'input' })
  }
  const length = typeof body.dimensions === 'number' ? body.dimensions : VECTOR_LENGTH
  if (!Number.isInteger(length) || length < 1 || length > VECTOR_LENGTH_MAX)
    throw unprocessable('dimensions is out of range')
  let tokens = 0
  const data = inputs.map((input, index) => {
    // An input of token ids is embedded as its JSON text, which is as good a seed for the vector.
    const text = typeof input === 'string' ? input : JSON.stringify(input)
    tokens += countEmbeddingTokens(text)
    const vector = embedText(text, length)
    return { object: 'embedding', index, embedding: body.encoding_format === 'base64' ? packVector(vector) : vector }
  })
  return { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } }
}

function packVector(vector: readonly number[]): string {
  const packed = Buffer.alloc(vector.length * 4)
  vector.forEach((value, index) => {
    packed.writeFloatLE(value, index * 4)
  })
  return packed.toString('base64')
}
