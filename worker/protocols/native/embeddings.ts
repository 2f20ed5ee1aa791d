// Embeddings on the native upstream's wire (upstream.md 5, completions.md 10).

import type { EmbeddingsResult } from '../../normalized/index.ts'
import { isJsonObject } from '../../normalized/index.ts'
import type { EmbeddingsCodec } from '../provider-face.ts'
import { unusableResponse } from './errors.ts'
import type { NativeOptions } from './options.ts'
import { readResponseIds, writeIdMetadata } from './response-ids.ts'
import { readCount } from './usage.ts'

export const nativeEmbeddings: EmbeddingsCodec<NativeOptions> = {
  write: ({ input, model }, { v1Base }) => ({
    method: 'POST',
    path: `${v1Base}/embeddings`,
    headers: ['content-type', 'application/json'],
    body: { input, model }
  }),
  read: (body, { count, head }) => ({ ...readVectors(body, count), metadata: writeIdMetadata(readResponseIds(head)) })
}

/** Reads the vectors in the order of their `index`, and the tokens: the response's count, else the sum over the items. */
function readVectors(body: unknown, count: number): Omit<EmbeddingsResult, 'metadata'> {
  const data = isJsonObject(body) ? body.data : undefined
  if (!Array.isArray(data) || data.length !== count) throw unusable()
  const vectors: Array<number[] | undefined> = new Array(count)
  let itemTokens: number | null = null
  for (const [position, item] of data.entries()) {
    if (!isJsonObject(item)) throw unusable()
    const index = item.index ?? position
    const vector: unknown = item.embedding
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) throw unusable()
    if (vectors[index] !== undefined || !isVector(vector)) throw unusable()
    vectors[index] = vector
    const tokens = readPromptTokens(item.usage)
    if (tokens !== null) itemTokens = (itemTokens ?? 0) + tokens
  }
  const whole: number[][] = []
  for (const vector of vectors) {
    if (vector === undefined) throw unusable()
    whole.push(vector)
  }
  return { vectors: whole, promptTokens: readPromptTokens(isJsonObject(body) ? body.usage : undefined) ?? itemTokens }
}

function readPromptTokens(usage: unknown): number | null {
  return isJsonObject(usage) ? readCount(usage.prompt_tokens) : null
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(item => typeof item === 'number')
}

function unusable(): Error {
  return unusableResponse('invalid_embeddings')
}
