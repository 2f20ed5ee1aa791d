// Reads the token counts of the Responses wire. A count that the provider does not report is null, not zero.

import { isJsonObject, type NormalizedUsage } from '../../../normalized/index.ts'
import { invalidUsage, limitPart, readCount, readDetail } from '../../shared/token-counts.ts'

/** Reads `usage`; null when there is none. Raises `provider_protocol_error` for counts that are no counts (bridge.md 8.4). */
export function readUsage(raw: unknown): NormalizedUsage | null {
  if (raw === undefined || raw === null) return null
  if (!isJsonObject(raw)) throw invalidUsage()
  const inputTokens = readCount(raw.input_tokens)
  const outputTokens = readCount(raw.output_tokens)
  const totalTokens = readCount(raw.total_tokens)
  if (inputTokens === null && outputTokens === null && totalTokens === null) return null
  return {
    inputTokens,
    cacheReadTokens: limitPart(detailOf(raw.input_tokens_details, 'cached_tokens'), inputTokens),
    cacheWriteTokens: limitPart(detailOf(raw.input_tokens_details, 'cache_write_tokens'), inputTokens),
    outputTokens,
    reasoningTokens: limitPart(detailOf(raw.output_tokens_details, 'reasoning_tokens'), outputTokens),
    totalTokens: totalTokens ?? (inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens)
  }
}

/** A detail of the counts; null where there are no details. */
function detailOf(details: unknown, member: string): number | null {
  return isJsonObject(details) ? readDetail(details[member]) : null
}
