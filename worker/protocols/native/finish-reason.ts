// Maps the upstream's finish reasons (completions.md 6.2).

import type { ContentFilter, FinishReason } from '../../normalized/index.ts'
import { isCut } from '../shared/cut-calls.ts'

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

/**
 * @param word the upstream's finish reason, null when it sent none.
 * @param calls the calls of the response that are meant for the client.
 */
export function mapFinishReason(word: string | null, calls: { count: number; hasPartial: boolean }): ReadFinish {
  if (word === 'error' || word === 'function_call_error') return { type: 'failed' }
  const finish = (reason: FinishReason, { isKnown = true, filter }: FinishDetails = {}): ReadFinish => {
    // Agents run tools only for the reason `tool-calls`, so the calls in the response decide, not the word (field lesson A6), except where
    // the response was cut off in a call, which no agent may run.
    const decides = calls.count > 0 && !(isCut({ reason }) && calls.hasPartial)
    return {
      type: 'finish',
      reason: decides ? 'tool-calls' : reason,
      ...(filter === undefined || decides ? {} : { filter }),
      isKnown,
      isCallMissing: word !== null && CALL_WORDS.has(word) && calls.count === 0
    }
  }
  if (word === null || word === 'stop' || CALL_WORDS.has(word)) return finish('stop')
  if (word === 'length') return finish('length')
  if (word === 'content_filter') return finish('content-filter')
  if (WORD_LIST_WORDS.has(word)) return finish('content-filter', { filter: 'blocklist' })
  return finish('stop', { isKnown: false })
}
