// Steps through the body of a Responses request once, in pieces: its members, and of each item of its input what tells items apart. A body
// may be large, and nothing else of it is looked at (memory.md 3).

import {
  BACKSLASH,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE
} from '../protocols/shared/json/json-characters.ts'
import {
  isJsonWord,
  type JsonMember,
  type JsonPart,
  passJsonValue,
  passText,
  readJsonText
} from '../protocols/shared/json/json-parts.ts'
import { skipBlanks } from '../protocols/shared/json/raw-json.ts'

/** An item of the request's own input. */
export interface OwnItem extends JsonPart {
  /** As the client wrote it. */
  readonly id?: string | undefined
  /** '' for an item without a type. */
  readonly type: string
  /** The item stands for a stored one. */
  readonly isReference?: true
}

/** The input of a body. */
export type OwnInput =
  | { readonly kind: 'items'; readonly items: readonly OwnItem[] }
  /** One message of the user. */
  | { readonly kind: 'text' }
  /** Absent or null: enough for a request that continues a conversation. */
  | { readonly kind: 'none' }

const INPUT = 'input'

/** The list of items that is being stepped through. */
interface OpenList {
  readonly member: Omit<JsonMember, 'end'>
  readonly items: OwnItem[]
}

export class BodyScan {
  readonly #bytes: Buffer
  readonly #members: JsonMember[] = []
  #input: OwnInput | undefined = { kind: 'none' }
  #at: number
  #list: OpenList | undefined
  #isBegun = false
  /** The body is no whole object, so far as it was looked at. */
  #isBroken = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#at = skipBlanks(bytes, 0)
  }

  /** The members of the body, repeated names included; undefined where it is no whole object. */
  get members(): readonly JsonMember[] | undefined {
    return this.#isBroken ? undefined : this.#members
  }

  /** The last input; undefined where it has a wrong type. */
  get input(): OwnInput | undefined {
    return this.#input
  }

  /** Looks at some more bytes, at least as far as the end of an item. True at the end. */
  step(bytesMax = Number.POSITIVE_INFINITY): boolean {
    const until = this.#at + bytesMax
    while (this.#at < until) {
      const isOver = this.#list === undefined ? this.#readMember() : this.#readItem(this.#list)
      if (isOver) return true
    }
    return false
  }

  /** Reads a member, or opens the list of the input. True at the end of the body. */
  #readMember(): boolean {
    const bytes = this.#bytes
    if (!this.#isBegun) {
      if (bytes[this.#at] !== OPENING_BRACE) return this.#break()
      this.#isBegun = true
      this.#at = skipBlanks(bytes, this.#at + 1)
      if (bytes[this.#at] === CLOSING_BRACE) return true
    }
    const nameStart = this.#at
    const name = this.#readName(nameStart)
    if (name === undefined) return this.#break()
    const start = this.#at
    if (name === INPUT && bytes[start] === OPENING_BRACKET) {
      this.#list = { member: { name, nameStart, start }, items: [] }
      this.#at = skipBlanks(bytes, start + 1)
      return false
    }
    const end = passJsonValue(bytes, start)
    if (end <= start) return this.#break()
    const member = { name, nameStart, start, end }
    this.#members.push(member)
    if (name === INPUT) this.#input = this.#readOther(member)
    return this.#passComma(end)
  }

  #readOther(member: JsonPart): OwnInput | undefined {
    if (isJsonWord(this.#bytes, member, 'null')) return { kind: 'none' }
    return this.#bytes[member.start] === QUOTE ? { kind: 'text' } : undefined
  }

  /** Reads an item, or closes the list. True where the body is broken or ends. */
  #readItem({ member, items }: OpenList): boolean {
    const bytes = this.#bytes
    const isFirst = items.length === 0
    if (!isFirst || bytes[this.#at] !== CLOSING_BRACKET) {
      const item = readItem(bytes, this.#at)
      if (item === undefined) return this.#break()
      items.push(item)
      this.#at = skipBlanks(bytes, item.end)
      if (bytes[this.#at] === COMMA) {
        this.#at = skipBlanks(bytes, this.#at + 1)
        return false
      }
      if (bytes[this.#at] !== CLOSING_BRACKET) return this.#break()
    }
    const end = this.#at + 1
    this.#members.push({ ...member, end })
    this.#input = { kind: 'items', items }
    this.#list = undefined
    return this.#passComma(end)
  }

  /** The name of the member that begins here; the scan stands at its value then. */
  #readName(nameStart: number): string | undefined {
    const bytes = this.#bytes
    if (bytes[nameStart] !== QUOTE) return undefined
    const end = passText(bytes, nameStart)
    const colon = skipBlanks(bytes, end)
    if (bytes[colon] !== COLON) return undefined
    this.#at = skipBlanks(bytes, colon + 1)
    return readJsonText(bytes, { start: nameStart, end })
  }

  #passComma(end: number): boolean {
    const bytes = this.#bytes
    this.#at = skipBlanks(bytes, end)
    if (bytes[this.#at] === CLOSING_BRACE) return true
    if (bytes[this.#at] !== COMMA) return this.#break()
    this.#at = skipBlanks(bytes, this.#at + 1)
    return false
  }

  #break(): true {
    this.#isBroken = true
    return true
  }
}

/** Reads an item in one pass. What is no object is an item without id and type: the reader of the request refuses it. */
function readItem(bytes: Buffer, start: number): OwnItem | undefined {
  if (bytes[start] !== OPENING_BRACE) {
    const end = passJsonValue(bytes, start)
    return end > start ? { start, end, type: '' } : undefined
  }
  let id: string | undefined
  let type: string | undefined
  let isMessage = false
  let at = skipBlanks(bytes, start + 1)
  while (bytes[at] === QUOTE) {
    const nameStart = at
    const nameEnd = passText(bytes, nameStart)
    const colon = skipBlanks(bytes, nameEnd)
    if (bytes[colon] !== COLON) return undefined
    const valueStart = skipBlanks(bytes, colon + 1)
    const valueEnd = passJsonValue(bytes, valueStart)
    if (valueEnd <= valueStart) return undefined
    const value = { start: valueStart, end: valueEnd }
    switch (findName(bytes, nameStart, nameEnd)) {
      case 'id':
        id = readJsonText(bytes, value)
        break
      case 'type':
        type = isJsonWord(bytes, value, 'null') ? undefined : (readJsonText(bytes, value) ?? '')
        break
      case 'role':
      case 'content':
        isMessage = true
    }
    at = skipBlanks(bytes, valueEnd)
    if (bytes[at] === COMMA) at = skipBlanks(bytes, at + 1)
    else break
  }
  if (bytes[at] !== CLOSING_BRACE) return undefined
  const item = { start, end: at + 1, id: id === '' ? undefined : id, type: type ?? '' }
  // SDKs write a reference without a type too.
  const isReference = type === 'item_reference' || (type === undefined && !isMessage)
  return isReference && id !== undefined ? { ...item, isReference: true } : item
}

const NAMES = ['id', 'type', 'role', 'content'] as const
const QUOTES = 2

/** The name where it is one of those that tell items apart. Making a text of each name costs more than all else. */
function findName(bytes: Buffer, start: number, end: number): (typeof NAMES)[number] | undefined {
  const name = NAMES.find(one => isSpelled(bytes, start, end, one))
  if (name !== undefined) return name
  // An escape may spell any name.
  for (let index = start; index < end; index++) {
    if (bytes[index] !== BACKSLASH) continue
    const text = readJsonText(bytes, { start, end })
    return NAMES.find(one => one === text)
  }
  return undefined
}

function isSpelled(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start !== name.length + QUOTES) return false
  for (let index = 0; index < name.length; index++) {
    if (bytes[start + 1 + index] !== name.charCodeAt(index)) return false
  }
  return true
}
