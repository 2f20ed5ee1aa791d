import { cutText, SECRET_CHARACTERS_MAX } from '../translation/capture.ts'

/** Pieces may be slices that keep the whole read in memory from which they were cut, so they are copied together after so many. */
const BLOCK_CHARACTERS = 1024

/** Text of a response that is kept up to a bound. */
export class BoundedText {
  #text = ''
  #pieces = ''
  #left: number
  #isCut = false

  constructor(charactersMax: number) {
    this.#left = charactersMax + SECRET_CHARACTERS_MAX
  }

  add(piece: string): void {
    if (piece.length > this.#left) this.#isCut = true
    if (this.#left <= 0) return
    this.#pieces += piece.slice(0, this.#left)
    this.#left -= piece.length
    if (this.#pieces.length < BLOCK_CHARACTERS) return
    // Joining two strings and cutting the first off again makes the engine write the result anew.
    this.#text += ` ${this.#pieces}`.slice(1)
    this.#pieces = ''
  }

  get isEmpty(): boolean {
    return this.#text === '' && this.#pieces === ''
  }

  get isCut(): boolean {
    return this.#isCut
  }

  /** Where it was cut, it ends at a safe place: redaction does not recognize half of a key. */
  toString(): string {
    const text = this.#text + this.#pieces
    return this.#isCut ? cutText(`${text} `, text.length) : text
  }
}
