// The calls that share one id. Some clients number the calls of every turn from 1, and some give all calls of a turn one id, such as the
// name of the function.

import { CallList } from './call-list.ts'

interface TurnCalls<Call> {
  turn: unknown
  inOrder: CallList<Call>
  byName: Map<string, CallList<Call>>
}

export class SameIdCalls<Call> {
  readonly #isOpen: (call: Call) => boolean
  #latest: Call
  /** Of the first call, which nearly always stays the only one. */
  readonly #first: { turn: unknown; name: string }
  /** From the second call on: the turns that may have an open call. */
  #turns: TurnCalls<Call>[] | undefined

  /** @param isOpen tells whether a call still has no result. A closed call must stay closed. */
  constructor(isOpen: (call: Call) => boolean, call: Call, place: { turn: unknown; name: string }) {
    this.#isOpen = isOpen
    this.#latest = call
    this.#first = place
  }

  /** Adds the newest call; `turn` is the same for the calls of one message. */
  add(call: Call, place: { turn: unknown; name: string }): void {
    if (this.#turns === undefined) {
      this.#turns = []
      this.#addTo(this.#turns, this.#latest, this.#first)
    }
    this.#addTo(this.#turns, call, place)
    this.#latest = call
  }

  /** The call of a result: the oldest open one of the newest turn that has any, of this name first; the latest call when all are closed. */
  find(name: string | undefined): Call {
    const turns = this.#turns ?? []
    for (; turns.length > 0; turns.pop()) {
      const { inOrder, byName } = turns.at(-1) as TurnCalls<Call>
      const sameName = name === undefined ? undefined : byName.get(name)
      const call = sameName?.findOldest() ?? inOrder.findOldest()
      if (call !== undefined) return call
    }
    return this.#latest
  }

  #addTo(turns: TurnCalls<Call>[], call: Call, { turn, name }: { turn: unknown; name: string }): void {
    let calls = turns.at(-1)
    if (calls === undefined || calls.turn !== turn) {
      calls = { turn, inOrder: new CallList(this.#isOpen), byName: new Map() }
      turns.push(calls)
    }
    calls.inOrder.add(call)
    const sameName = calls.byName.get(name) ?? new CallList(this.#isOpen)
    calls.byName.set(name, sameName)
    sameName.add(call)
  }
}
