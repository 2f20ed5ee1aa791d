// Embeddings on the chat completions wire (bridge.md 8.8).

import { type EmbeddingsResult, GatewayError, isJsonObject } from '../../../normalized/index.ts'
import type { EmbeddingsCodec } from '../../provider-face.ts'
import { findExternalError } from '../../shared/errors/external-error.ts'
import { WIRE_HEADERS } from '../../shared/wire-headers.ts'
import type { ChatCompatibleOptions } from './options.ts'
import { readUsage } from './usage.ts'

export const chatCompatibleEmbeddings: EmbeddingsCodec<ChatCompatibleOptions> = {
  carries: ['dimensions'],
  write: ({ model, input, dimensions }, { embeddingsPath }) => ({
    method: 'POST',
    path: embeddingsPath,
    headers: WIRE_HEADERS,
    body: { model, input, encoding_format: 'float', ...(dimensions === undefined ? {} : { dimensions }) }
  }),
  read: (body, { count }) => readEmbeddings(body, count)
}

function readEmbeddings(body: unknown, count: number): EmbeddingsResult {
  if (!isJsonObject(body)) throw unusable('invalid_embeddings')
  const error = findExternalError(body)
  if (error !== undefined) throw error
  const { data } = body
  if (!Array.isArray(data) || data.length !== count) throw unusable('invalid_embeddings')
  const vectors: Array<number[] | undefined> = new Array(count)
  for (const [position, item] of data.entries()) {
    if (!isJsonObject(item)) throw unusable('invalid_embeddings')
    const index = item.index ?? position
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      throw unusable('invalid_embeddings')
    }
    if (vectors[index] !== undefined) throw unusable('invalid_embeddings')
    vectors[index] = readVector(item.embedding)
  }
  const usage = readUsage(body.usage)
  return {
    // As many vectors as places, and none twice: every place is taken.
    vectors: vectors as number[][],
    promptTokens: usage?.inputTokens ?? usage?.totalTokens ?? null,
    metadata: {}
  }
}

const FLOAT_BYTES = 4

/** Numbers, or base64 of little-endian 32-bit floats: some servers send it even when numbers were asked for. */
function readVector(embedding: unknown): number[] {
  if (Array.isArray(embedding) && embedding.every(isFiniteNumber)) return embedding
  if (typeof embedding !== 'string') throw unusable('invalid_embeddings')
  const bytes = Buffer.from(embedding, 'base64')
  if (bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0) throw unusable('invalid_embeddings')
  const vector = Array.from({ length: bytes.length / FLOAT_BYTES }, (_, index) =>
    bytes.readFloatLE(index * FLOAT_BYTES)
  )
  if (!vector.every(isFiniteNumber)) throw unusable('invalid_embeddings')
  return vector
}

function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value)
}

/** @param id the detailed id, for the log. */
function unusable(id: string): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: id })
}
