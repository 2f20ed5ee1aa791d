// The finish reasons of the chat completions wire: its own words, and those of services that have others for the same (decisions.md 81).

import type { FinishReason } from '../../../normalized/index.ts'

/** The generation failed: what there is of the response is cut off, and a response without content is an error. */
export type WireFinish = FinishReason | 'failed'

const meanings: ReadonlyMap<string, WireFinish> = new Map([
  ['tool_calls', 'tool-calls'],
  ['tool_call', 'tool-calls'],
  ['tool_use', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['length', 'length'],
  ['model_length', 'length'],
  ['max_length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['max_completion_tokens', 'length'],
  ['token_limit', 'length'],
  ['context_length', 'length'],
  ['context_length_exceeded', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['insufficient_system_resource', 'length'],
  ['abort', 'length'],
  ['aborted', 'length'],
  ['content_filter', 'content-filter'],
  ['content_filtered', 'content-filter'],
  ['filtered', 'content-filter'],
  ['sensitive', 'content-filter'],
  ['safety', 'content-filter'],
  ['recitation', 'content-filter'],
  ['prohibited_content', 'content-filter'],
  ['blocklist', 'content-filter'],
  ['blacklist', 'content-filter'],
  ['spii', 'content-filter'],
  ['refusal', 'content-filter'],
  ['guardrail_intervened', 'content-filter'],
  ['error', 'failed'],
  ['network_error', 'failed']
])

/** Services put a detail behind their word, such as `content_filter: PROHIBITED_CONTENT`. */
const WORD = /^[a-z_]+/

/** What a word says of the end of a response; null and every word without a known meaning stand for an ordinary end. */
export function readFinishWord(word: unknown): WireFinish {
  if (typeof word !== 'string') return 'stop'
  const plain = WORD.exec(word.trim().toLowerCase())?.[0] ?? ''
  return meanings.get(plain) ?? 'stop'
}
