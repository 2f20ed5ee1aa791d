// The input of a custom tool in a call of the function that stands for it: the text of `input`, read from JSON while it arrives
// (decisions.md 77).

import { GrowingText, isJsonObject, isTextTooDeep, tryParseJson } from '../../../normalized/index.ts'

/** The parameter of the function. */
export const INPUT_PARAMETER = 'input'

/** The beginning of arguments that hold the input as their first member. */
const OPENING = /^\s*\{\s*"input"\s*:\s*"/
/** Every beginning of `OPENING`. */
const MAYBE_OPENING = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/
/** White space of arguments is bounded, so that their beginning is looked at only a few times. */
const OPENING_CHARACTERS_MAX = 64

/**
 * Reads the arguments of one call piece by piece. Arguments that do not begin with the input are read at their end: as an object that holds
 * it, or else as the input itself, because small models send plain text for a text.
 */
export class FreeFormInput {
  /** Of arguments that may begin with the input, and of those that do not. */
  readonly #kept = new GrowingText()
  /** What shows how the arguments begin; undefined once that is known. */
  #opening: string | undefined = ''
  #text: JsonText | undefined

  /** Takes a piece of the arguments. Returns the text of the input that it brings. */
  add(piece: string): string {
    if (this.#text !== undefined) return this.#text.add(piece)
    this.#kept.add(piece)
    if (this.#opening === undefined) return ''
    this.#opening += piece
    const opening = OPENING.exec(this.#opening)
    if (opening !== null) {
      this.#text = new JsonText()
      return this.#text.add(this.#opening.slice(opening[0].length))
    }
    const isOpen = this.#opening.length <= OPENING_CHARACTERS_MAX && MAYBE_OPENING.test(this.#opening)
    if (!isOpen) this.#opening = undefined
    return ''
  }

  /** The rest of the input, once all arguments have arrived. */
  end(): string {
    return this.#text === undefined ? readWhole(this.#kept.toString()) : this.#text.end()
  }
}

/** The input of arguments that have arrived whole. */
export function readFreeFormInput(text: string): string {
  const input = new FreeFormInput()
  return input.add(text) + input.end()
}

function readWhole(text: string): string {
  const value = tryParseJson(text)
  if (typeof value === 'string') return value
  if (!isJsonObject(value) || isTextTooDeep(text, value)) return text
  const input = value[INPUT_PARAMETER]
  if (typeof input === 'string') return input
  if (Object.keys(value).length === 0) return ''
  return input === undefined ? text : JSON.stringify(input)
}

const ESCAPED: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t'
}

/** An escape that a piece may cut, and one half of a character beyond the basic plane. */
const CUT_ESCAPE = /^\\(?:u[\dA-Fa-f]{0,3})?$/
const HIGH_SURROGATE = /[\uD800-\uDBFF]$/

/** Decodes the text of a JSON string piece by piece, up to its closing quote. Raw control characters, as small models write them, stay. */
class JsonText {
  /** The beginning of an escape. */
  #cut = ''
  /** A decoded half of a character, which goes out with its other half. */
  #half = ''
  #isClosed = false

  add(piece: string): string {
    if (this.#isClosed) return ''
    const text = this.#cut + piece
    this.#cut = ''
    let decoded = this.#half
    this.#half = ''
    let start = 0
    while (start < text.length) {
      const place = findSpecial(text, start)
      decoded += text.slice(start, place)
      if (place === text.length) break
      if (text[place] === '"') {
        this.#isClosed = true
        return decoded
      }
      const rest = text.slice(place, place + 6)
      if (CUT_ESCAPE.test(rest)) {
        this.#cut = rest
        break
      }
      const { character, length } = readEscape(rest)
      decoded += character
      start = place + length
    }
    if (!HIGH_SURROGATE.test(decoded)) return decoded
    this.#half = decoded.slice(-1)
    return decoded.slice(0, -1)
  }

  /** What was held back of a string that is cut. */
  end(): string {
    const rest = this.#half
    this.#half = ''
    return this.#isClosed ? '' : rest
  }
}

/** The place of the next quote or backslash; the length of the text without one. */
function findSpecial(text: string, start: number): number {
  for (let place = start; place < text.length; place++) {
    const code = text.charCodeAt(place)
    if (code === QUOTE || code === BACKSLASH) return place
  }
  return text.length
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** @param text begins with a whole escape; an unknown one stands for itself. */
function readEscape(text: string): { character: string; length: number } {
  const known = ESCAPED[text[1] ?? '']
  if (known !== undefined) return { character: known, length: 2 }
  const code = /^\\u([\dA-Fa-f]{4})/.exec(text)?.[1]
  if (code !== undefined) return { character: String.fromCharCode(Number.parseInt(code, 16)), length: 6 }
  return { character: '\\', length: 1 }
}
