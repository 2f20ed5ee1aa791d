// Looks at a chat body without parsing it. A body is plain when its messages are texts with a role: nothing in them can be refused, and
// nothing has to change for a provider of the client's own wire. What stands around them is parsed, with one message in place of all.

import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { asBuffer } from '../../../../shared/bytes.ts'
import type { BodyOutline, OutlineReader } from '../../client-face.ts'
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

/** A client cannot know this text, so that nothing else in a body looks like it. */
const MARK = `plain-messages-${randomUUID()}`

/** How a protocol writes messages that are a role and a text. */
interface PlainForm {
  /** The member with the list of messages. */
  list: string
  /** Stands for all messages. */
  messages: string
  /** Passes a message; false for any other. */
  passMessage(cursor: JsonCursor): boolean
}

/** More than any client has. The cost of a body is bounded by them, because it is read on the event loop. */
const MEMBERS_MAX = 64
const MESSAGES_MAX = 20_000
const PARTS_MAX = 1000
/** What stands around the messages is parsed on the event loop as well. */
const AROUND_BYTES_MAX = 16 * 1024
const DEPTH_MAX = 32

/** Bodies of completions and messages. */
export const plainMessages: OutlineReader = createReader({
  list: 'messages',
  messages: `[{"role":"user","content":"${MARK}"}]`,
  passMessage: cursor =>
    passTurn(cursor, { roles: ['user', 'assistant', 'system'], content: 'content', passContent: passText })
})

/** Bodies of Responses whose input is a list of messages. */
export const plainInput: OutlineReader = createReader({
  list: 'input',
  messages: `[{"role":"user","content":"${MARK}"}]`,
  passMessage: cursor =>
    passTurn(cursor, {
      roles: ['user', 'assistant', 'system', 'developer'],
      content: 'content',
      passContent: passText
    })
})

/** Bodies of the content protocol. */
export const plainContents: OutlineReader = createReader({
  list: 'contents',
  messages: `[{"role":"user","parts":[{"text":"${MARK}"}]}]`,
  passMessage: cursor => passTurn(cursor, { roles: ['user', 'model'], content: 'parts', passContent: passTextParts })
})

function createReader(form: PlainForm): OutlineReader {
  return { messages: form.messages, read: bytes => readOutline(bytes, form) }
}

function readOutline(bytes: Uint8Array, form: PlainForm): BodyOutline | undefined {
  const buffer = asBuffer(bytes)
  if (buffer[0] !== OPENING_BRACE || !isUtf8(buffer)) return undefined
  const cursor = new JsonCursor(buffer)
  let messages: BodyOutline['messages'] | undefined
  let memberCount = 0
  cursor.at = 1
  do {
    // An escape may spell the name of any member.
    if (!cursor.takeText() || cursor.isEscaped || ++memberCount > MEMBERS_MAX) return undefined
    const isList = cursor.isText(form.list)
    if (!cursor.take(COLON)) return undefined
    if (isList) {
      if (messages !== undefined || cursor.peek() !== OPENING_BRACKET) return undefined
      const start = cursor.at
      if (!passList(cursor, MESSAGES_MAX, form.passMessage)) return undefined
      messages = { start, end: cursor.at }
    } else if (!passValue(cursor, { depth: 0, endMax: cursor.at + AROUND_BYTES_MAX })) return undefined
  } while (cursor.take(COMMA))
  if (!cursor.take(CLOSING_BRACE) || !cursor.isAtEnd() || messages === undefined) return undefined
  if (buffer.length - (messages.end - messages.start) > AROUND_BYTES_MAX) return undefined
  const before = buffer.toString('latin1', 0, messages.start)
  return { text: before + form.messages + buffer.toString('latin1', messages.end), messages }
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

/** Passes a list of at least one item. */
function passList(cursor: JsonCursor, itemsMax: number, passOne: (cursor: JsonCursor) => boolean): boolean {
  if (!cursor.take(OPENING_BRACKET)) return false
  let count = 0
  do if (++count > itemsMax || !passOne(cursor)) return false
  while (cursor.take(COMMA))
  return cursor.take(CLOSING_BRACKET)
}

interface Turn {
  roles: readonly string[]
  /** The name of the member with the content. */
  content: string
  passContent(cursor: JsonCursor): boolean
}

/** Passes a message that is a role and a content, in any order. */
function passTurn(cursor: JsonCursor, { roles, content, passContent }: Turn): boolean {
  if (!cursor.take(OPENING_BRACE)) return false
  let hasRole = false
  let hasContent = false
  do {
    if (!cursor.takeText()) return false
    if (!hasRole && cursor.isText('role')) {
      hasRole = true
      if (!cursor.take(COLON) || !cursor.takeText() || !roles.some(role => cursor.isText(role))) return false
    } else if (!hasContent && cursor.isText(content)) {
      hasContent = true
      if (!cursor.take(COLON) || !passContent(cursor)) return false
    } else return false
  } while (cursor.take(COMMA))
  return hasRole && hasContent && cursor.take(CLOSING_BRACE)
}

function passText(cursor: JsonCursor): boolean {
  return cursor.takeText()
}

function passTextParts(cursor: JsonCursor): boolean {
  return passList(cursor, PARTS_MAX, passTextPart)
}

/** Passes a part that is a text and nothing else. */
function passTextPart(cursor: JsonCursor): boolean {
  if (!cursor.take(OPENING_BRACE) || !cursor.takeText() || !cursor.isText('text')) return false
  return cursor.take(COLON) && cursor.takeText() && cursor.take(CLOSING_BRACE)
}
