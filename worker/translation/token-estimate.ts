// Counts the tokens of texts for a provider that cannot count. The provider's own tokenizer is
// unknown, so the number is an estimate (bridge.md 7.5).

import { type EncodingName, loadTokenizer } from './tokenizers.ts'
import type { TokenEstimateJob } from './types.ts'

/** The newest public vocabulary: other new models have one of about its size. */
const ENCODING_OF_UNKNOWN_MODELS: EncodingName = 'o200k_base'

/** A text that names a special token is a text like any other. */
const PLAIN_TEXT = { disallowedSpecial: new Set<string>() }

/**
 * A longer word is counted in parts: the tokenizer takes time with the square of a word's length. Only data and scripts without blanks have
 * such words, and each part adds one token at most.
 */
const WORD_CHARACTERS_MAX = 256

/** Resolves with the tokens of all texts together, counted with the tokenizer that the model's name stands for. */
export async function estimateTokens({ model, texts }: TokenEstimateJob): Promise<number> {
  const tokenizer = await loadTokenizer(nameWithoutVendor(model ?? ''), ENCODING_OF_UNKNOWN_MODELS)
  let total = 0
  for (const text of texts) {
    for (const part of cutLongWords(text)) total += tokenizer.countTokens(part, PLAIN_TEXT)
  }
  return total
}

/** Routers put the vendor in front of the model's name, as in `openai/gpt-4`. */
function nameWithoutVendor(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1)
}

/** The text, cut inside of each run of more than `WORD_CHARACTERS_MAX` characters that are all blank or all not. */
export function cutLongWords(text: string): string[] {
  if (text.length <= WORD_CHARACTERS_MAX) return [text]
  const parts: string[] = []
  let partStart = 0
  let runStart = 0
  let isBlankRun = isBlank(text.charCodeAt(0))
  for (let index = 1; index < text.length; index += 1) {
    if (isBlank(text.charCodeAt(index)) !== isBlankRun) {
      isBlankRun = !isBlankRun
      runStart = index
    } else if (index - runStart >= WORD_CHARACTERS_MAX && !isInsidePair(text, index)) {
      parts.push(text.slice(partStart, index))
      partStart = index
      runStart = index
    }
  }
  parts.push(text.slice(partStart))
  return parts
}

/** Control characters and the blank itself; a longer list would cost more than a cut. */
function isBlank(code: number): boolean {
  return code <= 0x20
}

function isInsidePair(text: string, index: number): boolean {
  // A code point beyond the first 65 536 is a pair that begins one position earlier.
  return (text.codePointAt(index - 1) ?? 0) > 0xffff
}
