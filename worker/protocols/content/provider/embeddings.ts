// Embeddings on the content wire (bridge.md 8.8, content.md 5.5): one request of a batch for each text.

import {
  type EmbeddingsCall,
  type EmbeddingsResult,
  GatewayError,
  isJsonObject,
  type JsonObject
} from '../../../normalized/index.ts'
import type { EmbeddingsCodec } from '../../provider-face.ts'
import { WIRE_HEADERS } from '../../shared/wire-headers.ts'
import { writeMethodPath, writeModelName } from './endpoints.ts'
import { findError } from './errors.ts'
import type { ContentCompatibleOptions } from './options.ts'

/** The service refuses a larger batch (decisions.md 83). */
const BATCH_MAX = 100

export const contentCompatibleEmbeddings: EmbeddingsCodec<ContentCompatibleOptions> = {
  inputsMax: BATCH_MAX,
  carries: ['dimensions', 'purposes'],
  write: (call, options) => ({
    method: 'POST',
    path: writeMethodPath(call.model, 'batchEmbedContents', options),
    headers: WIRE_HEADERS,
    body: { requests: writeRequests(call) }
  }),
  read: (body, { count }) => readEmbeddings(body, count)
}

function writeRequests({ model, input, dimensions, purposes }: EmbeddingsCall): JsonObject[] {
  const name = writeModelName(model)
  return input.map((text, index) => {
    const request: JsonObject = { model: name, content: { parts: [{ text }] } }
    const { taskType, title, dimensions: length = dimensions } = purposes?.[index] ?? {}
    if (taskType !== undefined) request.taskType = taskType
    if (title !== undefined) request.title = title
    if (length !== undefined) request.outputDimensionality = length
    return request
  })
}

function readEmbeddings(body: unknown, count: number): EmbeddingsResult {
  if (!isJsonObject(body)) throw unusable()
  const error = findError(body)
  if (error !== undefined) throw error
  const { embeddings, usageMetadata } = body
  if (!Array.isArray(embeddings) || embeddings.length !== count) throw unusable()
  return {
    vectors: embeddings.map(embedding => readVector(isJsonObject(embedding) ? embedding.values : undefined)),
    promptTokens: readTokens(isJsonObject(usageMetadata) ? usageMetadata.promptTokenCount : undefined),
    metadata: {}
  }
}

function readVector(values: unknown): number[] {
  if (!Array.isArray(values) || !values.every(value => Number.isFinite(value))) throw unusable()
  return values as number[]
}

function readTokens(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null
}

function unusable(): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: 'invalid_embeddings' })
}
