// Steps through the bytes of a JSON text without making values of it, for bodies that are passed on as they came. What it accepts
// is valid JSON, and it refuses valid JSON only where that is costly to look at: very many escapes, or a number of very many digits. A caller
// that meets something it did not expect reads the body in the general way.

import {
  BACKSLASH,
  CARRIAGE_RETURN,
  DOT,
  LINE_FEED,
  MINUS,
  NINE,
  PLUS,
  QUOTE,
  SPACE,
  TAB,
  ZERO
} from './json-characters.ts'

/** What `peek` returns at the end: a number, as bytes are, because comparing other types costs more. */
const END = -1

const HIGH_BITS = 0x80808080 | 0
const FOUR_SECOND_BITS = 0x02020202
const FOUR_EXCLAMATION_MARKS = 0x21212121

const WORD_BYTES = 4
const FOUR_BACKSLASHES = 0x5c5c5c5c
const FOUR_ONES = 0x01010101

/** Each escape costs as much as some hundred bytes of prose. A body with more of them is left to the general way, which may run in a thread. */
const ESCAPES_MAX = 50_000

/** Digits in a row of a number. No client writes as many, and ten million of them would keep the event loop busy for a tenth of a second. */
const DIGITS_MAX = 64

export class JsonCursor {
  /** The next byte. */
  at = 0
  /** The place of the last text, without its quotes, or of the last number. */
  start = 0
  end = 0
  /** The last text has escapes. */
  isEscaped = false
  readonly #bytes: Buffer
  /** The memory behind `bytes`, four bytes at a time. */
  readonly #words: Int32Array
  /** How far `bytes` begins behind a whole word of it. */
  readonly #offset: number
  #escapes = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    const { buffer, byteOffset, byteLength } = bytes
    this.#offset = byteOffset % WORD_BYTES
    this.#words = new Int32Array(buffer, byteOffset - this.#offset, (this.#offset + byteLength) >> 2)
  }

  /** Passes this structural character and the blanks before it; false, without a step, when another one follows. */
  take(code: number): boolean {
    if (this.peek() !== code) return false
    this.at++
    return true
  }

  /** The next byte that is no blank; -1 at the end. */
  peek(): number {
    const bytes = this.#bytes
    const { length } = bytes
    while (this.at < length && isBlank(bytes[this.at] as number)) this.at++
    return this.at < length ? (bytes[this.at] as number) : END
  }

  /** True when only blanks follow. */
  isAtEnd(): boolean {
    return this.peek() === END
  }

  /** Passes a text; false when none follows, or an invalid one. */
  takeText(): boolean {
    if (!this.take(QUOTE)) return false
    const bytes = this.#bytes
    this.isEscaped = false
    this.start = this.at
    let index = this.#findSpecial(this.at)
    while (bytes[index] === BACKSLASH) {
      this.isEscaped = true
      this.#escapes++
      const behind = this.#passEscape(index)
      if (behind < 0 || this.#escapes > ESCAPES_MAX) return false
      index = this.#findSpecial(behind)
    }
    if (bytes[index] !== QUOTE) return false
    this.end = index
    this.at = index + 1
    return true
  }

  /** The place of the next quote, backslash or control character, or the end. Sixteen bytes at a time: prose is most of a body. */
  #findSpecial(from: number): number {
    const bytes = this.#bytes
    const words = this.#words
    const offset = this.#offset
    const { length } = bytes
    let index = from
    for (; index < length && ((index + offset) & 3) !== 0; index++) if (isSpecial(bytes[index] as number)) return index
    let word = (index + offset) >> 2
    const last = words.length - 3
    while (
      word < last &&
      ((markSpecial(words[word] as number) |
        markSpecial(words[word + 1] as number) |
        markSpecial(words[word + 2] as number) |
        markSpecial(words[word + 3] as number)) &
        HIGH_BITS) ===
        0
    ) {
      word += 4
    }
    index = Math.max(index, word * WORD_BYTES - offset)
    while (index < length && !isSpecial(bytes[index] as number)) index++
    return index
  }

  /** Passes a number; false when none follows, an invalid one, or a very long one. */
  takeNumber(): boolean {
    this.peek()
    const bytes = this.#bytes
    let index = this.at
    this.start = index
    if (bytes[index] === MINUS) index++
    if (bytes[index] === ZERO) index++
    else {
      index = this.#passDigits(index)
      if (index < 0) return false
    }
    if (bytes[index] === DOT) {
      index = this.#passDigits(index + 1)
      if (index < 0) return false
    }
    const code = bytes[index]
    if (code === 0x65 || code === 0x45) {
      const sign = bytes[index + 1]
      index = this.#passDigits(sign === PLUS || sign === MINUS ? index + 2 : index + 1)
      if (index < 0) return false
    }
    this.end = index
    this.at = index
    return true
  }

  /** Passes this word, such as `null`; false, without a step, when another value follows. */
  takeWord(word: string): boolean {
    this.peek()
    const { at } = this
    if (!this.#isAt(word, at)) return false
    this.at = at + word.length
    return true
  }

  /** Whether the last text, as it is written, is this one, which is ASCII. */
  isText(text: string): boolean {
    return this.end - this.start === text.length && this.#isAt(text, this.start)
  }

  #isAt(word: string, from: number): boolean {
    const bytes = this.#bytes
    for (let index = 0; index < word.length; index++) if (bytes[from + index] !== word.charCodeAt(index)) return false
    return true
  }

  /** The place behind an escape; -1 for an invalid one. */
  #passEscape(from: number): number {
    const bytes = this.#bytes
    switch (bytes[from + 1]) {
      case QUOTE:
      case BACKSLASH:
      case 0x2f:
      case 0x62:
      case 0x66:
      case 0x6e:
      case 0x72:
      case 0x74:
        return from + 2
      case 0x75:
        for (let index = from + 2; index < from + 6; index++) if (!isHexadecimal(bytes[index])) return -1
        return from + 6
      default:
        return -1
    }
  }

  /** The place behind at least one digit; -1 where there is none, or too many. */
  #passDigits(from: number): number {
    const bytes = this.#bytes
    const last = from + DIGITS_MAX
    let index = from
    while (isDigit(bytes[index]) && index <= last) index++
    return index === from || index > last ? -1 : index
  }
}

function isBlank(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB
}

/** Cannot stand in a text, or ends it, or begins an escape. */
function isSpecial(code: number): boolean {
  return code < SPACE || code === QUOTE || code === BACKSLASH
}

/**
 * The highest bit of a byte is set where the byte is special. A byte behind a special one may be marked too, so a mark tells only that there is one
 * among the four. With its second bit flipped, a quote is smaller than 0x21, as a control character is; a space and `!` are not.
 */
function markSpecial(four: number): number {
  const flipped = four ^ FOUR_SECOND_BITS
  const backslashes = four ^ FOUR_BACKSLASHES
  return ((flipped - FOUR_EXCLAMATION_MARKS) & ~flipped) | ((backslashes - FOUR_ONES) & ~backslashes)
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= ZERO && code <= NINE
}

function isHexadecimal(code: number | undefined): boolean {
  if (code === undefined) return false
  const lower = code | 0x20
  return isDigit(code) || (lower >= 0x61 && lower <= 0x66)
}
