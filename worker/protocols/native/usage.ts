// Reads the token counts of both contracts. A count that the upstream does not report is null, not zero (upstream.md 4.3).

import { isJsonObject, type NormalizedUsage } from '../../normalized/index.ts'

/**
 * Reads the counts of either contract: v2 streams may contain frames with the names of v1
 * (decisions.md 61).
 */
export function readUsage(raw: unknown): NormalizedUsage | null {
  if (!isJsonObject(raw)) return null
  const details = raw.input_tokens_details ?? raw.prompt_tokens_details
  return complete({
    inputTokens: readCount(raw.input_tokens) ?? readCount(raw.prompt_tokens),
    cacheReadTokens: readNested(details, 'cached_tokens') ?? readCount(raw.precached_prompt_tokens),
    cacheWriteTokens: null,
    outputTokens: readCount(raw.output_tokens) ?? readCount(raw.completion_tokens),
    reasoningTokens: readNested(raw.output_tokens_details ?? raw.completion_tokens_details, 'reasoning_tokens'),
    totalTokens: readCount(raw.total_tokens)
  })
}

/** Merges the counts of a later frame. Counts only grow during a stream, so the larger count is the later one. */
export function mergeUsage(earlier: NormalizedUsage | null, later: NormalizedUsage | null): NormalizedUsage | null {
  if (earlier === null || later === null) return later ?? earlier
  return {
    inputTokens: larger(earlier.inputTokens, later.inputTokens),
    cacheReadTokens: larger(earlier.cacheReadTokens, later.cacheReadTokens),
    cacheWriteTokens: larger(earlier.cacheWriteTokens, later.cacheWriteTokens),
    outputTokens: larger(earlier.outputTokens, later.outputTokens),
    reasoningTokens: larger(earlier.reasoningTokens, later.reasoningTokens),
    totalTokens: larger(earlier.totalTokens, later.totalTokens)
  }
}

function complete(usage: NormalizedUsage): NormalizedUsage | null {
  const { inputTokens, outputTokens, totalTokens } = usage
  if (inputTokens === null && outputTokens === null && totalTokens === null) return null
  if (totalTokens !== null || inputTokens === null || outputTokens === null) return usage
  return { ...usage, totalTokens: inputTokens + outputTokens }
}

function readNested(details: unknown, member: string): number | null {
  return isJsonObject(details) ? readCount(details[member]) : null
}

/** Reads one count. The types of every SDK have integers, so any other number is no count. */
export function readCount(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null
}

function larger(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right
  return Math.max(left, right)
}
