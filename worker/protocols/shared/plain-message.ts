// Reads the most common message, a role and one text, before the general readers, which cost as much for it as parsing its JSON.

import { isJsonObject, type JsonValue, type NormalizedMessage } from '../../normalized/index.ts'

/** The message in the normalized form; undefined for any other message, which the protocol's own reader must read. */
export function readPlainMessage(message: JsonValue): NormalizedMessage | undefined {
  if (!isJsonObject(message) || typeof message.content !== 'string') return undefined
  const { role } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'system') return undefined
  for (const member in message) if (member !== 'role' && member !== 'content') return undefined
  return { role, content: [{ type: 'text', text: message.content }], form: 'text' }
}
