// Reads what the body of a Responses request wants of the memory, in the bytes: the rest of the body is not looked at, and a large one is
// parsed in a thread later (memory.md 2 and 3).

import { GatewayError, invalidRequest } from '../normalized/index.ts'
import {
  findJsonMember,
  isJsonWord,
  type JsonMember,
  type JsonPart,
  listJsonItems,
  listJsonMembers,
  readJsonText
} from '../protocols/shared/json-parts.ts'

/** An item of the request's own input. */
export interface OwnItem extends JsonPart {
  /** As the client wrote it. */
  readonly id?: string | undefined
  /** '' for an item without a type. */
  readonly type: string
  /** The item stands for a stored one. */
  readonly isReference?: true
}

/** The input of a body. */
export type OwnInput =
  | { readonly kind: 'items'; readonly items: readonly OwnItem[] }
  /** One message of the user. */
  | { readonly kind: 'text' }
  /** Absent or null: enough for a request that continues a conversation. */
  | { readonly kind: 'none' }

/** What a body wants of the memory. */
export interface MemoryWish {
  /** Of the whole body. */
  readonly members: readonly JsonMember[]
  readonly input: OwnInput
  readonly model?: string | undefined
  /** Undefined where the client did not say. */
  readonly store?: boolean | undefined
  readonly previousResponseId?: string | undefined
  readonly conversationId?: string | undefined
  readonly isBackground: boolean
  readonly isStream: boolean
  /** Older turns may be left out where the context is too long. */
  readonly mayTruncate: boolean
}

/**
 * Reads a body. Undefined for one that is no JSON object, or whose input, id or conversation has a wrong shape: the reader of the request
 * says what is wrong with it. Raises `invalid_request` for a body that names both a response and a conversation.
 */
export function readMemoryWish(bytes: Buffer): MemoryWish | undefined {
  const members = listJsonMembers(bytes)
  if (members === undefined) return undefined
  const find = (name: string) => {
    const member = findJsonMember(members, name)
    return member === undefined || isJsonWord(bytes, member, 'null') ? undefined : member
  }
  const readText = (name: string) => {
    const member = find(name)
    return member === undefined ? undefined : readJsonText(bytes, member)
  }
  const isTrue = (name: string) => {
    const member = find(name)
    return member !== undefined && isJsonWord(bytes, member, 'true')
  }
  const input = readInput(bytes, find('input'))
  const previousResponseId = readText('previous_response_id')
  if (input === undefined || (find('previous_response_id') !== undefined && previousResponseId === undefined)) {
    return undefined
  }
  const conversation = find('conversation')
  const conversationId = conversation === undefined ? undefined : readConversationId(bytes, conversation)
  if (conversation !== undefined && conversationId === undefined) return undefined
  if (previousResponseId !== undefined && conversationId !== undefined) {
    throw invalidRequest('conversation', `Send either 'previous_response_id' or 'conversation', not both.`)
  }
  const store = find('store')
  return {
    members,
    input,
    model: readText('model'),
    store: store === undefined ? undefined : readBoolean(bytes, store),
    previousResponseId,
    conversationId,
    isBackground: isTrue('background'),
    isStream: isTrue('stream'),
    mayTruncate: readText('truncation') === 'auto'
  }
}

/** Whether a body names stored things. */
export function needsHistory({ previousResponseId, conversationId, input }: MemoryWish): boolean {
  return previousResponseId !== undefined || conversationId !== undefined || listReferences(input).length > 0
}

/** The items that stand for stored ones, each with its place in the input. */
export function listReferences(input: OwnInput): Array<{ readonly index: number; readonly id: string }> {
  if (input.kind !== 'items') return []
  return input.items.flatMap(({ id, isReference }, index) =>
    isReference === true && id !== undefined ? [{ index, id }] : []
  )
}

/** The error for a reference to an item that is not stored. */
export function unknownItem(index: number, id: string): GatewayError {
  return new GatewayError('object_not_found', {
    param: `input[${index}].id`,
    message: `Item with id '${id.slice(0, SHOWN_ID_CHARACTERS_MAX)}' not found.`
  })
}

/** A longer id is cut in the error. */
const SHOWN_ID_CHARACTERS_MAX = 128

function readBoolean(bytes: Buffer, part: JsonPart): boolean | undefined {
  if (isJsonWord(bytes, part, 'true')) return true
  return isJsonWord(bytes, part, 'false') ? false : undefined
}

function readConversationId(bytes: Buffer, conversation: JsonPart): string | undefined {
  const text = readJsonText(bytes, conversation)
  if (text !== undefined) return text
  const members = listJsonMembers(bytes, conversation.start) ?? []
  const id = findJsonMember(members, 'id')
  return id === undefined ? undefined : readJsonText(bytes, id)
}

function readInput(bytes: Buffer, input: JsonPart | undefined): OwnInput | undefined {
  if (input === undefined) return { kind: 'none' }
  if (readJsonText(bytes, input) !== undefined) return { kind: 'text' }
  const parts = listJsonItems(bytes, input.start)
  if (parts === undefined) return undefined
  return { kind: 'items', items: parts.map(part => readItem(bytes, part)) }
}

/** Reads what tells items apart. What is no object is an item without id and type: the reader of the request refuses it. */
function readItem(bytes: Buffer, part: JsonPart): OwnItem {
  const members = listJsonMembers(bytes, part.start) ?? []
  const readText = (name: string) => {
    const member = findJsonMember(members, name)
    return member === undefined ? undefined : readJsonText(bytes, member)
  }
  const id = readText('id')
  const type = readText('type') ?? ''
  const item = { start: part.start, end: part.end, id: id === '' ? undefined : id, type }
  return id !== undefined && isReference(bytes, type, members) ? { ...item, isReference: true } : item
}

/** An item without a type, a role and a content is a reference too: SDKs write it so. */
function isReference(bytes: Buffer, type: string, members: readonly JsonMember[]): boolean {
  if (type === 'item_reference') return true
  const written = findJsonMember(members, 'type')
  const isTyped = written !== undefined && !isJsonWord(bytes, written, 'null')
  return !isTyped && !members.some(({ name }) => name === 'role' || name === 'content')
}
