// Text that grows while a response streams. A piece may be a slice that keeps the whole read in memory from which it was cut, so pieces
// are copied together before many of them are held.

/** Copying blocks of this size costs less than a piece of its own for each event. */
const BLOCK_CHARACTERS = 16_384

export class GrowingText {
  #whole = ''
  #pieces = ''

  get length(): number {
    return this.#whole.length + this.#pieces.length
  }

  add(piece: string): void {
    this.#pieces += piece
    if (this.#pieces.length < BLOCK_CHARACTERS) return
    this.#whole += copy(this.#pieces)
    this.#pieces = ''
  }

  toString(): string {
    return this.#whole + this.#pieces
  }
}

/** The same text in memory of its own: joining two strings and cutting the first off again makes the engine write the result anew. */
function copy(text: string): string {
  return ` ${text}`.slice(1)
}
