// Turns token ids back into their text. The tables are large, so they are loaded on first use and, when there is a pool, only in its
// threads.

import { invalidRequest } from '../normalized/index.ts'
import type { TokenDecodingJob } from './types.ts'

interface Decoder {
  /** Throws for an id that is not in the vocabulary. */
  decode(tokens: Iterable<number>): string
}

const loaders = {
  cl100k_base: () => import('gpt-tokenizer/encoding/cl100k_base'),
  o200k_base: () => import('gpt-tokenizer/encoding/o200k_base'),
  p50k_base: () => import('gpt-tokenizer/encoding/p50k_base'),
  p50k_edit: () => import('gpt-tokenizer/encoding/p50k_edit'),
  r50k_base: () => import('gpt-tokenizer/encoding/r50k_base')
} satisfies Record<string, () => Promise<Decoder>>

type EncodingName = keyof typeof loaders

/** What the clients that send token ids encode with when they do not know the model either (decision 43). */
const ENCODING_OF_UNKNOWN_MODELS: EncodingName = 'cl100k_base'

/**
 * Decodes each list of token ids with the tokenizer of `model`: a model name that the tokenizer library knows, or the name of an encoding
 * (completions.md 10). Raises `invalid_request` when an id is not in the vocabulary.
 */
export async function decodeTokens(job: TokenDecodingJob): Promise<string[]> {
  const decoder = await loaders[await findEncoding(job.model)]()
  return job.texts.map(tokens => {
    try {
      return decoder.decode(tokens)
    } catch {
      // A vocabulary has gaps below its highest id, so that no comparison tells which ids it holds.
      throw invalidRequest('input', 'A token id is not in the vocabulary of the model.')
    }
  })
}

async function findEncoding(model: string): Promise<EncodingName> {
  const { modelToEncodingMap } = await import('gpt-tokenizer/mapping')
  const encoding = Object.hasOwn(modelToEncodingMap, model)
    ? modelToEncodingMap[model as keyof typeof modelToEncodingMap]
    : model
  const isKnown = typeof encoding === 'string' && Object.hasOwn(loaders, encoding)
  return isKnown ? (encoding as EncodingName) : ENCODING_OF_UNKNOWN_MODELS
}
