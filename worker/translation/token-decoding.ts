// Turns token ids back into their text.

import { invalidRequest } from '../normalized/index.ts'
import { type EncodingName, loadTokenizer } from './tokenizers.ts'
import type { TokenDecodingJob } from './types.ts'

/** The encoding that clients with token ids fall back to for an unknown model (decisions.md 43). */
const ENCODING_OF_UNKNOWN_MODELS: EncodingName = 'cl100k_base'

/**
 * Decodes each list of token ids with the tokenizer of `model`: a model name that the tokenizer library knows, or the name of an encoding
 * (completions.md 10). Raises `invalid_request` when an id is not in the vocabulary.
 */
export async function decodeTokens(job: TokenDecodingJob): Promise<string[]> {
  const decoder = await loadTokenizer(job.model, ENCODING_OF_UNKNOWN_MODELS)
  return job.texts.map(tokens => {
    try {
      return decoder.decode(tokens)
    } catch {
      // A vocabulary has gaps below its highest id, so that no comparison tells which ids it holds.
      throw invalidRequest('input', 'A token id is not in the vocabulary of the model.')
    }
  })
}
