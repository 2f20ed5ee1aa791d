// Reads embeddings requests and writes embeddings responses in the family's form (completions.md 10).

import { type Diagnostics, type EmbeddingsResult, invalidRequest, type JsonValue } from '../../../normalized/index.ts'
import type { EmbeddingsClientFace, EmbeddingsInput, ReadEmbeddings } from '../../client-face.ts'
import { readDimensions } from '../../shared/embeddings.ts'
import { readExtraHeaders } from '../../shared/extra-headers.ts'
import { keepDefined, wrongType } from '../../shared/members/field.ts'
import { Members } from '../../shared/members/members.ts'
import { sortParameters } from '../../shared/members/parameters.ts'
import { readModel } from '../../shared/model.ts'
import { type EmbeddingsRequest, type EmbeddingsResponse, embeddingsParameters } from './schema.ts'
import { writeMetadata } from './write-response.ts'

export interface ReadEmbeddingsRequest extends ReadEmbeddings {
  ignored: Diagnostics
}

/** The family's limit for the items of a list, and also for the token ids of one item. */
const ITEMS_MAX = 2048

/** Reads the parsed body. Raises `invalid_request` with `param` `input`, `model` or `extra_headers`. */
export function readEmbeddingsRequest(body: EmbeddingsRequest): ReadEmbeddingsRequest {
  const { ignored, additional } = sortParameters(body, embeddingsParameters)
  const requestedModel = readNamedModel(body)
  const dimensions = readDimensions(body.dimensions)
  return {
    input: readInput(body.input),
    encoding: body.encoding_format === 'base64' ? 'base64' : 'float',
    ignored: { ...ignored, ...additional },
    ...keepDefined({
      requestedModel,
      model: requestedModel?.trim(),
      dimensions,
      fieldPaths: dimensions === undefined ? undefined : DIMENSIONS_PATH,
      extraHeaders: readExtraHeaders(body)
    })
  }
}

/** Writes the response; `model` is the name that the client sees. */
export function writeEmbeddingsResponse(
  result: EmbeddingsResult,
  context: { model: string; encoding: 'float' | 'base64' }
): EmbeddingsResponse {
  const promptTokens = result.promptTokens ?? 0
  const metadata = writeMetadata(result.metadata)
  return {
    object: 'list',
    data: result.vectors.map((vector, index) => ({
      object: 'embedding',
      embedding: context.encoding === 'base64' ? encodeVector(vector) : vector,
      index
    })),
    model: context.model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    ...(metadata === undefined ? {} : { metadata })
  }
}

const DIMENSIONS_PATH = { dimensions: ['dimensions'] }

export const completionsEmbeddingsFace: EmbeddingsClientFace = {
  members: new Members(embeddingsParameters),
  read: body => readEmbeddingsRequest(body),
  writeResponse: writeEmbeddingsResponse
}

/** Reads the model. A blank model is refused here; the other operations treat it as absent. */
function readNamedModel(body: EmbeddingsRequest): string | undefined {
  const model = readModel(body)
  if (model === undefined && typeof body.model === 'string') {
    throw invalidRequest('model', `'model' must not be blank.`)
  }
  return model
}

function readInput(input: JsonValue | undefined): EmbeddingsInput {
  if (typeof input === 'string') return { type: 'texts', texts: [readText(input)] }
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array', input)
  if (input.length === 0) throw invalidRequest('input', `'input' must not be empty.`)
  if (input.length > ITEMS_MAX) throw invalidRequest('input', `'input' must hold at most ${ITEMS_MAX} items.`)
  if (typeof input[0] === 'number') return { type: 'tokens', tokens: [readTokens(input)] }
  if (Array.isArray(input[0])) return { type: 'tokens', tokens: input.map(readTokens) }
  return { type: 'texts', texts: input.map(readText) }
}

function readText(item: JsonValue): string {
  if (typeof item !== 'string') throw mixedInput()
  if (item === '') throw invalidRequest('input', `'input' must not hold an empty string.`)
  return item
}

function readTokens(item: JsonValue): number[] {
  if (!Array.isArray(item)) throw mixedInput()
  if (item.length === 0 || item.length > ITEMS_MAX) {
    throw invalidRequest('input', `A list of token ids in 'input' must hold 1 to ${ITEMS_MAX} of them.`)
  }
  return item.map(token => {
    if (typeof token !== 'number') throw mixedInput()
    if (!Number.isInteger(token) || token < 0) {
      throw invalidRequest('input', `A token id in 'input' must be a non-negative integer.`)
    }
    return token
  })
}

function mixedInput(): Error {
  return invalidRequest('input', `'input' must hold only strings, only token ids, or only lists of token ids.`)
}

const FLOAT_BYTES = 4

/**
 * Encodes the vector as base64 of little-endian 32-bit floats, the encoding that the SDK requests
 * by default (field-lessons.md E4).
 */
function encodeVector(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let index = 0; index < vector.length; index += 1) view.setFloat32(index * FLOAT_BYTES, vector[index] ?? 0, true)
  return bytes.toString('base64')
}
