// Token counts of one response. null means that the provider reported none; 0 means that it reported zero.

export interface NormalizedUsage {
  /** All input tokens, those read from a cache and those written to it included. */
  inputTokens: number | null
  /** The part of `inputTokens` that was read from a cache. */
  cacheReadTokens: number | null
  /** The part of `inputTokens` that was written to a cache. */
  cacheWriteTokens: number | null
  /** All output tokens, the reasoning tokens included. */
  outputTokens: number | null
  /** The part of `outputTokens` that was reasoning. */
  reasoningTokens: number | null
  totalTokens: number | null
}

/** A count that the later report leaves out keeps its place; an earlier total would be too small for later counts. */
export function joinUsage(earlier: NormalizedUsage | undefined, later: NormalizedUsage): NormalizedUsage {
  if (earlier === undefined) return later
  return {
    inputTokens: later.inputTokens ?? earlier.inputTokens,
    cacheReadTokens: later.cacheReadTokens ?? earlier.cacheReadTokens,
    cacheWriteTokens: later.cacheWriteTokens ?? earlier.cacheWriteTokens,
    outputTokens: later.outputTokens ?? earlier.outputTokens,
    reasoningTokens: later.reasoningTokens ?? earlier.reasoningTokens,
    totalTokens: later.totalTokens
  }
}
