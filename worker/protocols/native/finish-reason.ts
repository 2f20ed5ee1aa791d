// The upstream's words for why an answer ended (completions.md 6.2).

import type { FinishReason } from '../../normalized/index.ts'

export type ReadFinish =
  | { type: 'finish'; reason: FinishReason; isKnown: boolean; isCallMissing: boolean }
  /** The upstream failed while it generated: there is no answer. */
  | { type: 'failed' }

const CONTENT_FILTER_WORDS: ReadonlySet<string> = new Set([
  'blacklist',
  'request_blacklist',
  'response_blacklist',
  'request_whitelist',
  'request_filter',
  'content_filter'
])

/** @param word the upstream's reason, null where it gave none. */
export function mapFinishReason(word: string | null, toolCallCount: number): ReadFinish {
  if (word === 'error' || word === 'function_call_error') return { type: 'failed' }
  const hasCall = toolCallCount > 0
  const finish = (reason: FinishReason, isKnown = true): ReadFinish => ({
    type: 'finish',
    // Agents run tools only on that word, so what was delivered decides and not what was announced (field lesson A6).
    reason: hasCall ? 'tool-calls' : reason,
    isKnown,
    isCallMissing: word === 'function_call' && !hasCall
  })
  if (word === null || word === 'stop' || word === 'function_call') return finish('stop')
  if (word === 'length') return finish('length')
  if (CONTENT_FILTER_WORDS.has(word)) return finish('content-filter')
  return finish('stop', false)
}
