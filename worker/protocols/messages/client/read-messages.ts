// The conversation as the client sent it: the instruction beside the messages, and the messages with their blocks
// (messages.md 2 and 3). Nothing is merged or moved here, because what a provider wants of that is its own face's business.

import {
  type Diagnostics,
  invalidRequest,
  isJsonObject,
  type JsonValue,
  type NormalizedMessage
} from '../../../normalized/index.ts'
import { readString, wrongType } from '../../shared/field.ts'
import { readPlainMessage } from '../../shared/plain-message.ts'
import { readBlocks } from './read-blocks.ts'
import type { MessagesRequest } from './schema.ts'

/**
 * Reads `messages`. Raises `invalid_request` with the path of what is missing or wrong; an empty list is not judged here.
 * Blocks that have no effect are noted in `ignored` by their type.
 */
export function readMessages(body: Pick<MessagesRequest, 'messages'>, ignored: Diagnostics): NormalizedMessage[] {
  const { messages } = body
  if (messages === undefined) throw invalidRequest('messages', 'Field required')
  if (!Array.isArray(messages)) throw wrongType('messages', 'an array', messages)
  return messages.map(
    (message, index) => readPlainMessage(message) ?? readMessage(message, `messages[${index}]`, ignored)
  )
}

/** Reads `system` as a message of its own; as none when it says nothing. Raises `invalid_request` like the messages do. */
export function readSystem(body: Pick<MessagesRequest, 'system'>, ignored: Diagnostics): NormalizedMessage[] {
  const system = body.system ?? undefined
  if (system === undefined || system === '') return []
  const message = { role: 'system' as const, ...readContent(system, { role: 'system', path: 'system', ignored }) }
  return message.content.every(part => part.type === 'text' && part.text === '') ? [] : [message]
}

function readMessage(message: JsonValue, path: string, ignored: Diagnostics): NormalizedMessage {
  if (!isJsonObject(message)) throw wrongType(path, 'an object', message)
  const role = readString(message, 'role', path)
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw invalidRequest(`${path}.role`, `'${path}.role' must be user, assistant or system.`)
  }
  return { role, ...readContent(message.content, { role, path: `${path}.content`, ignored }) }
}

function readContent(
  content: JsonValue | undefined,
  place: Parameters<typeof readBlocks>[1]
): Pick<NormalizedMessage, 'content' | 'form'> {
  if (typeof content === 'string') return { content: [{ type: 'text', text: content }], form: 'text' }
  if (content === undefined) throw invalidRequest(place.path, 'Field required')
  if (!Array.isArray(content)) throw wrongType(place.path, 'a string or an array', content)
  return { content: readBlocks(content, place) }
}
