// Maps the upstream's finish reasons (completions.md 6.2).

import type { FinishReason } from '../../normalized/index.ts'

export type ReadFinish =
  | { type: 'finish'; reason: FinishReason; isKnown: boolean; isCallMissing: boolean }
  /** The upstream failed during generation: there is no response. */
  | { type: 'failed' }

const CONTENT_FILTER_WORDS: ReadonlySet<string> = new Set([
  'blacklist',
  'request_blacklist',
  'response_blacklist',
  'request_whitelist',
  'request_filter',
  'content_filter'
])

/** @param word the upstream's finish reason, null when it sent none. */
export function mapFinishReason(word: string | null, toolCallCount: number): ReadFinish {
  if (word === 'error' || word === 'function_call_error') return { type: 'failed' }
  const hasCall = toolCallCount > 0
  const finish = (reason: FinishReason, isKnown = true): ReadFinish => ({
    type: 'finish',
    // Agents run tools only for the reason `tool-calls`, so the calls in the response decide, not the word (field lesson A6).
    reason: hasCall ? 'tool-calls' : reason,
    isKnown,
    isCallMissing: word === 'function_call' && !hasCall
  })
  if (word === null || word === 'stop' || word === 'function_call') return finish('stop')
  if (word === 'length') return finish('length')
  if (CONTENT_FILTER_WORDS.has(word)) return finish('content-filter')
  return finish('stop', false)
}
