// The objects that the operations on stored things answer with (memory.md 4), in the form of the official SDK.

import { asBuffer } from '../../shared/bytes.ts'
import type { ConversationRecord, ResponseRecord, StoredItem } from '../../shared/memory/store.ts'
import type { JsonObject, JsonValue } from '../normalized/index.ts'
import { findJsonMember, listJsonMembers } from '../protocols/shared/json/json-parts.ts'
import { writeItem, writeShownItem } from './shown-item.ts'

export type DeletedResponse = { id: string; object: 'response'; deleted: true }

export type Conversation = {
  id: string
  object: 'conversation'
  /** Seconds since the epoch. */
  created_at: number
  metadata: Record<string, string>
}

export type DeletedConversation = { id: string; object: 'conversation.deleted'; deleted: true }

export type ItemList = {
  object: 'list'
  data: JsonObject[]
  /** '' where the list is empty. */
  first_id: string
  last_id: string
  has_more: boolean
}

/** The response object with its output, byte for byte as it was written. */
export function writeStoredResponse({ body, output }: Pick<ResponseRecord, 'body' | 'output'>): Buffer {
  const bytes = asBuffer(body)
  const list = writeList(output.map(writeItem))
  const members = listJsonMembers(bytes) ?? []
  const member = findJsonMember(members, 'output')
  if (member !== undefined) return Buffer.concat([bytes.subarray(0, member.start), list, bytes.subarray(member.end)])
  const end = bytes.lastIndexOf('}')
  const comma = members.length > 0 ? ',' : ''
  return Buffer.concat([bytes.subarray(0, end), Buffer.from(`${comma}"output":`), list, bytes.subarray(end)])
}

/** A page of items. */
export function writeItemList(items: readonly StoredItem[], hasMore: boolean): Buffer {
  const ends = JSON.stringify({
    first_id: items[0]?.id ?? '',
    last_id: items.at(-1)?.id ?? '',
    has_more: hasMore
  })
  const list = writeList(items.map(writeShownItem))
  return Buffer.concat([Buffer.from('{"object":"list","data":'), list, Buffer.from(`,${ends.slice(1)}`)])
}

export function writeConversation({ id, createdAt, metadata }: ConversationRecord): Conversation {
  const read: JsonValue = JSON.parse(asBuffer(metadata).toString())
  return { id, object: 'conversation', created_at: createdAt, metadata: read as Record<string, string> }
}

function writeList(items: readonly Buffer[]): Buffer {
  const pieces: Buffer[] = [OPENING]
  for (const [index, item] of items.entries()) {
    if (index > 0) pieces.push(COMMA)
    pieces.push(item)
  }
  pieces.push(CLOSING)
  return Buffer.concat(pieces)
}

const OPENING = Buffer.from('[')
const CLOSING = Buffer.from(']')
const COMMA = Buffer.from(',')
