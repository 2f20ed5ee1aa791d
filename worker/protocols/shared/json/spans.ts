// Makes changes in the bytes of a JSON text, in one pass and without making values of it: only the spans of the changes are replaced.
// Strings are passed with the native search, so that prose costs little.

import { isUtf8 } from 'node:buffer'
import { asBuffer } from '../../../../shared/bytes.ts'
import type { JsonObject } from '../../../normalized/index.ts'
import { type Edit, isAddition, type JsonEdits } from './edits.ts'
import {
  BACKSLASH,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE
} from './json-characters.ts'
import { countMembers, findStringEnd, skipBlanks } from './raw-json.ts'

/**
 * The bytes of a body with changes in them; undefined where the body has to be written anew. A name that an object has twice is read by
 * some parsers from its first place and by others from its last: such a body is written anew, so that the provider reads what was admitted
 * (decisions.md 72). So is a body with a byte order mark or with invalid UTF-8.
 * @param received what the bytes were parsed to.
 */
export function editBody(bytes: Uint8Array, received: JsonObject, edits: JsonEdits): Buffer | undefined {
  const buffer = asBuffer(bytes)
  if (buffer[0] === BYTE_ORDER_MARK || !isUtf8(buffer)) return undefined
  const { edited, memberCount } = editJson(buffer, edits)
  return memberCount === countMembers(received) ? edited : undefined
}

/** Its first byte; no other body begins with it. */
const BYTE_ORDER_MARK = 0xef

export interface EditedJson {
  /** The given bytes where nothing changes. */
  edited: Buffer
  /** How many members all objects of the text have together; a repeated name counts each time. */
  memberCount: number
}

/**
 * Makes changes in the bytes of an object.
 * @param bytes valid JSON in UTF-8.
 */
export function editJson(bytes: Buffer, edits: JsonEdits): EditedJson {
  return new SpanEditor(bytes).edit(edits)
}

class SpanEditor {
  readonly #bytes: Buffer
  #at = 0
  #memberCount = 0
  readonly #pieces: Buffer[] = []
  /** What stands before is in the pieces. */
  #from = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  edit(edits: JsonEdits): EditedJson {
    this.#at = skipBlanks(this.#bytes, 0)
    if (edits.isEmpty) this.#pass()
    else this.#walk(edits.members)
    const bytes = this.#bytes
    if (this.#pieces.length === 0) return { edited: bytes, memberCount: this.#memberCount }
    this.#pieces.push(bytes.subarray(this.#from))
    return { edited: Buffer.concat(this.#pieces), memberCount: this.#memberCount }
  }

  /** Puts other text in the place of a span. Spans are in their order. */
  #replace(start: number, end: number, text = ''): void {
    this.#pieces.push(this.#bytes.subarray(this.#from, start))
    if (text !== '') this.#pieces.push(Buffer.from(text))
    this.#from = end
  }

  /** Passes a value with changes inside of it. */
  #walk(edits: ReadonlyMap<string | number, Edit>): void {
    const code = this.#bytes[this.#at]
    if (code === OPENING_BRACE) this.#walkObject(edits)
    else if (code === OPENING_BRACKET) this.#walkList(edits)
    else this.#pass()
  }

