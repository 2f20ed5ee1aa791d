// The calls of one input and whether a result followed: a cut call without a result must not reach
// the provider (decisions.md 51).

import { flattenToolName, type ToolCallPart, type ToolResultPart } from '../../../normalized/index.ts'
import { CallList } from '../../shared/tools/call-list.ts'

/** A call of the history. It is cut when its arguments are no object or its item is incomplete. */
export interface ReadCall {
  part: ToolCallPart
  isCut: boolean
}

/** Indexed, because agents send long histories: a result finds its call without a search through all. */
export class InputCalls {
  /** The latest call of each id. */
  readonly #byId = new Map<string, ReadCall>()
  /** Calls without a result. */
  readonly #open = new Set<ReadCall>()
  readonly #isOpen = (call: ReadCall): boolean => this.#open.has(call)
  readonly #inOrder = new CallList(this.#isOpen)
  readonly #byName = new Map<string, CallList<ReadCall>>()

  get hasOpen(): boolean {
    return this.#open.size > 0
  }

  add(call: ReadCall): void {
    const { id } = call.part
    if (id !== null) this.#byId.set(id, call)
    this.#open.add(call)
    this.#inOrder.add(call)
    const name = flattenToolName(call.part)
    const sameName = this.#byName.get(name) ?? new CallList(this.#isOpen)
    this.#byName.set(name, sameName)
    sameName.add(call)
  }

  /** True when a call of the input has this id. */
  has(id: string | null): boolean {
    return id !== null && this.#byId.has(id)
  }

  /** Notes that the result's call has a result: the call with its id, or else the oldest one without a result, of its name first. */
  answer({ callId, name }: ToolResultPart): void {
    const call = (callId === null ? undefined : this.#byId.get(callId)) ?? this.#findOpen(name)
    if (call !== undefined) this.#open.delete(call)
  }

  /** The cut calls without a result. */
  listCut(): Set<ToolCallPart> {
    const cut = new Set<ToolCallPart>()
    for (const { part, isCut } of this.#open) if (isCut) cut.add(part)
    return cut
  }

  #findOpen(name: string | undefined): ReadCall | undefined {
    const sameName = name === undefined ? undefined : this.#byName.get(name)
    return sameName?.findOldest() ?? this.#inOrder.findOldest()
  }
}
