// Splits the bytes of a stream into lines of bounded length. Workers and the writer speak in lines of JSON.

/** Raised for a line beyond the bound: the other end does not follow the protocol. */
export class LineTooLongError extends Error {
  constructor(bytesMax: number) {
    super(`A line is longer than ${bytesMax} bytes.`)
    this.name = 'LineTooLongError'
  }
}

const NEWLINE = 0x0a

export class LineSplitter {
  readonly #bytesMax: number
  #pieces: Buffer[] = []
  #length = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Returns the lines that `chunk` completes, without their line feeds; a line may share the memory of `chunk`. Raises `LineTooLongError`. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = []
    let start = 0
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start)
      if (end === -1) break
      lines.push(this.#take(chunk.subarray(start, end)))
      start = end + 1
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start))
    return lines
  }

  #take(last: Buffer): Buffer {
    if (this.#length + last.length > this.#bytesMax) throw new LineTooLongError(this.#bytesMax)
    if (this.#length === 0) return last
    const line = Buffer.concat([...this.#pieces, last], this.#length + last.length)
    this.#pieces = []
    this.#length = 0
    return line
  }

  #keep(rest: Buffer): void {
    this.#length += rest.length
    if (this.#length > this.#bytesMax) throw new LineTooLongError(this.#bytesMax)
    this.#pieces.push(rest)
  }
}
