// Tool calls in the order of a conversation, searched from either end. An agent's history has thousands of calls, and the calls that
// have a result must not be passed again by every later search: a `Set` keeps the places of removed items, so that finding its first
// item takes longer with every removal.

/** A list from which closed calls are dropped when a search meets them; each is passed once. */
export class CallList<Call> {
  readonly #calls: Call[] = []
  readonly #isOpen: (call: Call) => boolean
  /** Every call before this place is closed. */
  #start = 0

  /** @param isOpen tells whether a call still has no result. A closed call must stay closed. */
  constructor(isOpen: (call: Call) => boolean) {
    this.#isOpen = isOpen
  }

  /** Adds the newest call. */
  add(call: Call): void {
    this.#calls.push(call)
  }

  /** The oldest open call; undefined when all are closed. */
  findOldest(): Call | undefined {
    for (; this.#start < this.#calls.length; this.#start++) {
      const call = this.#calls[this.#start] as Call
      if (this.#isOpen(call)) return call
    }
    return undefined
  }

  /** The newest open call; undefined when all are closed. */
  findNewest(): Call | undefined {
    for (; this.#calls.length > this.#start; this.#calls.pop()) {
      const call = this.#calls.at(-1) as Call
      if (this.#isOpen(call)) return call
    }
    return undefined
  }
}
