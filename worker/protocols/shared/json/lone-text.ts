// Replaces a text member of a JSON object whose name stands only once in the bytes, as the model of a streamed chunk does: what stands
// before it is not stepped through. An edited frame of the content wire costs 0.8 us instead of 4.

import {
  BACKSLASH,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE
} from './json-characters.ts'
import { findStringEnd, skipBlanks } from './raw-json.ts'

/** What follows the member is stepped through, to see that the member belongs to the outermost object. */
const TAIL_BYTES_MAX = 1024

export interface LoneText {
  /** The name of the member, in its quotes. */
  readonly name: Buffer
  /** The new text, in its quotes. */
  readonly text: Buffer
}

/** Prepares the change of a member of the outermost object. */
export function createLoneText(name: string, text: string): LoneText {
  return { name: Buffer.from(JSON.stringify(name)), text: Buffer.from(JSON.stringify(text)) }
}

/**
 * The bytes with another text; undefined where it takes more than a look at the end of the bytes to find the member.
 * @param bytes one object as valid JSON.
 */
export function replaceLoneText(bytes: Buffer, { name, text }: LoneText): Buffer | undefined {
  const at = bytes.lastIndexOf(name)
  // The end of a longer name that has a quote in it; or a name that is spelled in another way somewhere.
  if (at < 1 || bytes[at - 1] === BACKSLASH || bytes.includes('\\u')) return undefined
  if (bytes.length - at > TAIL_BYTES_MAX || bytes.indexOf(name) !== at) return undefined
  const colon = skipBlanks(bytes, at + name.length)
  const start = skipBlanks(bytes, colon + 1)
  if (bytes[colon] !== COLON || bytes[start] !== QUOTE) return undefined
  const end = findStringEnd(bytes, start + 1) + 1
  if (!isEndOfOutermost(bytes, end)) return undefined
  return Buffer.concat([bytes.subarray(0, start), text, bytes.subarray(end)])
}

/** Whether the bytes from a member's end on close one object and nothing else. */
function isEndOfOutermost(bytes: Buffer, from: number): boolean {
  let depth = 0
  for (let index = from; index < bytes.length; index++) {
    const code = bytes[index]
    if (code === QUOTE) index = findStringEnd(bytes, index + 1)
    else if (code === OPENING_BRACE || code === OPENING_BRACKET) depth++
    else if (code === CLOSING_BRACKET) depth--
    else if (code === CLOSING_BRACE && depth-- === 0) return skipBlanks(bytes, index + 1) === bytes.length
  }
  return false
}
