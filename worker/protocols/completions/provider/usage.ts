// Reads the token counts of the chat completions wire. A count that the provider does not report is null, not zero.

import { isJsonObject, type JsonObject, type NormalizedUsage } from '../../../normalized/index.ts'
import { invalidUsage, limitPart, readCount, readDetail } from '../../shared/token-counts.ts'

/** Reads `usage`; null when there is none. Raises `provider_protocol_error` for counts that are no counts (bridge.md 8.4). */
export function readUsage(raw: unknown): NormalizedUsage | null {
  if (raw === undefined || raw === null) return null
  if (!isJsonObject(raw)) throw invalidUsage()
  const inputTokens = readCount(raw.prompt_tokens)
  const reportedOutput = readCount(raw.completion_tokens)
  const totalTokens = readCount(raw.total_tokens)
  if (inputTokens === null && reportedOutput === null && totalTokens === null) return null
  const input = raw.prompt_tokens_details
  const reasoning = largest(raw.completion_tokens_details, raw, ['reasoning_tokens'])
  const outputTokens = addReasoning({ inputTokens, reportedOutput, reasoning, totalTokens })
  const cacheRead = largest(input, raw, ['cached_tokens', 'prompt_cache_hit_tokens', 'cache_read_input_tokens'])
  return {
    inputTokens,
    cacheReadTokens: limitPart(cacheRead, inputTokens),
    cacheWriteTokens: largest(input, raw, ['cache_write_tokens', 'cache_creation_input_tokens']),
    outputTokens,
    reasoningTokens: limitPart(reasoning, outputTokens),
    totalTokens: totalTokens ?? (inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens)
  }
}

/**
 * All output tokens. Some services count reasoning beside the completion: then only all three
 * counts add up to the total (field-lessons.md D3).
 */
function addReasoning(counts: Record<'inputTokens' | 'reportedOutput' | 'reasoning' | 'totalTokens', number | null>) {
  const { inputTokens, reportedOutput, reasoning, totalTokens } = counts
  if (inputTokens === null || reportedOutput === null || reasoning === null) return reportedOutput
  return totalTokens === inputTokens + reportedOutput + reasoning ? reportedOutput + reasoning : reportedOutput
}

/** The largest count of these names among the details or, as some services have it, beside the totals. */
function largest(details: unknown, totals: JsonObject, names: readonly string[]): number | null {
  const counts = [details, totals].flatMap(holder => names.map(name => detailOf(holder, name)))
  return counts.reduce((most, count) => (count === null ? most : Math.max(most ?? 0, count)), null)
}

/** A detail of the counts; null where there are no details. */
function detailOf(details: unknown, member: string): number | null {
  return isJsonObject(details) ? readDetail(details[member]) : null
}
