// Reads a plain chat body without parsing it. A body is plain when its messages are texts with a role and everything else is a
// number, a text or a word: nothing in such messages can be refused or has to be written in another way for a provider on the same wire.

import { isUtf8 } from 'node:buffer'
import { asBuffer } from '../../../../shared/bytes.ts'
import type { BodyOutline, OutlineReader } from '../../face.ts'
import {
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE
} from '../../shared/json-characters.ts'
import { JsonCursor } from '../../shared/json-cursor.ts'

const ONE_MESSAGE = '[{"role":"user","content":"text"}]'

/** More than any client has. The cost of a body is bounded by them, because it is read on the event loop. */
const MEMBERS_MAX = 32
const MESSAGES_MAX = 20_000
/** What stands around the messages is parsed on the event loop as well. */
const AROUND_BYTES_MAX = 16 * 1024

export const completionsOutline: OutlineReader = { messages: ONE_MESSAGE, read: readOutline }

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
    } else if (!passScalar(cursor)) return undefined
  } while (cursor.take(COMMA))
  if (!cursor.take(CLOSING_BRACE) || !cursor.isAtEnd() || messages === undefined) return undefined
  if (buffer.length - (messages.end - messages.start) > AROUND_BYTES_MAX) return undefined
  const before = buffer.toString('latin1', 0, messages.start)
  return { text: before + ONE_MESSAGE + buffer.toString('latin1', messages.end), messages }
}

function passScalar(cursor: JsonCursor): boolean {
  if (cursor.peek() === QUOTE) return cursor.takeText()
  return cursor.takeWord('false') || cursor.takeWord('true') || cursor.takeNumber()
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
      // Half of a pair of surrogates is replaced where a body is written anew.
      if (!cursor.take(COLON) || !cursor.takeText() || cursor.hasSurrogate) return false
    } else return false
  } while (cursor.take(COMMA))
  return hasRole && hasText && cursor.take(CLOSING_BRACE)
}

/** A developer's message has another role on the wire of a provider. */
function isPlainRole(cursor: JsonCursor): boolean {
  return cursor.isText('user') || cursor.isText('assistant') || cursor.isText('system')
}
