// The last responses of one connection, so that its client can continue them by their ids although nothing else stores them (memory.md 5).

/** A client continues the last response, or branches off from one shortly before it. */
const RESPONSES_MAX = 16

export class RecentResponses {
  readonly #bytesMax: number
  /** Whole histories, the oldest first. Those of one chain share their items. */
  readonly #histories = new Map<string, readonly Uint8Array[]>()

  /** @param bytesMax of all items together. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The items up to the end of a response; undefined for one that is not kept. */
  find(id: string): readonly Uint8Array[] | undefined {
    return this.#histories.get(id)
  }

  /** Keeps a response, and forgets the oldest ones beyond the bounds. */
  keep(id: string, history: readonly Uint8Array[]): void {
    this.#histories.delete(id)
    this.#histories.set(id, history)
    while (this.#histories.size > RESPONSES_MAX || this.#countBytes() > this.#bytesMax) {
      const [oldest] = this.#histories.keys()
      if (oldest === undefined) return
      this.#histories.delete(oldest)
    }
  }

  forget(id: string): void {
    this.#histories.delete(id)
  }

  #countBytes(): number {
    const items = new Set([...this.#histories.values()].flat())
    let bytes = 0
    for (const item of items) bytes += item.byteLength
    return bytes
  }
}
