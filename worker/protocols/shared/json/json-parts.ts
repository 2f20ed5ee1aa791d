// Finds the members of an object and the items of a list in the bytes of a JSON text, without making values of them. A part is cut out or
// put in another text byte for byte. The text is not validated: a parser that reads it afterwards finds what is wrong with it.

import {
  BACKSLASH,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE,
  SPACE
} from './json-characters.ts'
import { skipBlanks } from './raw-json.ts'

/** A value in the bytes of a text. */
export interface JsonPart {
  readonly start: number
  readonly end: number
}

export interface JsonMember extends JsonPart {
  readonly name: string
  /** Where its name begins; `start` is that of its value. */
  readonly nameStart: number
}

/** The members of the object at this place, repeated names included; undefined where no whole object stands there. */
export function listJsonMembers(bytes: Buffer, at = 0): JsonMember[] | undefined {
  let next = skipBlanks(bytes, at)
  if (bytes[next] !== OPENING_BRACE) return undefined
  next = skipBlanks(bytes, next + 1)
  const members: JsonMember[] = []
  if (bytes[next] === CLOSING_BRACE) return members
  for (;;) {
    if (bytes[next] !== QUOTE) return undefined
    const nameStart = next
    const nameEnd = passText(bytes, nameStart)
    const colon = skipBlanks(bytes, nameEnd)
    if (bytes[colon] !== COLON) return undefined
    const start = skipBlanks(bytes, colon + 1)
    const end = passJsonValue(bytes, start)
    const name = readJsonText(bytes, { start: nameStart, end: nameEnd })
    if (end <= start || name === undefined) return undefined
    members.push({ name, nameStart, start, end })
    next = skipBlanks(bytes, end)
    if (bytes[next] === CLOSING_BRACE) return members
    if (bytes[next] !== COMMA) return undefined
    next = skipBlanks(bytes, next + 1)
  }
}

/** The items of the list at this place; undefined where no whole list stands there. */
export function listJsonItems(bytes: Buffer, at = 0): JsonPart[] | undefined {
  let next = skipBlanks(bytes, at)
  if (bytes[next] !== OPENING_BRACKET) return undefined
  next = skipBlanks(bytes, next + 1)
  const items: JsonPart[] = []
  if (bytes[next] === CLOSING_BRACKET) return items
  for (;;) {
    const start = next
    const end = passJsonValue(bytes, start)
    if (end <= start) return undefined
    items.push({ start, end })
    next = skipBlanks(bytes, end)
    if (bytes[next] === CLOSING_BRACKET) return items
    if (bytes[next] !== COMMA) return undefined
    next = skipBlanks(bytes, next + 1)
  }
}

/** The last of the members with this name, as parsers read it. */
export function findJsonMember(members: readonly JsonMember[], name: string): JsonMember | undefined {
  return members.findLast(member => member.name === name)
}

/** The text of a part; undefined where it is none. */
export function readJsonText(bytes: Buffer, { start, end }: JsonPart): string | undefined {
  if (bytes[start] !== QUOTE || end - start < 2) return undefined
  const written = bytes.toString('utf8', start, end)
  if (!written.includes('\\')) return written.slice(1, -1)
  try {
    return JSON.parse(written) as string
  } catch {
    return undefined
  }
}

/** Whether a part is this word or number, as it is written. */
export function isJsonWord(bytes: Buffer, { start, end }: JsonPart, word: string): boolean {
  return end - start === word.length && bytes.toString('latin1', start, end) === word
}

/** The place behind the value that begins here; the place itself where none begins. */
export function passJsonValue(bytes: Buffer, at: number): number {
  const code = bytes[at]
  if (code === QUOTE) return Math.min(passText(bytes, at), bytes.length)
  if (code === OPENING_BRACE || code === OPENING_BRACKET) return passNested(bytes, at)
  let end = at
  while (end < bytes.length && !isEnd(bytes[end] as number)) end++
  return end
}

function passNested(bytes: Buffer, at: number): number {
  const { length } = bytes
  let depth = 0
  let index = at
  while (index < length) {
    const code = bytes[index]
    if (code === QUOTE) {
      index = passText(bytes, index)
      continue
    }
    index++
    if (code === OPENING_BRACE || code === OPENING_BRACKET) depth++
    else if ((code === CLOSING_BRACE || code === CLOSING_BRACKET) && --depth === 0) return index
  }
  return at
}

/** So many bytes are looked at one by one before the native search, which costs as much as a look at some hundred of them. */
const NEAR_BYTES = 128

/**
 * The place behind the text whose quote stands here; beyond the bytes where it does not end. A text may be JSON itself, with a quote every
 * few bytes.
 */
export function passText(bytes: Buffer, quoteAt: number): number {
  const { length } = bytes
  let from = quoteAt + 1
  for (;;) {
    const near = Math.min(from + NEAR_BYTES, length)
    let index = from
    while (index < near) {
      const code = bytes[index]
      if (code === QUOTE) return index + 1
      index += code === BACKSLASH ? 2 : 1
    }
    if (index >= length) return length + 1
    const quote = bytes.indexOf(QUOTE, index)
    if (quote < 0) return length + 1
    let backslashes = 0
    while (quote - backslashes > index && bytes[quote - backslashes - 1] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote + 1
    from = quote + 1
  }
}

/** Ends a number or a word. */
function isEnd(code: number): boolean {
  return code === COMMA || code === CLOSING_BRACE || code === CLOSING_BRACKET || code <= SPACE
}
