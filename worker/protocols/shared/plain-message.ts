// The message that nearly all messages are: a role and one text. It is told apart first, because reading it member by member costs
// as much as the parsing of its JSON.

import { isJsonObject, type JsonValue, type NormalizedMessage } from '../../normalized/index.ts'

/** Such a message in the normalized form; undefined for any other, which its family reads and judges. */
export function readPlainMessage(message: JsonValue): NormalizedMessage | undefined {
  if (!isJsonObject(message) || typeof message.content !== 'string') return undefined
  const { role } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'system') return undefined
  for (const member in message) if (member !== 'role' && member !== 'content') return undefined
  return { role, content: [{ type: 'text', text: message.content }], form: 'text' }
}
