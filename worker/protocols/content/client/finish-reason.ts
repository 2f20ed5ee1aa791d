// Why an answer ended, in the family's words (content.md 5.1).

import type { FinishReason } from '../../../normalized/index.ts'
import { type ContentFinishReason, type ContentResponse, finishReasons } from './schema.ts'

/** What of an answer decides how its end is called. */
export interface AnswerContent {
  /** Anything but thoughts. */
  hasContent: boolean
  hasCall: boolean
  hasRefusal: boolean
}

/** An answer of which the filter left nothing counts as a prompt that was refused. */
export function writePromptFeedback(
  finishReason: ContentFinishReason,
  content: AnswerContent
): Pick<ContentResponse, 'promptFeedback'> {
  return finishReason === 'BLOCKLIST' && !content.hasContent ? { promptFeedback: { blockReason: 'BLOCKLIST' } } : {}
}

const ownReasons: ReadonlySet<string> = new Set(finishReasons)

/** The native upstream's words for its lists. */
const LIST_WORDS: ReadonlySet<string> = new Set([
  'blacklist',
  'request_blacklist',
  'response_blacklist',
  'request_whitelist',
  'request_filter'
])

/** Providers' words for an ordinary end. */
const STOP_WORDS: ReadonlySet<string> = new Set([
  'stop',
  'function_call',
  'tool_calls',
  'end_turn',
  'stop_sequence',
  'tool_use'
])

/** The family's finish word (content.md 5.1). A provider of this very family knows more words than the normalized form: they stay. */
export function mapFinishReason(
  finish: { reason: FinishReason; providerReason: string | null; stopSequence?: string },
  content: AnswerContent
): ContentFinishReason {
  const word = finish.providerReason
  if (word !== null && isOwnReason(word) && finish.stopSequence === undefined) return word
  switch (finish.reason) {
    case 'length':
      return 'MAX_TOKENS'
    case 'content-filter':
      return word !== null && LIST_WORDS.has(word) ? 'BLOCKLIST' : 'SAFETY'
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

function isOwnReason(word: string): word is ContentFinishReason {
  return ownReasons.has(word)
}
