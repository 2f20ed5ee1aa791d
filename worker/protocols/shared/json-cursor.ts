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

/** A number as well, so that a comparison with a byte is one of two numbers. */
const END = -1

const HIGH_BITS = 0x80808080 | 0
const FOUR_SPACES = 0x20202020

const WORD_BYTES = 4
/** How far the end of a text is looked for here, which costs less for names, values and short messages than the native search does. */
const NEAR_BYTES = 512

const FOUR_QUOTES = 0x22222222
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
  /** One of its escapes is a surrogate, half of a character. */
  hasSurrogate = false
  readonly #bytes: Buffer
  /** The memory behind `bytes`, four bytes at a time. */
  readonly #words: Int32Array
  /** How far `bytes` begins behind a whole word of it. */
  readonly #offset: number

  /** The next quote and the next backslash that were found, kept so that no byte is looked at again for each of many escapes. */
  #quote = -1
  #backslash = -1
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
    for (; this.at < length; this.at++) {
      const code = bytes[this.at] as number
      if (code > SPACE || !(code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB))
        return code
    }
    return END
  }

  /** True when only blanks follow. */
  isAtEnd(): boolean {
    return this.peek() === END
  }

  /** Passes a text; false when none follows, or an invalid one. */
  takeText(): boolean {
    if (!this.take(QUOTE)) return false
    const from = this.at
    this.isEscaped = false
    this.hasSurrogate = false
    this.start = from
    const index = this.#findSpecial(from, Math.min(from + NEAR_BYTES, this.#bytes.length))
    return this.#bytes[index] === QUOTE ? this.#endText(index) : this.#takeRest(index)
  }

  /** The place of the first quote, backslash or control character; `to` where there is none before it. */
  #findSpecial(from: number, to: number): number {
    const bytes = this.#bytes
    const words = this.#words
    const offset = this.#offset
    let index = from
    for (; index < to && ((index + offset) & 3) !== 0; index++) if (isSpecial(bytes[index] as number)) return index
    const last = (to + offset) >> 2
    let word = (index + offset) >> 2
    while (word < last && !hasSpecial(words[word] as number)) word++
    index = Math.max(index, word * WORD_BYTES - offset)
    while (index < to && !isSpecial(bytes[index] as number)) index++
    return index
  }

  /** Passes the rest of a text that is long, or has an escape here. */
  #takeRest(from: number): boolean {
    let index = from
    for (;;) {
      const quote = this.#findQuote(index)
      const backslash = this.#findBackslash(index)
      const end = Math.min(quote, backslash)
      if (end === this.#bytes.length || this.#hasControl(index, end)) return false
      if (end === quote) return this.#endText(quote)
      this.isEscaped = true
      this.#escapes++
      index = this.#passEscape(backslash)
      if (index < 0 || this.#escapes > ESCAPES_MAX) return false
    }
  }

  #endText(quote: number): true {
    this.end = quote
    this.at = quote + 1
    return true
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

  /** The place of the next quote, or the end. */
  #findQuote(from: number): number {
    if (this.#quote < from) this.#quote = this.#find(QUOTE, from)
    return this.#quote
  }

  #findBackslash(from: number): number {
    if (this.#backslash < from) this.#backslash = this.#find(BACKSLASH, from)
    return this.#backslash
  }

  /** The place of this byte, or the end. */
  #find(code: number, from: number): number {
    const bytes = this.#bytes
    const { length } = bytes
    const found = bytes.indexOf(code, from)
    return found < 0 ? length : found
  }

  /** Whether a byte is a control character, which a text must escape. Sixteen bytes at a time: prose is most of a body. */
  #hasControl(from: number, to: number): boolean {
    const bytes = this.#bytes
    const offset = this.#offset
    let index = from
    for (; index < to && ((index + offset) & 3) !== 0; index++) if ((bytes[index] as number) < SPACE) return true
    if (to - index >= WORD_BYTES) {
      const last = (to + offset) >> 2
      if (this.#hasControlWord((index + offset) >> 2, last)) return true
      index = last * WORD_BYTES - offset
    }
    for (; index < to; index++) if ((bytes[index] as number) < SPACE) return true
    return false
  }

  #hasControlWord(from: number, to: number): boolean {
    const words = this.#words
    let marks = 0
    let word = from
    for (; word < to - 3; word += 4) {
      marks |=
        markControls(words[word] as number) |
        markControls(words[word + 1] as number) |
        markControls(words[word + 2] as number) |
        markControls(words[word + 3] as number)
    }
    for (; word < to; word++) marks |= markControls(words[word] as number)
    return (marks & HIGH_BITS) !== 0
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
        if (isSurrogate(bytes[from + 2], bytes[from + 3])) this.hasSurrogate = true
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

function isSpecial(code: number): boolean {
  return code < SPACE || code === QUOTE || code === BACKSLASH
}

/** Whether one of four bytes is special; not more than that, because a special byte may mark the one behind it as well. */
function hasSpecial(four: number): boolean {
  const quotes = four ^ FOUR_QUOTES
  const backslashes = four ^ FOUR_BACKSLASHES
  const marks = ((quotes - FOUR_ONES) & ~quotes) | ((backslashes - FOUR_ONES) & ~backslashes) | markControls(four)
  return (marks & HIGH_BITS) !== 0
}

/** The highest bit of a byte is set where the byte is smaller than a space. */
function markControls(four: number): number {
  return (four - FOUR_SPACES) & ~four
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= ZERO && code <= NINE
}

function isHexadecimal(code: number | undefined): boolean {
  if (code === undefined) return false
  const lower = code | 0x20
  return isDigit(code) || (lower >= 0x61 && lower <= 0x66)
}

/** The first two digits of U+D800 to U+DFFF. */
function isSurrogate(first = 0, second = 0): boolean {
  return (first | 0x20) === 0x64 && second >= 0x38
}
