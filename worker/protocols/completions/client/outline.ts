// Reads a plain chat body without parsing its messages. A body is plain when its messages are texts with a role and everything else is a
// number, a text or a word: nothing in such messages can be refused or has to be written in another way for a provider on the same wire.

import { isUtf8 } from 'node:buffer'
import { asBuffer } from '../../../../shared/bytes.ts'
import type { JsonValue } from '../../../normalized/index.ts'
import type { BodyOutline } from '../../face.ts'
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

/** Stands for any number of messages that are a role and a text. */
const PLAIN_MESSAGES: JsonValue = [{ role: 'user', content: 'text' }]

/** More than any client has. The cost of a body is bounded by them, because it is read on the event loop. */
const MEMBERS_MAX = 32
const MESSAGES_MAX = 20_000

/**
 * The body with one message in place of all, and the place of the model; undefined for a body that is not plain, is no valid JSON, or has
 * a member twice.
 */
export function readOutline(bytes: Uint8Array): BodyOutline | undefined {
  const buffer = asBuffer(bytes)
  if (buffer[0] !== OPENING_BRACE || !isUtf8(buffer)) return undefined
  const cursor = new JsonCursor(buffer)
  const body: { [name: string]: JsonValue } = {}
  let model: BodyOutline['model'] | undefined
  let memberCount = 0
  cursor.at = 1
  do {
    if (!cursor.takeText() || cursor.isEscaped || ++memberCount > MEMBERS_MAX) return undefined
    if (cursor.isText('messages')) {
      if (body.messages !== undefined || !cursor.take(COLON) || !passMessages(cursor)) return undefined
      body.messages = PLAIN_MESSAGES
      continue
    }
    const name = buffer.toString('utf8', cursor.start, cursor.end)
    if (name === '__proto__' || name in body || !cursor.take(COLON)) return undefined
    const value = readScalar(cursor, buffer)
    if (value === undefined) return undefined
    body[name] = value
    if (name === 'model') model = { start: cursor.start - 1, end: cursor.end + 1 }
  } while (cursor.take(COMMA))
  if (!cursor.take(CLOSING_BRACE) || !cursor.isAtEnd()) return undefined
  if (model === undefined || typeof body.model !== 'string' || body.messages === undefined) return undefined
  return { body, model }
}

/** Undefined for any other value, and for a text with escapes, whose value would have to be computed. */
function readScalar(cursor: JsonCursor, buffer: Buffer): string | number | boolean | undefined {
  if (cursor.peek() === QUOTE) {
    return cursor.takeText() && !cursor.isEscaped ? buffer.toString('utf8', cursor.start, cursor.end) : undefined
  }
  if (cursor.takeWord('false')) return false
  if (cursor.takeWord('true')) return true
  if (!cursor.takeNumber()) return undefined
  const value = Number(buffer.toString('latin1', cursor.start, cursor.end))
  return Number.isFinite(value) ? value : undefined
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
