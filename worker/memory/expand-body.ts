// Makes of a body that continues stored turns the body of a client that sent them itself: every route and every provider serves it without
// further knowledge. It is made in the bytes, so that everything else stays as the client wrote it (memory.md 3).

import type { StoredItem } from '../../shared/memory/store.ts'
import { findJsonMember, isJsonWord, type JsonMember } from '../protocols/shared/json/json-parts.ts'
import type { OwnItem } from './body-scan.ts'
import type { MemoryWish } from './read-wish.ts'

/** What stands in an expanded body besides the client's own members. */
export interface Expansion {
  /** The items of earlier turns, oldest first. */
  readonly history: readonly StoredItem[]
  /** The items that references stand for, by the index of the reference; one that the history has is left out. */
  readonly references: ReadonlyMap<number, StoredItem | 'in-history'>
  /** The thread of the native upstream that has the history. */
  readonly threadId?: string | undefined
  /** The provider is asked for a stream, also where the client wants a whole response. */
  readonly isStreamed?: boolean
}

/** An expanded body, and where its items come from. */
export interface ExpandedBody {
  readonly bytes: Buffer
  /** How many items the history has. */
  readonly historyLength: number
  /** By their place behind the history: the client's own index of each item. Empty where each has its own place. */
  readonly ownIndexes: readonly number[]
}

/** Members that only the memory reads. */
const TAKEN_OUT: ReadonlySet<string> = new Set(['previous_response_id', 'conversation', 'background'])

/**
 * Writes the body that is translated: its input holds the history and the client's own items, and no upstream stores it a second time.
 * The result shares no memory with the given bytes.
 */
export function expandBody(bytes: Buffer, wish: MemoryWish, expansion: Expansion): ExpandedBody {
  const { members } = wish
  const { history, threadId, isStreamed = false } = expansion
  const input = findJsonMember(members, 'input')
  const own = writeOwnItems(bytes, wish, expansion)
  const pieces: Uint8Array[] = []
  const last = new Set([input, findJsonMember(members, 'store'), findJsonMember(members, 'previous_response_id')])
  const isKept = (member: JsonMember): boolean => {
    if (member.name === 'previous_response_id' && threadId !== undefined) return last.has(member)
    if (TAKEN_OUT.has(member.name) || (isStreamed && member.name === 'stream')) return false
    return (member.name !== 'input' && member.name !== 'store') || last.has(member)
  }
  const first = members[0]
  pieces.push(bytes.subarray(0, first?.nameStart ?? bytes.indexOf('{') + 1))
  let isEmpty = true
  for (const [index, member] of members.entries()) {
    if (!isKept(member)) continue
    const before = members[index - 1]
    if (!isEmpty && before !== undefined) pieces.push(bytes.subarray(before.end, member.nameStart))
    isEmpty = false
    pieces.push(bytes.subarray(member.nameStart, member.start))
    if (member === input) pieces.push(...own.pieces)
    else if (member.name === 'store') pieces.push(FALSE)
    else if (member.name === 'previous_response_id') pieces.push(Buffer.from(JSON.stringify(`resp_${threadId}`)))
    else pieces.push(bytes.subarray(member.start, member.end))
  }
  const added: string[] = []
  if (findJsonMember(members, 'store') === undefined) added.push('"store":false')
  if (isStreamed) added.push('"stream":true')
  if (added.length > 0) pieces.push(Buffer.from(`${isEmpty ? '' : ','}${added.join(',')}`))
  if (input === undefined && history.length > 0) pieces.push(Buffer.from(',"input":'), ...own.pieces)
  pieces.push(bytes.subarray(members.at(-1)?.end ?? bytes.indexOf('{') + 1))
  return { bytes: Buffer.concat(pieces), historyLength: history.length, ownIndexes: own.indexes }
}

interface OwnItems {
  /** The whole value of `input`. */
  pieces: Uint8Array[]
  indexes: number[]
}

/** The value of `input`: the history, and the client's own items with the separators that it wrote. */
function writeOwnItems(bytes: Buffer, { members, input }: MemoryWish, { history, references }: Expansion): OwnItems {
  const member = findJsonMember(members, 'input')
  const value = member === undefined ? NOTHING : bytes.subarray(member.start, member.end)
  if (input.kind !== 'items') {
    if (history.length === 0) return { pieces: [value], indexes: [] }
    const isText = member !== undefined && input.kind === 'text' && !isJsonWord(bytes, member, 'null')
    const message = isText ? [TEXT_MESSAGE_HEAD, value, CLOSING_BRACE] : []
    return { pieces: [OPENING, ...joinItems(history, message.length > 0), ...message, CLOSING], indexes: [] }
  }
  if (references.size === 0) {
    const inner = value.subarray(1, -1)
    return { pieces: [OPENING, ...joinItems(history, input.items.length > 0), inner, CLOSING], indexes: [] }
  }
  const kept = input.items.flatMap((item, index) => {
    const reference = references.get(index)
    if (reference === 'in-history') return []
    return [{ item, index, json: reference?.json ?? bytes.subarray(item.start, item.end) }]
  })
  const start = member?.start ?? 0
  const firstItem = input.items[0]
  const lastItem = input.items.at(-1)
  const pieces: Uint8Array[] = [OPENING, ...joinItems(history, kept.length > 0)]
  if (firstItem !== undefined) pieces.push(bytes.subarray(start + 1, firstItem.start))
  for (const [place, { index, json }] of kept.entries()) {
    if (place > 0) pieces.push(findSeparator(bytes, input.items, index))
    pieces.push(json)
  }
  pieces.push(bytes.subarray(lastItem?.end ?? start + 1, member?.end ?? start))
  return { pieces, indexes: kept.map(({ index }) => index) }
}

/** What the client wrote between an item and the one before it. */
function findSeparator(bytes: Buffer, items: readonly OwnItem[], index: number): Uint8Array {
  const before = items[index - 1]
  const item = items[index]
  return before === undefined || item === undefined ? COMMA : bytes.subarray(before.end, item.start)
}

function joinItems(items: readonly StoredItem[], isContinued: boolean): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (const [index, { json }] of items.entries()) {
    pieces.push(json)
    if (isContinued || index < items.length - 1) pieces.push(COMMA)
  }
  return pieces
}

const NOTHING = Buffer.alloc(0)
const FALSE = Buffer.from('false')
const OPENING = Buffer.from('[')
const CLOSING = Buffer.from(']')
const COMMA = Buffer.from(',')
const CLOSING_BRACE = Buffer.from('}')
/** A text as input is one message of the user. */
const TEXT_MESSAGE_HEAD = Buffer.from('{"type":"message","role":"user","content":')
