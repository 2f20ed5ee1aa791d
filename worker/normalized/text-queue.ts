// Text that waits, in the pieces in which it arrived: taking some characters from its front costs only those characters.

export interface TextQueue {
  readonly length: number
  push(piece: string): void
  /** Removes this many characters from the front, all of them at the most. */
  take(count: number): string
}

/** A front that was taken is dropped once it is so many pieces. */
const TAKEN_PIECES_MAX = 1024

export function createTextQueue(): TextQueue {
  let pieces: string[] = []
  let first = 0
  let length = 0

  function drop(): void {
    first++
    if (first < TAKEN_PIECES_MAX && first < pieces.length) return
    pieces = pieces.slice(first)
    first = 0
  }

  return {
    get length() {
      return length
    },
    push(piece) {
      if (piece === '') return
      pieces.push(piece)
      length += piece.length
    },
    take(count) {
      let taken = ''
      let left = Math.min(count, length)
      length -= left
      while (left > 0) {
        const piece = pieces[first] ?? ''
        if (piece.length > left) {
          pieces[first] = piece.slice(left)
          return taken + piece.slice(0, left)
        }
        taken += piece
        left -= piece.length
        drop()
      }
      return taken
    }
  }
}
