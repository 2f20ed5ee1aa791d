// Embeddings on the native upstream (upstream contract, section 5; completions contract, section 10).

import { protocolFailure } from '../http/call-failure.ts'
import type { UpstreamClient } from '../http/client.ts'
import { readMetadata } from '../http/response-head.ts'
import { readJson } from '../http/whole-response.ts'
import type { CallContext, EmbeddingsCall, EmbeddingsResult } from '../types.ts'

/** Resolves with one vector per input text, in the order of the input. Rejects with `GatewayError`. */
export async function embedTexts(
  client: UpstreamClient,
  call: EmbeddingsCall,
  context: CallContext
): Promise<EmbeddingsResult> {
  const answer = await client.fetch(
    {
      operation: 'embeddings',
      method: 'POST',
      path: `${client.transport.endpoints.v1Base}/embeddings`,
      headers: ['content-type', 'application/json'],
      body: Buffer.from(JSON.stringify({ input: call.input, model: call.model }))
    },
    context
  )
  const { vectors, promptTokens } = client.read('embeddings', context, () =>
    readEmbeddings(readJson(answer), call.input.length)
  )
  return { vectors, promptTokens, metadata: readMetadata(answer.headers) }
}

/**
 * Reads the answer's vectors in the order of their `index`, and the tokens: the answer's own count, else the sum of the items'.
 * Raises `provider_protocol_error` unless there is exactly one vector of numbers per text.
 */
export function readEmbeddings(body: unknown, count: number): { vectors: number[][]; promptTokens: number | null } {
  const data = isObject(body) ? body.data : undefined
  if (!Array.isArray(data) || data.length !== count) throw unusable()
  const vectors: Array<number[] | undefined> = new Array(count)
  let itemTokens: number | null = null
  for (const [position, item] of data.entries()) {
    if (!isObject(item)) throw unusable()
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
  return { vectors: whole, promptTokens: readPromptTokens(isObject(body) ? body.usage : undefined) ?? itemTokens }
}

function readPromptTokens(usage: unknown): number | null {
  const tokens = isObject(usage) ? usage.prompt_tokens : undefined
  return typeof tokens === 'number' && Number.isFinite(tokens) && tokens >= 0 ? tokens : null
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(item => typeof item === 'number')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unusable(): Error {
  return protocolFailure('invalid_embeddings').error
}
