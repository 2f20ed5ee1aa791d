// Maps the upstream's finish reasons (completions.md 6.2).

import type { ContentFilter, FinishReason } from '../../normalized/index.ts'
import { isCut } from '../shared/tools/cut-calls.ts'

export interface ReadFinish {
  reason: FinishReason
  filter?: ContentFilter
  /** False for a word that the contract does not have. */
  isKnown: boolean
  /** The upstream announced a call and sent none. */
  isCallMissing: boolean
}

interface Meaning {
  reason: FinishReason
  filter?: ContentFilter
}

const STOP: Meaning = { reason: 'stop' }
const BLOCKLIST: Meaning = { reason: 'content-filter', filter: 'blocklist' }

/** The second word is that of frames in the form of chat completions (decisions.md 61). */
const CALL_WORDS: ReadonlySet<string> = new Set(['function_call', 'tool_calls'])

/** A failure during generation: there is no response. */
const FAILURE_WORDS: ReadonlySet<string> = new Set(['error', 'function_call_error'])

const MEANINGS: ReadonlyMap<string, Meaning> = new Map([
  ['stop', STOP],
  ...Array.from(CALL_WORDS, word => [word, STOP] as const),
  ['length', { reason: 'length' }],
  ['content_filter', { reason: 'content-filter' }],
  ['blacklist', BLOCKLIST],
  ['request_blacklist', BLOCKLIST],
  ['response_blacklist', BLOCKLIST],
  ['request_whitelist', BLOCKLIST],
  ['request_filter', BLOCKLIST]
])

/** True for a finish reason that says that the generation failed; false for null, which stands for none. */
export function isFailure(word: string | null): boolean {
  return word !== null && FAILURE_WORDS.has(word)
}

/**
 * @param word the upstream's finish reason, null when it sent none; no failure.
 * @param calls the calls of the response that are meant for the client.
 */
export function mapFinishReason(word: string | null, calls: { count: number; hasPartial: boolean }): ReadFinish {
  const meaning = word === null ? STOP : MEANINGS.get(word)
  const { reason, filter } = meaning ?? STOP
  // Agents run tools only for the reason `tool-calls`, so the calls in the response decide, not the
  // word (field-lessons.md A6), except where the response was cut off in a call, which no agent may
  // run.
  const decides = calls.count > 0 && !(isCut({ reason }) && calls.hasPartial)
  const finish: ReadFinish = {
    reason: decides ? 'tool-calls' : reason,
    isKnown: meaning !== undefined,
    isCallMissing: word !== null && CALL_WORDS.has(word) && calls.count === 0
  }
  if (filter !== undefined && !decides) finish.filter = filter
  return finish
}
