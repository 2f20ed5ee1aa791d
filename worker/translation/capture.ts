// Copies content for observers, cut at a bound: a description of a request of many megabytes must stay small. Redaction comes later, so a
// text is never cut inside of something that redaction would find.

import type { JsonValue } from '../normalized/index.ts'
import type { Captured } from './call-description.ts'

/** Longer than the keys, tokens and private keys that redaction finds. */
export const SECRET_CHARACTERS_MAX = 4096

/** As deep as the redaction looks. */
const DEPTH_MAX = 32

/** What a number, a word, or the punctuation of a member takes. */
const SMALL_CHARACTERS = 4

/**
 * Copies plain data with the members of objects in sorted order, until its JSON text has about `charactersMax` characters. There may be up
 * to 4096 more: what is cut off at a safe place comes from those.
 * @param values taken one by one, so that what does not fit is not even made.
 */
export function captureList(values: Iterable<unknown>, charactersMax: number): Captured {
  const capture = new Capture(charactersMax)
  return { value: capture.takeItems(values, 1), isCut: capture.isCut }
}

/** Like `captureList`, for one value. */
export function captureValue(value: unknown, charactersMax: number): Captured {
  const capture = new Capture(charactersMax)
  return { value: capture.take(value, 0), isCut: capture.isCut }
}

class Capture {
  isCut = false
  #left: number

  constructor(charactersMax: number) {
    this.#left = charactersMax + SECRET_CHARACTERS_MAX
  }

  take(value: unknown, depth: number): JsonValue {
    if (typeof value === 'string') return this.#takeText(value)
    if (typeof value !== 'object' || value === null) {
      this.#left -= SMALL_CHARACTERS
      return typeof value === 'number' || typeof value === 'boolean' ? value : null
    }
    if (depth > DEPTH_MAX) return '[too deep]'
    return Array.isArray(value) ? this.takeItems(value, depth + 1) : this.#takeMembers(value, depth + 1)
  }

  takeItems(values: Iterable<unknown>, depth: number): JsonValue[] {
    const items: JsonValue[] = []
    for (const value of values) {
      if (this.#isFull()) break
      this.#left -= 1
      items.push(this.take(value, depth))
    }
    return items
  }

  #takeMembers(value: object, depth: number): JsonValue {
    const entries: Array<[string, JsonValue]> = []
    for (const name of listNames(value, this.#left)) {
      const member = (value as Record<string, unknown>)[name]
      if (member === undefined) continue
      if (this.#isFull()) break
      this.#left -= name.length + SMALL_CHARACTERS
      entries.push([this.#left < 0 ? cutText(name, name.length + this.#left) : name, this.take(member, depth)])
    }
    return Object.fromEntries(entries)
  }

  #takeText(text: string): string {
    const left = this.#left
    this.#left -= text.length + 2
    if (text.length <= left) return text
    this.isCut = true
    return cutText(text, left)
  }

  #isFull(): boolean {
    if (this.#left > 0) return false
    this.isCut = true
    return true
  }
}

/** The names of the members in sorted order; of an object with more members than fit, the first. */
function listNames(value: object, max: number): string[] {
  const names = Object.keys(value)
  return (names.length > max ? names.slice(0, max) : names).sort()
}

const DELIMITERS = /[\s"'`,;&<>(){}[\]|][^\s"'`,;&<>(){}[\]|]*$/
const KEY_BEGIN = '-----BEGIN '
const KEY_END = '-----END '

/**
 * The beginning of a text, of at most so many characters. It ends before a word or a block that would be cut in two: half of a key would
 * not be recognized as one. Where there is no such place it is 4096 characters shorter.
 */
export function cutText(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  const kept = text.slice(0, Math.max(0, charactersMax))
  const tailStart = Math.max(0, kept.length - SECRET_CHARACTERS_MAX)
  const delimiter = kept.slice(tailStart).search(DELIMITERS)
  const end = delimiter === -1 ? tailStart : tailStart + delimiter + 1
  const block = kept.lastIndexOf(KEY_BEGIN, end)
  return kept.slice(0, block !== -1 && kept.indexOf(KEY_END, block) === -1 ? block : end)
}
