// Maps the upstream's finish reasons (completions.md 6.2).

import type { ContentFilter, FinishReason } from '../../normalized/index.ts'

export type ReadFinish =
  | { type: 'finish'; reason: FinishReason; filter?: ContentFilter; isKnown: boolean; isCallMissing: boolean }
  /** The upstream failed during generation: there is no response. */
  | { type: 'failed' }

const WORD_LIST_WORDS: ReadonlySet<string> = new Set([
  'blacklist',
  'request_blacklist',
  'response_blacklist',
  'request_whitelist',
  'request_filter'
])

/** The second word is that of frames in the form of chat completions (decisions 61). */
const CALL_WORDS: ReadonlySet<string> = new Set(['function_call', 'tool_calls'])

interface FinishDetails {
  isKnown?: boolean
  filter?: ContentFilter
}

/** @param word the upstream's finish reason, null when it sent none. */
export function mapFinishReason(word: string | null, toolCallCount: number): ReadFinish {
  if (word === 'error' || word === 'function_call_error') return { type: 'failed' }
  const hasCall = toolCallCount > 0
  const finish = (reason: FinishReason, { isKnown = true, filter }: FinishDetails = {}): ReadFinish => ({
    type: 'finish',
    // Agents run tools only for the reason `tool-calls`, so the calls in the response decide, not the word (field lesson A6).
    reason: hasCall ? 'tool-calls' : reason,
    ...(filter === undefined || hasCall ? {} : { filter }),
    isKnown,
    isCallMissing: word !== null && CALL_WORDS.has(word) && !hasCall
  })
  if (word === null || word === 'stop' || CALL_WORDS.has(word)) return finish('stop')
  if (word === 'length') return finish('length')
  if (word === 'content_filter') return finish('content-filter')
  if (WORD_LIST_WORDS.has(word)) return finish('content-filter', { filter: 'blocklist' })
  return finish('stop', { isKnown: false })
}
