// Looks at JSON bytes without parsing them: the end of a string, the next quote, blanks; and counts the members of a parsed value. Strings are
// passed with the native search, so that prose costs little.

import type { JsonValue } from '../../../normalized/index.ts'
import { BACKSLASH, QUOTE, SPACE } from './json-characters.ts'

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
