// The text of a stream so far, kept to recognize its repetition in the last event
// (decisions.md 61).

import { GrowingText } from '../../../normalized/index.ts'

/** Of a longer text only this beginning is compared, and the length of all of it: the memory of a stream stays bounded. */
const KEPT_CHARACTERS_MAX = 1_048_576

export class SeenText {
  readonly #kept = new GrowingText()
  #length = 0

  add(piece: string): void {
    this.#length += piece.length
    if (this.#kept.length < KEPT_CHARACTERS_MAX) this.#kept.add(piece)
  }

  /** True when `text` is the text so far; false while there is none. */
  isRepeatedBy(text: string): boolean {
    return this.#length > 0 && text.length === this.#length && text.startsWith(this.#kept.toString())
  }
}
