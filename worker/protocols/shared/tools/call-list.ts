// Tool calls in the order of a conversation, searched from either end. An agent's history has thousands of calls, and the calls that
// have a result must not be passed again by every later search: a `Set` keeps the places of removed items, so that finding its first
// item takes longer with every removal.

/** The calls of one turn of the model: those before the next message of another role. */
interface TurnCalls<Call> {
  turn: unknown
  calls: Call[]
  /** Every call before this place is closed. */
  start: number
}

/** A list from which closed calls are dropped when a search meets them; each is passed once. */
export class CallList<Call> {
  /** The newest turn is the last one. */
  readonly #turns: TurnCalls<Call>[] = []
  readonly #isOpen: (call: Call) => boolean

  /** @param isOpen tells whether a call still has no result. A closed call must stay closed. */
  constructor(isOpen: (call: Call) => boolean) {
    this.#isOpen = isOpen
  }

  /** Adds the newest call. Calls that are added without a turn are of one turn. */
  add(call: Call, turn?: unknown): void {
    const last = this.#turns.at(-1)
    if (last !== undefined && last.turn === turn) last.calls.push(call)
    else this.#turns.push({ turn, calls: [call], start: 0 })
  }

  /** The oldest open call of the newest turn that has one; undefined when all are closed. */
  findOldest(): Call | undefined {
    for (; this.#turns.length > 0; this.#turns.pop()) {
      const turn = this.#turns.at(-1) as TurnCalls<Call>
      for (; turn.start < turn.calls.length; turn.start++) {
        const call = turn.calls[turn.start] as Call
        if (this.#isOpen(call)) return call
      }
    }
    return undefined
  }

  /** The newest open call; undefined when all are closed. */
  findNewest(): Call | undefined {
    for (; this.#turns.length > 0; this.#turns.pop()) {
      const { calls, start } = this.#turns.at(-1) as TurnCalls<Call>
      for (; calls.length > start; calls.pop()) {
        const call = calls.at(-1) as Call
        if (this.#isOpen(call)) return call
      }
    }
    return undefined
  }
}
