// Reads the most common message, a role and one text, before the general readers, which cost as much for it as parsing its JSON.

import { isJsonObject, type JsonValue, type NormalizedMessage } from '../../normalized/index.ts'

/** A role and one text. */
export type PlainMessage = { role: 'user' | 'assistant' | 'system'; content: string }

/** Whether a message of a client has such a role, one text, and no other member. */
export function isPlainMessage(message: JsonValue): message is PlainMessage {
  if (!isJsonObject(message) || typeof message.content !== 'string') return false
  const { role } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'system') return false
  for (const member in message) if (member !== 'role' && member !== 'content') return false
  return true
}

/** The message in the normalized form; undefined for any other message, which the protocol's own reader must read. */
export function readPlainMessage(message: JsonValue): NormalizedMessage | undefined {
  if (!isPlainMessage(message)) return undefined
  return { role: message.role, content: [{ type: 'text', text: message.content }], form: 'text' }
}