  #walkObject(edits: ReadonlyMap<string | number, Edit>): void {
    const bytes = this.#bytes
    const seen = new Set<Edit>()
    const places = new Siblings(this.#at + 1)
    this.#at = skipBlanks(bytes, this.#at + 1)
    while (bytes[this.#at] === QUOTE) {
      const start = this.#at
      const nameEnd = findStringEnd(bytes, start + 1) + 1
      const edit = mayBeEdited(bytes, start, nameEnd, edits) ? edits.get(readName(bytes, start, nameEnd)) : undefined
      if (edit !== undefined) seen.add(edit)
      this.#memberCount++
      const valueAt = skipBlanks(bytes, skipBlanks(bytes, nameEnd) + 1)
      let isDropped = edit?.isDropped === true
      if (!isDropped && edit?.spreadBut === undefined) {
        this.#endLeadingDrop(places, start)
        if (edit?.name !== undefined) this.#replace(start, nameEnd, JSON.stringify(edit.name))
      }
      this.#at = valueAt
      if (edit?.spreadBut === undefined || isDropped) this.#passEdited(edit)
      else isDropped = !this.#spread(start, edit.spreadBut, places)
      this.#endSibling(places, { start, isDropped })
      if (bytes[this.#at] !== COMMA) break
      this.#at = skipBlanks(bytes, this.#at + 1)
    }
    this.#dropAll(places)
    this.#addMembers(edits, seen, places)
    // The closing brace.
    this.#at++
  }

  /** Replaces a member by the members of its object. False where nothing is left of it, so that it is to be left out. */
  #spread(start: number, but: ReadonlySet<string>, places: Siblings): boolean {
    const bytes = this.#bytes
    const members: string[] = []
    if (bytes[this.#at] === OPENING_BRACE) {
      this.#at = skipBlanks(bytes, this.#at + 1)
      while (bytes[this.#at] === QUOTE) {
        const innerStart = this.#at
        const nameEnd = findStringEnd(bytes, innerStart + 1) + 1
        this.#memberCount++
        this.#at = skipBlanks(bytes, skipBlanks(bytes, nameEnd) + 1)
        this.#pass()
        if (!but.has(readName(bytes, innerStart, nameEnd))) members.push(bytes.toString('utf8', innerStart, this.#at))
        this.#at = skipBlanks(bytes, this.#at)
        if (bytes[this.#at] === COMMA) this.#at = skipBlanks(bytes, this.#at + 1)
      }
      this.#at++
    } else this.#pass()
    if (members.length === 0) return false
    this.#endLeadingDrop(places, start)
    this.#replace(start, this.#at, members.join(','))
    return true
  }

  #walkList(edits: ReadonlyMap<string | number, Edit>): void {
    const bytes = this.#bytes
    const places = new Siblings(this.#at + 1)
    this.#at = skipBlanks(bytes, this.#at + 1)
    for (let index = 0; bytes[this.#at] !== CLOSING_BRACKET && this.#at < bytes.length; index++) {
      const start = this.#at
      const edit = edits.get(index)
      if (edit?.isDropped !== true) this.#endLeadingDrop(places, start)
      this.#passEdited(edit)
      this.#endSibling(places, { start, isDropped: edit?.isDropped === true })
      if (bytes[this.#at] !== COMMA) break
      this.#at = skipBlanks(bytes, this.#at + 1)
    }
    this.#dropAll(places)
    this.#at++
  }

  /** Passes a value and makes its change. */
  #passEdited(edit: Edit | undefined): void {
    const { inner, isDropped, isQuoted, isText, value } = edit ?? NO_EDIT
    const start = this.#at
    if (isText === true && this.#bytes[start] !== QUOTE) {
      this.#pass()
      return
    }
    const isReplaced = value !== undefined || isQuoted === true
    if (inner === undefined || isDropped === true || isReplaced) this.#pass()
    else this.#walk(inner)
    if (isDropped === true) return
    if (value !== undefined) this.#replace(start, this.#at, JSON.stringify(value))
    else if (isQuoted === true) {
      this.#replace(start, this.#at, JSON.stringify(this.#bytes.toString('utf8', start, this.#at)))
    }
  }

  /** Dropped members at the beginning go with the comma behind them. */
  #endLeadingDrop(places: Siblings, start: number): void {
    if (places.leadingDrop === undefined) return
    this.#replace(places.leadingDrop, start)
    places.leadingDrop = undefined
  }

  /** Notes the member or item that has just been passed; a dropped one behind a kept one goes with the comma before it. */
  #endSibling(places: Siblings, { start, isDropped }: { start: number; isDropped: boolean }): void {
    const end = this.#at
    if (!isDropped) places.hasKept = true
    else if (places.hasKept) this.#replace(places.lastEnd, end)
    else places.leadingDrop ??= start
    places.lastEnd = end
    this.#at = skipBlanks(this.#bytes, end)
  }

  #dropAll(places: Siblings): void {
    if (places.leadingDrop === undefined) return
    this.#replace(places.leadingDrop, places.lastEnd)
    places.leadingDrop = undefined
  }

  #addMembers(edits: ReadonlyMap<string | number, Edit>, seen: ReadonlySet<Edit>, places: Siblings): void {
    let text = ''
    for (const [name, edit] of edits) {
      if (typeof name !== 'string' || !isAddition(edit) || seen.has(edit)) continue
      const comma = places.hasKept || text !== '' ? ',' : ''
      text += `${comma}${JSON.stringify(name)}:${JSON.stringify(edit.value)}`
    }
    if (text === '') return
    const at = Math.max(this.#from, places.lastEnd)
    this.#replace(at, at, text)
  }

  /** Passes a value. */
  #pass(): void {
    const bytes = this.#bytes
    const code = bytes[this.#at]
    if (code === QUOTE) this.#at = findStringEnd(bytes, this.#at + 1) + 1
    else if (code === OPENING_BRACE || code === OPENING_BRACKET) this.#passNested()
    else while (this.#at < bytes.length && !isEnd(bytes[this.#at] as number)) this.#at++
  }

  #passNested(): void {
    const bytes = this.#bytes
    let depth = 0
    let index = this.#at
    for (; index < bytes.length; index++) {
      const code = bytes[index]
      if (code === QUOTE) {
        index = findStringEnd(bytes, index + 1)
        if (bytes[skipBlanks(bytes, index + 1)] === COLON) this.#memberCount++
      } else if (code === OPENING_BRACE || code === OPENING_BRACKET) depth++
      else if ((code === CLOSING_BRACE || code === CLOSING_BRACKET) && --depth === 0) break
    }
    this.#at = index + 1
  }
}

const NO_EDIT: Edit = {}

/** The members of one object, or the items of one list, on the way through them. */
class Siblings {
  /** The end of the last one; the place behind the opening bracket where there is none. */
  lastEnd: number
  hasKept = false
  /** Where the first of the dropped ones at the beginning begins. */
  leadingDrop: number | undefined

  constructor(start: number) {
    this.lastEnd = start
  }
}

/**
 * False for a member that no edit names, by the length and the first byte of its name: making a text of each name costs as much as all else
 * that is done for a member. The name is between its quotes; an escape makes it longer.
 */
function mayBeEdited(bytes: Buffer, start: number, end: number, edits: ReadonlyMap<string | number, Edit>): boolean {
  const length = end - start - 2
  const first = bytes[start + 1] ?? 0
  const isSpelledOut = first === BACKSLASH || first >= NOT_ASCII
  for (const name of edits.keys()) {
    if (typeof name === 'string' && name.length <= length && (isSpelledOut || name.charCodeAt(0) === first)) return true
  }
  return length === 0
}

const NOT_ASCII = 0x80

/** A member's name; one with escapes is rare. */
function readName(bytes: Buffer, start: number, end: number): string {
  for (let index = start; index < end; index++) {
    if (bytes[index] === BACKSLASH) return JSON.parse(bytes.toString('utf8', start, end)) as string
  }
  return bytes.toString('utf8', start + 1, end - 1)
}

/** Ends a number or a word. */
function isEnd(code: number): boolean {
  return code === COMMA || code === CLOSING_BRACE || code === CLOSING_BRACKET || code <= 0x20
}
