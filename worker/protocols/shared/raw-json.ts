// Looks at JSON bytes without parsing them: the place of one member, so that its value can be replaced in place, and the number of all
// members. The bytes are those of valid JSON; strings are passed with the native search, so that prose costs little.

import type { JsonObject, JsonValue } from '../../normalized/index.ts'
import {
  BACKSLASH,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE,
  SPACE
} from './json-characters.ts'

export interface ScannedJson {
  /** How many members all objects have together; a repeated name counts each time. */
  memberCount: number
  /** Where the value of the top-level member begins, when the bytes have it exactly once and its value is a string. */
  value: ValuePlace | undefined
}

/** @param bytes a JSON object in UTF-8. */
export function scanJson(bytes: Buffer, member: string): ScannedJson {
  const name = Buffer.from(member)
  let memberCount = 0
  let depth = 0
  let found = 0
  let value: ScannedJson['value']
  for (let index = 0; index < bytes.length; index++) {
    const code = bytes[index]
    if (code === OPENING_BRACE || code === OPENING_BRACKET) depth++
    else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) depth--
    if (code !== QUOTE) continue
    const end = findStringEnd(bytes, index + 1)
    const after = skipBlanks(bytes, end + 1)
    if (bytes[after] === COLON) {
      memberCount++
      if (depth === 1 && end - index - 1 === name.length && name.compare(bytes, index + 1, end) === 0) {
        found++
        const start = skipBlanks(bytes, after + 1)
        value = bytes[start] === QUOTE ? { start, end: findStringEnd(bytes, start + 1) + 1 } : undefined
      }
    }
    index = end
  }
  return { memberCount, value: found === 1 ? value : undefined }
}

/** What the bytes have at the end of a path of members. */
export interface ScannedText {
  /** How often the member occurs; more than once only where an object has a member twice. */
  count: number
  /** The text, its quotes included; undefined where the last occurrence is no text. */
  place: ValuePlace | undefined
  /** A name is written with an escape, so that it may be one of the path. */
  hasEscapedName: boolean
}

/**
 * Looks for a text that is a member of an object in an object, and so on: `['message', 'model']`.
 * @param bytes a JSON object in UTF-8.
 */
export function scanText(bytes: Buffer, path: readonly string[]): ScannedText {
  const found: ScannedText = { count: 0, place: undefined, hasEscapedName: false }
  let depth = 0
  /** How many objects of the path are open. */
  let matched = 0
  for (let index = 0; index < bytes.length; index++) {
    const code = bytes[index]
    if (code === OPENING_BRACE || code === OPENING_BRACKET) depth++
    else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
      depth--
      if (matched >= depth) matched = Math.max(0, depth - 1)
    }
    if (code !== QUOTE) continue
    const end = findStringEnd(bytes, index + 1)
    const after = skipBlanks(bytes, end + 1)
    if (bytes[after] === COLON) {
      if (depth === matched + 1 && isName(bytes, index + 1, end, path[matched] as string)) {
        const start = skipBlanks(bytes, after + 1)
        if (matched < path.length - 1) {
          if (bytes[start] === OPENING_BRACE) matched++
        } else {
          found.count++
          found.place = bytes[start] === QUOTE ? { start, end: findStringEnd(bytes, start + 1) + 1 } : undefined
        }
      } else if (hasEscape(bytes, index + 1, end)) found.hasEscapedName = true
    }
    index = end
  }
  return found
}

/** Whether these bytes are the name, which is ASCII. */
function isName(bytes: Buffer, from: number, to: number, name: string): boolean {
  if (to - from !== name.length) return false
  for (let index = 0; index < name.length; index++) if (bytes[from + index] !== name.charCodeAt(index)) return false
  return true
}

function hasEscape(bytes: Buffer, from: number, to: number): boolean {
  for (let index = from; index < to; index++) if (bytes[index] === BACKSLASH) return true
  return false
}

/** Counts the members of all objects of a parsed value. */
export function countMembers(value: JsonValue | undefined): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item)
    return count
  }
  for (const name in value) count += 1 + countMembers(value[name])
  return count
}

/** The place of a value, its quotes included. */
export interface ValuePlace {
  start: number
  end: number
}

/** The bytes with another text as the value at this place. */
export function replaceValue(bytes: Buffer, { start, end }: ValuePlace, text: string): Buffer {
  const value = JSON.stringify(text)
  const valueBytes = Buffer.byteLength(value)
  const replaced = Buffer.allocUnsafe(start + valueBytes + bytes.length - end)
  bytes.copy(replaced, 0, 0, start)
  replaced.write(value, start)
  bytes.copy(replaced, start + valueBytes, end)
  return replaced
}

/** True for values that are the same JSON; the order of members does not count. */
export function isSameJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false
    return left.every((item, index) => isSameJson(item, right[index]))
  }
  return hasSameMembers(left, right)
}

function hasSameMembers(left: JsonObject, right: JsonObject): boolean {
  const names = Object.keys(left)
  if (names.length !== Object.keys(right).length) return false
  return names.every(name => Object.hasOwn(right, name) && isSameJson(left[name], right[name]))
}

/** Names and short values end within so many bytes; the native search costs more than a look at each of them. */
const NEAR_BYTES = 24

/** The distance of the quotes counts only behind this many of them. */
const NEAR_QUOTES = 16

/**
 * Finds the closing quote of a string whose content begins at `from`: the first one without an odd number of backslashes before it. Returns
 * the length of the bytes where there is none.
 * @param quoteDistance the average distance in bytes that escaped quotes must have. Where they are closer, the search ends early and
 * returns the length of the bytes too.
 */
export function findStringEnd(bytes: Buffer, from: number, quoteDistance = 0): number {
  const near = Math.min(from + NEAR_BYTES, bytes.length)
  let index = from
  for (; index < near; index++) {
    const code = bytes[index]
    if (code === QUOTE) return index
    if (code === BACKSLASH) index++
  }
  let quotes = 0
  for (let end = bytes.indexOf(QUOTE, index); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let backslashes = 0
    while (end - backslashes > index && bytes[end - backslashes - 1] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
    quotes++
    if ((quotes - NEAR_QUOTES) * quoteDistance > end - from) break
  }
  return bytes.length
}

/** The next quote from here on; -1 where none follows. */
export function findQuote(bytes: Buffer, from: number): number {
  const near = Math.min(from + NEAR_BYTES, bytes.length)
  for (let index = from; index < near; index++) if (bytes[index] === QUOTE) return index
  return bytes.indexOf(QUOTE, near)
}

/** The next byte from here on that is no blank; the length of the bytes where none follows. */
export function skipBlanks(bytes: Buffer, from: number): number {
  let index = from
  while (index < bytes.length && (bytes[index] as number) <= SPACE) index++
  return index
}
