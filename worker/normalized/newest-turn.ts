// The newest turn of the user: what the model has to read now. All else of a conversation is history.

import type { NormalizedMessage } from './content.ts'

/**
 * The place of the first message behind the model's last turn. A text of the assistant at the end, which the model continues, is no turn of
 * its own.
 */
export function findNewestTurn(messages: readonly Pick<NormalizedMessage, 'role'>[]): number {
  let start = messages.length
  while (start > 0 && messages[start - 1]?.role === 'assistant') start--
  while (start > 0 && messages[start - 1]?.role !== 'assistant') start--
  return start
}

/** A message of the user itself. One with results of calls is what the tools say, and so are the media in it: clients put them beside. */
export function isUserTurn({ role, content }: Pick<NormalizedMessage, 'role' | 'content'>): boolean {
  return role === 'user' && content.every(part => part.type !== 'tool-result')
}
