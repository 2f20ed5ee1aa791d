// What a provider itself states about a model of its list. Nothing in it is derived from a name (decisions.md 88).

export interface ModelFacts {
  /** In tokens: input and output together, or the input alone where the wire states only that. */
  readonly contextWindow?: number
  /** In tokens. */
  readonly outputTokensMax?: number
  readonly readsImages?: boolean
  readonly readsFiles?: boolean
}

/** A larger number is no limit of a model. */
const TOKENS_MAX = 1_000_000_000

/** A limit of tokens as a provider writes it; undefined for everything that is no positive whole number. */
export function readTokenLimit(value: unknown): number | undefined {
  const isLimit = typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= TOKENS_MAX
  return isLimit ? value : undefined
}

/** The facts without what is unknown; undefined where nothing is known. */
export function writeFacts(
  facts: { [Name in keyof ModelFacts]: ModelFacts[Name] | undefined }
): ModelFacts | undefined {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined)
  return known.length === 0 ? undefined : Object.fromEntries(known)
}
