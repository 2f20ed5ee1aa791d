// Text that waits, in the pieces in which it arrived: taking some characters from its front costs only those characters.

/** A front that was taken is dropped once it is so many pieces. */
const TAKEN_PIECES_MAX = 1024

export class TextQueue {
  #pieces: string[] = []
  #first = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  push(piece: string): void {
    if (piece === '') return
    this.#pieces.push(piece)
    this.#length += piece.length
  }

  /** Removes this many characters from the front, all of them at the most. */
  take(count: number): string {
    let taken = ''
    let left = Math.min(count, this.#length)
    this.#length -= left
    while (left > 0) {
      const piece = this.#pieces[this.#first] ?? ''
      if (piece.length > left) {
        this.#pieces[this.#first] = piece.slice(left)
        return taken + piece.slice(0, left)
      }
      taken += piece
      left -= piece.length
      this.#drop()
    }
    return taken
  }

  #drop(): void {
    this.#first++
    if (this.#first < TAKEN_PIECES_MAX && this.#first < this.#pieces.length) return
    this.#pieces = this.#pieces.slice(this.#first)
    this.#first = 0
  }
}
