// Reads the token counts of the Anthropic Messages wire. A count that the provider does not report is null, not zero.

import { isJsonObject, type NormalizedUsage } from '../../../normalized/index.ts'
import { invalidUsage, limitPart, readCount, readDetail } from '../../shared/token-counts.ts'

/** The counts of one `usage` object. */
interface Counts {
  /** Input tokens that were neither read from a cache nor written to one. */
  input: number | null
  cacheRead: number | null
  cacheWrite: number | null
  output: number | null
  thinking: number | null
}

/** Collects the counts of one response: a stream sends some at its start and the final ones at its end. */
export class UsageReader {
  #counts: Counts = { input: null, cacheRead: null, cacheWrite: null, output: null, thinking: null }

  /**
   * Adds a `usage` object; anything that is missing or null leaves the count so far. Raises `provider_protocol_error` for counts that are no
   * counts (bridge.md 8.4).
   */
  add(usage: unknown): void {
    if (usage === undefined || usage === null) return
    if (!isJsonObject(usage)) throw invalidUsage()
    const { input, cacheRead, cacheWrite, output, thinking } = this.#counts
    const details = isJsonObject(usage.output_tokens_details) ? usage.output_tokens_details.thinking_tokens : undefined
    this.#counts = {
      input: join(input, readCount(usage.input_tokens)),
      cacheRead: join(cacheRead, readCount(usage.cache_read_input_tokens)),
      cacheWrite: join(cacheWrite, readCount(usage.cache_creation_input_tokens)),
      output: join(output, readCount(usage.output_tokens)),
      thinking: join(thinking, readDetail(details))
    }
  }

  /** The counts so far in the normalized form; null when the provider reported neither input nor output. */
  get usage(): NormalizedUsage | null {
    const { input, cacheRead, cacheWrite, output, thinking } = this.#counts
    if (input === null && output === null) return null
    // On this wire the input does not include what was read from a cache or written to one.
    const inputTokens = input === null ? null : input + (cacheRead ?? 0) + (cacheWrite ?? 0)
    return {
      inputTokens,
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite,
      outputTokens: output,
      reasoningTokens: limitPart(thinking, output),
      totalTokens: inputTokens === null || output === null ? null : inputTokens + output
    }
  }
}

/** Counts of a stream are cumulative. Some servers end with zeros for what the start of the stream has counted. */
function join(known: number | null, later: number | null): number | null {
  return later === null || (later === 0 && known !== null) ? known : later
}
