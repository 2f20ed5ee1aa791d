// Reads the conversation: the system instruction and the messages with their blocks (messages.md 2 and 3). Nothing is merged or
// moved here, because each provider face orders the messages as its wire needs them.

import {
  type ContentPart,
  invalidRequest,
  isJsonObject,
  type JsonValue,
  type NormalizedMessage
} from '../../../normalized/index.ts'
import { readString, wrongType } from '../../shared/members/field.ts'
import { readPlainMessage } from '../../shared/plain-message.ts'
import { type BlockPlace, readBlocks } from './read-blocks.ts'
import type { MessagesRequest } from './schema.ts'

/** What all blocks of a body share (`BlockPlace`). */
export type ReadingNotes = Pick<BlockPlace, 'ignored' | 'numbers'>

/**
 * Reads `messages`. Raises `invalid_request` with the path of the missing or wrong member. An empty list is accepted here.
 * The types of blocks without effect are added to `notes.ignored`.
 */
export function readMessages(body: Pick<MessagesRequest, 'messages'>, notes: ReadingNotes): NormalizedMessage[] {
  const { messages } = body
  if (messages === undefined) throw invalidRequest('messages', 'Field required')
  if (!Array.isArray(messages)) throw wrongType('messages', 'an array', messages)
  return messages.map((message, index) => {
    const read = readPlainMessage(message) ?? readMessage(message, `messages[${index}]`, notes)
    return read.role === 'system' ? { ...read, content: dropBillingLines(read.content) } : read
  })
}

/** Reads `system` as one message, or as none when it has no text. Raises `invalid_request` as `readMessages` does. */
export function readSystem(body: Pick<MessagesRequest, 'system'>, notes: ReadingNotes): NormalizedMessage[] {
  const system = body.system ?? undefined
  if (system === undefined || system === '') return []
  const read = readContent(system, { role: 'system', path: 'system', ...notes })
  const message = { role: 'system' as const, ...read, content: dropBillingLines(read.content) }
  return message.content.every(part => part.type === 'text' && part.text === '') ? [] : [message]
}

const BILLING_HEADER = 'x-anthropic-billing-header:'
const BILLING_LINES = new RegExp(`^${BILLING_HEADER}.*(?:\\r?\\n|$)`, 'gm')

/**
 * Removes the lines with which a coding agent marks its requests for its own service: they differ
 * in every request, so that no provider could reuse the cached beginning of the prompt
 * (decisions.md 57).
 */
function dropBillingLines(content: ContentPart[]): ContentPart[] {
  if (!content.some(part => part.type === 'text' && part.text.includes(BILLING_HEADER))) return content
  return content.flatMap(part => {
    if (part.type !== 'text' || !part.text.includes(BILLING_HEADER)) return part
    const text = part.text.replaceAll(BILLING_LINES, '')
    return text === '' ? [] : { ...part, text }
  })
}

function readMessage(message: JsonValue, path: string, notes: ReadingNotes): NormalizedMessage {
  if (!isJsonObject(message)) throw wrongType(path, 'an object', message)
  const role = readString(message, 'role', path)
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw invalidRequest(`${path}.role`, `'${path}.role' must be user, assistant or system.`)
  }
  return { role, ...readContent(message.content, { role, path: `${path}.content`, ...notes }) }
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
