// Reads the token counts of the content wire. A count that the provider does not report is null, not zero.

import { isJsonObject, type NormalizedUsage } from '../../../normalized/index.ts'
import { invalidUsage, limitPart, readCount, readDetail } from '../../shared/token-counts.ts'

/** The counts of a response so far, by their names on the wire. */
export type UsageCounts = Readonly<Record<string, unknown>>

/**
 * The counts with those of a later payload, which replace them one by one: every chunk of a stream has those so far. Raises
 * `provider_protocol_error` for counts that are no object.
 */
export function mergeUsage(counts: UsageCounts | undefined, later: unknown): UsageCounts | undefined {
  if (later === undefined || later === null) return counts
  if (!isJsonObject(later)) throw invalidUsage()
  return counts === undefined ? later : { ...counts, ...later }
}

/** Reads the counts; null when there are none. Raises `provider_protocol_error` for counts that are no counts (bridge.md 8.4). */
export function readUsage(counts: UsageCounts | undefined): NormalizedUsage | null {
  if (counts === undefined) return null
  const prompt = readCount(counts.promptTokenCount)
  const candidates = readCount(counts.candidatesTokenCount)
  const reported = readCount(counts.totalTokenCount)
  const reasoningTokens = readDetail(counts.thoughtsTokenCount)
  // What a tool of the provider found is read by the model beside the prompt.
  const inputTokens = prompt === null ? null : prompt + (readDetail(counts.toolUsePromptTokenCount) ?? 0)
  const outputTokens = addThoughts({ inputTokens, candidates, reasoningTokens, reported })
  if (inputTokens === null && outputTokens === null && reported === null) return null
  return {
    inputTokens,
    cacheReadTokens: limitPart(readDetail(counts.cachedContentTokenCount), inputTokens),
    cacheWriteTokens: null,
    outputTokens,
    reasoningTokens: limitPart(reasoningTokens, outputTokens),
    totalTokens: reported ?? (inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens)
  }
}

/**
 * All output tokens. The wire counts thoughts beside the candidates and leaves counts of zero out; where the prompt and the candidates make
 * up the total already, the thoughts are among the candidates.
 */
function addThoughts(counts: Record<'inputTokens' | 'candidates' | 'reasoningTokens' | 'reported', number | null>) {
  const { inputTokens, candidates, reasoningTokens, reported } = counts
  if (candidates === null) {
    if (reasoningTokens !== null) return reasoningTokens
    return inputTokens === null || reported === null ? null : Math.max(0, reported - inputTokens)
  }
  if (reasoningTokens === null) return candidates
  const isIncluded = inputTokens !== null && reported === inputTokens + candidates && reasoningTokens <= candidates
  return isIncluded ? candidates : candidates + reasoningTokens
}
