// Looks at a chat body without parsing it. A body is plain when its messages are texts with a role: nothing in them can be refused, and
// nothing has to change for a provider of the client's own wire. What stands around them is parsed, with one message in place of all.

import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { asBuffer } from '../../../shared/bytes.ts'
import type { BodyOutline, OutlineReader } from '../face.ts'
import {
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE
} from './json-characters.ts'
import { JsonCursor } from './json-cursor.ts'

/** Stands for all messages. A client cannot know its text, so that nothing else in a body looks like it. */
const ONE_MESSAGE = `[{"role":"user","content":"plain-messages-${randomUUID()}"}]`

/** More than any client has. The cost of a body is bounded by them, because it is read on the event loop. */
const MEMBERS_MAX = 64
const MESSAGES_MAX = 20_000
/** What stands around the messages is parsed on the event loop as well. */
const AROUND_BYTES_MAX = 16 * 1024
const DEPTH_MAX = 32

/** Reads bodies whose member `messages` is a list of roles and texts, in the protocols that have one. */
export const plainMessages: OutlineReader = { messages: ONE_MESSAGE, read: readOutline }

function readOutline(bytes: Uint8Array): BodyOutline | undefined {
  const buffer = asBuffer(bytes)
  if (buffer[0] !== OPENING_BRACE || !isUtf8(buffer)) return undefined
  const cursor = new JsonCursor(buffer)
  let messages: BodyOutline['messages'] | undefined
  let memberCount = 0
  cursor.at = 1
  do {
    // An escape may spell the name of any member.
    if (!cursor.takeText() || cursor.isEscaped || ++memberCount > MEMBERS_MAX) return undefined
    const isList = cursor.isText('messages')
    if (!cursor.take(COLON)) return undefined
    if (isList) {
      if (messages !== undefined || cursor.peek() !== OPENING_BRACKET) return undefined
      const start = cursor.at
      if (!passMessages(cursor)) return undefined
      messages = { start, end: cursor.at }
    } else if (!passValue(cursor, { depth: 0, endMax: cursor.at + AROUND_BYTES_MAX })) return undefined
  } while (cursor.take(COMMA))
  if (!cursor.take(CLOSING_BRACE) || !cursor.isAtEnd() || messages === undefined) return undefined
  if (buffer.length - (messages.end - messages.start) > AROUND_BYTES_MAX) return undefined
  const before = buffer.toString('latin1', 0, messages.start)
  return { text: before + ONE_MESSAGE + buffer.toString('latin1', messages.end), messages }
}

interface Bounds {
  depth: number
  /** A value that reaches beyond is too long to be looked at here. */
  endMax: number
}

function passValue(cursor: JsonCursor, { depth, endMax }: Bounds): boolean {
  if (depth > DEPTH_MAX || cursor.at > endMax) return false
  const inner = { depth: depth + 1, endMax }
  switch (cursor.peek()) {
    case QUOTE:
      return cursor.takeText()
    case OPENING_BRACE:
      return passAll(cursor, CLOSING_BRACE, () => cursor.takeText() && cursor.take(COLON) && passValue(cursor, inner))
    case OPENING_BRACKET:
      return passAll(cursor, CLOSING_BRACKET, () => passValue(cursor, inner))
    default:
      return cursor.takeWord('false') || cursor.takeWord('true') || cursor.takeWord('null') || cursor.takeNumber()
  }
}

/** Passes an object or a list, whose opening bracket comes next. */
function passAll(cursor: JsonCursor, closing: number, passOne: () => boolean): boolean {
  cursor.at++
  if (cursor.take(closing)) return true
  do if (!passOne()) return false
  while (cursor.take(COMMA))
  return cursor.take(closing)
}

function passMessages(cursor: JsonCursor): boolean {
  if (!cursor.take(OPENING_BRACKET)) return false
  let count = 0
  do if (++count > MESSAGES_MAX || !passMessage(cursor)) return false
  while (cursor.take(COMMA))
  return cursor.take(CLOSING_BRACKET)
}

/** Passes a message that is a role and a text, in any order. */
function passMessage(cursor: JsonCursor): boolean {
  if (!cursor.take(OPENING_BRACE)) return false
  let hasRole = false
  let hasText = false
  do {
    if (!cursor.takeText()) return false
    if (!hasRole && cursor.isText('role')) {
      hasRole = true
      if (!cursor.take(COLON) || !cursor.takeText() || !isPlainRole(cursor)) return false
    } else if (!hasText && cursor.isText('content')) {
      hasText = true
      if (!cursor.take(COLON) || !cursor.takeText()) return false
    } else return false
  } while (cursor.take(COMMA))
  return hasRole && hasText && cursor.take(CLOSING_BRACE)
}

/** The roles that every wire with such messages has. */
function isPlainRole(cursor: JsonCursor): boolean {
  return cursor.isText('user') || cursor.isText('assistant') || cursor.isText('system')
}
