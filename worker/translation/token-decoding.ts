// Turns token ids back into their text. The tables are large, so they are loaded on first use and, when there is a pool, only in its
// threads.

import { invalidRequest } from '../normalized/index.ts'
import type { TokenDecodingJob } from './types.ts'

interface Decoder {
  decode(tokens: Iterable<number>): string
  vocabularySize: number
}

const loaders = {
  cl100k_base: () => import('gpt-tokenizer/encoding/cl100k_base'),
  o200k_base: () => import('gpt-tokenizer/encoding/o200k_base'),
  p50k_base: () => import('gpt-tokenizer/encoding/p50k_base'),
  p50k_edit: () => import('gpt-tokenizer/encoding/p50k_edit'),
  r50k_base: () => import('gpt-tokenizer/encoding/r50k_base')
} satisfies Record<string, () => Promise<Decoder>>

type EncodingName = keyof typeof loaders

/**
 * Decodes each list of token ids with the tokenizer of `model`: a model name that the tokenizer library knows, or the name of an encoding
 * (completions.md 10). Raises `invalid_request` for `model` when its tokenizer is unknown, and for `input` when an id is not in the
 * vocabulary.
 */
export async function decodeTokens(job: TokenDecodingJob): Promise<string[]> {
  const decoder = await loaders[await findEncoding(job.model)]()
  return job.texts.map(tokens => {
    if (tokens.some(token => token >= decoder.vocabularySize)) {
      throw invalidRequest('input', 'A token id is not in the vocabulary of the model.')
    }
    return decoder.decode(tokens)
  })
}

async function findEncoding(model: string): Promise<EncodingName> {
  const { modelToEncodingMap } = await import('gpt-tokenizer/mapping')
  const encoding = Object.hasOwn(modelToEncodingMap, model)
    ? modelToEncodingMap[model as keyof typeof modelToEncodingMap]
    : model
  if (typeof encoding === 'string' && Object.hasOwn(loaders, encoding)) return encoding as EncodingName
  throw invalidRequest(
    'model',
    'Token ids cannot be decoded: the tokenizer of this model is not known. Send text instead.'
  )
}
