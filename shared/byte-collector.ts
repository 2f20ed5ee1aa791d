// Collects the bytes of one body as they arrive. Joining the pieces of a large body at its end would keep the event loop busy, so they are
// copied together while they arrive.

import { releaseMemory } from './bytes.ts'

/**
 * Up to this size pieces are only listed: joining so few bytes is cheap, and most bodies are one
 * piece.
 */
const LISTED_BYTES_MAX = 256 * 1024

/** Each growth copies all received bytes, so growths are few. */
const GROWTH = 4
const LARGE_BYTES_MIN = 1024 * 1024
/** The system allocates memory on the first write, so the unused rest of a buffer costs nothing. */
const LARGE_GROWTH = 16

/** Pieces of this size have memory of their own, which is given back once they are copied. */
const RELEASED_BYTES_MIN = 16 * 1024

export interface CollectedSize {
  /** The bound of such bodies. */
  bytesMax: number
  /** What the head of the message announced; a wrong one is harmless. */
  announcedBytes?: number | undefined
}

export class ByteCollector {
  readonly #size: CollectedSize
  #pieces: Buffer[] = []
  #length = 0
  /** Holds everything once the pieces are more than a list should have. */
  #memory: Buffer | undefined
  /**
   * The piece that was copied last: the reader of the connection may hold it until the next piece
   * arrives.
   */
  #copied: Buffer | undefined

  constructor(size: CollectedSize) {
    this.#size = size
  }

  get length(): number {
    return this.#length
  }

  /** The collector takes ownership of the piece and frees its memory once it is copied. */
  add(piece: Buffer): void {
    if (this.#memory === undefined && this.#length + piece.length <= LISTED_BYTES_MAX) this.#pieces.push(piece)
    else this.#copy(piece)
    this.#length += piece.length
  }

  /** The bytes so far; nothing may be added afterwards. */
  take(): Buffer {
    const [first] = this.#pieces
    if (this.#memory !== undefined) return this.#memory.subarray(0, this.#length)
    return first !== undefined && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces, this.#length)
  }

  /**
   * Frees the memory. The result of `take` must not be used afterwards; collecting may begin again.
   */
  release(): void {
    if (this.#memory !== undefined) releaseMemory(this.#memory)
    this.#memory = undefined
    this.#pieces = []
    this.#length = 0
  }

  #copy(piece: Buffer): void {
    const needed = this.#length + piece.length
    if (this.#memory === undefined || this.#memory.length < needed) this.#grow(needed)
    piece.copy(this.#memory as Buffer, this.#length)
    if (this.#copied !== undefined) releasePiece(this.#copied)
    this.#copied = piece
  }

  #grow(needed: number): void {
    const memory = Buffer.allocUnsafeSlow(Math.max(needed, this.#planMemory(needed)))
    if (this.#memory !== undefined) {
      this.#memory.copy(memory, 0, 0, this.#length)
      releaseMemory(this.#memory)
    }
    let end = 0
    for (const piece of this.#pieces) {
      end += piece.copy(memory, end)
      releasePiece(piece)
    }
    this.#pieces = []
    this.#memory = memory
  }

  /**
   * The announced length counts only after the first megabyte, so that a message which announces
   * much and sends little allocates little.
   */
  #planMemory(needed: number): number {
    const { bytesMax, announcedBytes } = this.#size
    if (needed <= LARGE_BYTES_MIN)
      return Math.min(Math.max(GROWTH * this.#length, LARGE_BYTES_MIN), announcedBytes ?? bytesMax)
    return announcedBytes ?? Math.min(LARGE_GROWTH * this.#length, bytesMax)
  }
}

/** Does nothing for a piece whose memory holds other bytes too. */
function releasePiece(piece: Buffer): void {
  if (piece.byteLength >= RELEASED_BYTES_MIN && piece.byteLength === piece.buffer.byteLength) releaseMemory(piece)
}
