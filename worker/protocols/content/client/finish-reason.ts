// Maps the normalized finish reason to the protocol's finish reasons (content.md 5.1).

import type { NormalizedResponse } from '../../../normalized/index.ts'
import { type ContentFinishReason, type ContentResponse, finishReasons } from './schema.ts'

/** The properties of a response's content that decide the finish reason. */
export interface ContentSummary {
  /** Anything but thoughts. */
  hasContent: boolean
  hasCall: boolean
  hasRefusal: boolean
}

/** Writes the feedback for a refused prompt: a filtered response without content counts as one. */
export function writePromptFeedback(
  finishReason: ContentFinishReason,
  content: ContentSummary
): Pick<ContentResponse, 'promptFeedback'> {
  return finishReason === 'BLOCKLIST' && !content.hasContent ? { promptFeedback: { blockReason: 'BLOCKLIST' } } : {}
}

const knownReasons: ReadonlySet<string> = new Set(finishReasons)

/** Finish reasons of providers for an ordinary end. */
const STOP_WORDS: ReadonlySet<string> = new Set([
  'stop',
  'function_call',
  'tool_calls',
  'tool_call',
  'end_turn',
  'stop_sequence',
  'tool_use',
  'eos',
  'eos_token',
  'complete',
  'completed'
])

/** Maps a finish reason (content.md 5.1). A reason that a provider of the same protocol sent stays unchanged. */
export function mapFinishReason(finish: NormalizedResponse['finish'], content: ContentSummary): ContentFinishReason {
  const word = finish.providerReason
  if (word !== null && isContentFinishReason(word) && finish.stopSequence === undefined) return word
  switch (finish.reason) {
    case 'length':
      return 'MAX_TOKENS'
    case 'content-filter':
      return finish.filter === 'blocklist' ? 'BLOCKLIST' : 'SAFETY'
    case 'cancelled':
      return 'OTHER'
    case 'tool-calls':
      return 'STOP'
    case 'stop':
      if (content.hasRefusal) return 'SAFETY'
      if (content.hasCall || word === null || finish.stopSequence !== undefined) return 'STOP'
      return STOP_WORDS.has(word) ? 'STOP' : 'OTHER'
  }
}

function isContentFinishReason(word: string): word is ContentFinishReason {
  return knownReasons.has(word)
}
