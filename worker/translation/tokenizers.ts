// The tokenizers of the models whose vocabulary is public. The tables are large, so they are loaded on first use and, when there is a pool,
// only in its threads.

export interface Tokenizer {
  /** Throws for an id that is not in the vocabulary. */
  decode(tokens: Iterable<number>): string
  /** The number of tokens of a text; `disallowedSpecial` names the special tokens that must not occur in it. */
  countTokens(text: string, options: { disallowedSpecial: Set<string> }): number
  /** How many results of rare words are remembered. */
  setMergeCacheSize(entriesMax: number): void
}

const loaders = {
  cl100k_base: () => import('gpt-tokenizer/encoding/cl100k_base'),
  o200k_base: () => import('gpt-tokenizer/encoding/o200k_base'),
  p50k_base: () => import('gpt-tokenizer/encoding/p50k_base'),
  p50k_edit: () => import('gpt-tokenizer/encoding/p50k_edit'),
  r50k_base: () => import('gpt-tokenizer/encoding/r50k_base')
} satisfies Record<string, () => Promise<Tokenizer>>

export type EncodingName = keyof typeof loaders

/** The library caches 100 000 words, whose length the clients choose. */
const MERGE_CACHE_ENTRIES_MAX = 10_000

/** Loads the tokenizer of a model that the library knows or of an encoding by its name; for any other name that of `fallback`. */
export async function loadTokenizer(model: string, fallback: EncodingName): Promise<Tokenizer> {
  const tokenizer: Tokenizer = await loaders[(await findEncoding(model)) ?? fallback]()
  tokenizer.setMergeCacheSize(MERGE_CACHE_ENTRIES_MAX)
  return tokenizer
}

async function findEncoding(model: string): Promise<EncodingName | undefined> {
  const { modelToEncodingMap } = await import('gpt-tokenizer/mapping')
  const encoding = Object.hasOwn(modelToEncodingMap, model)
    ? modelToEncodingMap[model as keyof typeof modelToEncodingMap]
    : model
  const isKnown = typeof encoding === 'string' && Object.hasOwn(loaders, encoding)
  return isKnown ? (encoding as EncodingName) : undefined
}
