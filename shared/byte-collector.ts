// Collects the bytes of one body as they arrive. Joining the pieces of a large body at its end would keep the event loop busy, so they are
// copied together while they arrive.

/** Up to here pieces are kept as they are: joining so few bytes costs next to nothing, and most bodies are one piece. */
const LISTED_BYTES_MAX = 256 * 1024

export class ByteCollector {
  /** The whole size, where the head announced it. */
  readonly #announced: number | undefined
  #pieces: Buffer[] = []
  #length = 0
  /** Holds everything once the pieces are more than a list should have. */
  #memory: Buffer | undefined

  /** @param announced the size that the head of the message announced, if any; a wrong one is harmless. */
  constructor(announced?: number) {
    this.#announced = announced
  }

  get length(): number {
    return this.#length
  }

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

  #copy(piece: Buffer): void {
    const needed = this.#length + piece.length
    if (this.#memory === undefined || this.#memory.length < needed) this.#grow(needed)
    piece.copy(this.#memory as Buffer, this.#length)
  }

  /** Doubles the memory: a message that announces much and sends little gets little. */
  #grow(needed: number): void {
    const doubled = Math.max(2 * this.#length, needed, 4 * LISTED_BYTES_MAX)
    const announced = this.#announced ?? 0
    const size = announced >= needed ? Math.min(doubled, announced) : doubled
    const memory = Buffer.allocUnsafeSlow(size)
    if (this.#memory === undefined) Buffer.concat(this.#pieces, this.#length).copy(memory)
    else this.#memory.copy(memory, 0, 0, this.#length)
    this.#pieces = []
    this.#memory = memory
  }
}
