// Follows the nesting of JSON text that arrives in pieces. Each character is looked at once, so that the question whether the text is
// complete costs nothing, and text that nests deeper than a parsed value may is found before it is parsed.

import { JSON_DEPTH_MAX } from './json.ts'

const QUOTE = 34
const BACKSLASH = 92

export class JsonNesting {
  #depth = 0
  #isInString = false
  #isEscaped = false
  #isTooDeep = false
  #place: 'before' | 'inside' | 'after' | 'elsewhere' = 'before'

  /** True when the text can be one whole object: its brackets are closed, and only white space surrounds it. */
  get isWhole(): boolean {
    return this.#place === 'after'
  }

  /** True for text that nests deeper than `JSON_DEPTH_MAX`. */
  get isTooDeep(): boolean {
    return this.#isTooDeep
  }

  add(piece: string): void {
    for (let index = 0; index < piece.length; index++) {
      const code = piece.charCodeAt(index)
      if (this.#isInString) this.#readInString(code)
      else this.#read(code)
    }
  }

  #readInString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === BACKSLASH) this.#isEscaped = true
    else if (code === QUOTE) this.#isInString = false
  }

  #read(code: number): void {
    switch (code) {
      case 0x7b: // {
      case 0x5b: // [
        this.#open(code)
        return
      case 0x7d: // }
      case 0x5d: // ]
        this.#depth--
        if (this.#place !== 'inside') this.#place = 'elsewhere'
        else if (this.#depth === 0) this.#place = 'after'
        return
      case 0x20:
      case 0x0a:
      case 0x0d:
      case 0x09:
        return
      case QUOTE:
        this.#isInString = true
        break
    }
    if (this.#place !== 'inside') this.#place = 'elsewhere'
  }

  #open(code: number): void {
    if (this.#place === 'before' && code === 0x7b) this.#place = 'inside'
    else if (this.#place !== 'inside') this.#place = 'elsewhere'
    this.#depth++
    if (this.#depth > JSON_DEPTH_MAX) this.#isTooDeep = true
  }
}
