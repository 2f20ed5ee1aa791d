// Token counts of one answer. null means that the provider did not say; 0 means that it said zero.

export interface NormalizedUsage {
  /** All input tokens, the cached ones included. */
  inputTokens: number | null
  /** The part of `inputTokens` that came from a cache. */
  cachedInputTokens: number | null
  /** All output tokens, the reasoning ones included. */
  outputTokens: number | null
  /** The part of `outputTokens` that was reasoning. */
  reasoningTokens: number | null
  totalTokens: number | null
}
