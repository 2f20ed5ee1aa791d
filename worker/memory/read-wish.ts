// Reads what the body of a Responses request wants of the memory, in the bytes: the rest of the body is not looked at, and a large one is
// parsed in a thread later (memory.md 2 and 3).

import { GatewayError, invalidRequest } from '../normalized/index.ts'
import {
  findJsonMember,
  isJsonWord,
  type JsonMember,
  type JsonPart,
  listJsonMembers,
  readJsonText
} from '../protocols/shared/json/json-parts.ts'
import { BodyScan, type OwnInput } from './body-scan.ts'

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
 * Reads a body. Undefined for one that is no JSON object, or whose input, id, conversation or stream has a wrong shape:
 * the reader of the request says what is wrong with it. Raises `invalid_request` for a body that names both a response
 * and a conversation, and for a `store` that is no boolean.
 */
export function readMemoryWish(bytes: Buffer): MemoryWish | undefined {
  const scan = new BodyScan(bytes)
  while (!scan.step()) {
    // All at once.
  }
  return readScanned(bytes, scan)
}

/** As `readMemoryWish`, with other work of the event loop in between where the body is large. */
export async function readMemoryWishInTurns(
  bytes: Buffer,
  ownTurn: () => Promise<void>
): Promise<MemoryWish | undefined> {
  const scan = new BodyScan(bytes)
  if (bytes.byteLength >= OWN_TURN_BYTES_MIN) await ownTurn()
  while (!scan.step(STEP_BYTES)) await ownTurn()
  return readScanned(bytes, scan)
}

/** A body that is looked at for longer is the only one in its turn of the event loop. */
const OWN_TURN_BYTES_MIN = 64 * 1024
/** So much is looked at in one turn: 2 ms or so, where it is full of small items. */
const STEP_BYTES = 256 * 1024

function readScanned(bytes: Buffer, { members, input }: BodyScan): MemoryWish | undefined {
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
  const stream = find('stream')
  if (stream !== undefined && !isJsonWord(bytes, stream, 'true') && !isJsonWord(bytes, stream, 'false')) {
    return undefined
  }
  const store = find('store')
  return {
    members,
    input,
    model: readText('model'),
    store: store === undefined ? undefined : readStore(bytes, store),
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

/** A value such as `"false"` is refused: taken for absent, it would store what its client may want not to be stored. */
function readStore(bytes: Buffer, part: JsonPart): boolean {
  if (isJsonWord(bytes, part, 'true')) return true
  if (isJsonWord(bytes, part, 'false')) return false
  throw invalidRequest('store', `'store' must be true or false.`)
}

function readConversationId(bytes: Buffer, conversation: JsonPart): string | undefined {
  const text = readJsonText(bytes, conversation)
  if (text !== undefined) return text
  const members = listJsonMembers(bytes, conversation.start) ?? []
  const id = findJsonMember(members, 'id')
  return id === undefined ? undefined : readJsonText(bytes, id)
}
