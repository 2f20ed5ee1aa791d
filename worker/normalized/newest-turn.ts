// The newest turn of the user: what the model has to read now. All else of a conversation is history.

import type { NormalizedMessage } from './content.ts'

/**
 * The place of the first message behind the model's last turn. A text of the assistant at the end, which the model continues, is no turn of
 * its own.
 */
export function findNewestTurn(messages: readonly Pick<NormalizedMessage, 'role'>[]): number {
  return findNewestEntry(messages, ({ role }) => role === 'assistant')
}

/** The same place in the entries of a client's conversation. */
export function findNewestEntry<Entry>(entries: readonly Entry[], isOfModel: (entry: Entry) => boolean): number {
  const isAt = (index: number) => isOfModel(entries[index] as Entry)
  let start = entries.length
  while (start > 0 && isAt(start - 1)) start--
  while (start > 0 && !isAt(start - 1)) start--
  return start
}

/** A message of the user itself. One with results of calls is what the tools say, and so are the media in it: clients put them beside. */
export function isUserTurn({ role, content }: Pick<NormalizedMessage, 'role' | 'content'>): boolean {
  return role === 'user' && content.every(part => part.type !== 'tool-result')
}
