// Finds the call that a tool result belongs to. Agents send long histories, so a result must find its call without a search through all.

import type { ToolResultPart } from '../../../normalized/index.ts'
import { CallList } from './call-list.ts'
import { SameIdCalls } from './same-id-calls.ts'

/** The calls of one request. */
export class CallIndex<Call> {
  readonly #isOpen: (call: Call) => boolean
  readonly #byId = new Map<string, SameIdCalls<Call>>()
  readonly #byName = new Map<string, CallList<Call>>()
  readonly #inOrder: CallList<Call>
  #turn = 0

  /** @param isOpen tells whether a call still has no result. A call with a result must keep it. */
  constructor(isOpen: (call: Call) => boolean) {
    this.#isOpen = isOpen
    this.#inOrder = new CallList(isOpen)
  }

  /** Ends the model's turn: a result goes to a later call first. A call that the user passed over may stay without a result for ever. */
  endTurn(): void {
    this.#turn++
  }

  /** Adds the newest call, by the client's id, null where it has none, and by the client's name of the function. */
  add(call: Call, { id, name }: { id: string | null; name: string }): void {
    const turn = this.#turn
    this.#inOrder.add(call, turn)
    const sameName = this.#byName.get(name) ?? new CallList(this.#isOpen)
    this.#byName.set(name, sameName)
    sameName.add(call, turn)
    if (id === null) return
    const key = foldCallId(id)
    const sameId = this.#byId.get(key)
    if (sameId === undefined) this.#byId.set(key, new SameIdCalls(this.#isOpen, call, { turn, name }))
    else sameId.add(call, { turn, name })
  }

  /**
   * The call of a result: by id, else by the function's name. A result without an id whose name no call has belongs to the oldest call of
   * the newest turn that waits (content.md 3).
   */
  find({ callId, name }: Pick<ToolResultPart, 'callId' | 'name'>): Call | undefined {
    const sameId = callId === null ? undefined : this.#byId.get(foldCallId(callId))
    if (sameId !== undefined) return sameId.find(name)
    const sameName = name === undefined ? undefined : this.#byName.get(name)
    if (sameName !== undefined) return sameName.findOldest()
    return callId === null ? this.#inOrder.findOldest() : undefined
  }
}

/** The client protocols put different prefixes before the same id. */
function foldCallId(id: string): string {
  return id.replace(/^(?:call_|fc_|toolu_)+/, '')
}
