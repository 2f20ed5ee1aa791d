// The calls of one input and whether a result followed: a cut call without a result must not reach the provider (decisions 51).

import { flattenToolName, type ToolCallPart, type ToolResultPart } from '../../../normalized/index.ts'

/** A call of the history. It is cut when its arguments are no object or its item is incomplete. */
export interface ReadCall {
  part: ToolCallPart
  isCut: boolean
}

/** Indexed, because agents send long histories: a result finds its call without a search through all. */
export class InputCalls {
  /** The latest call of each id. */
  readonly #byId = new Map<string, ReadCall>()
  /** Calls without a result, oldest first. */
  readonly #open = new Set<ReadCall>()
  readonly #openByName = new Map<string, Set<ReadCall>>()

  get hasOpen(): boolean {
    return this.#open.size > 0
  }

  add(call: ReadCall): void {
    const { id } = call.part
    if (id !== null) this.#byId.set(id, call)
    this.#open.add(call)
    const name = flattenToolName(call.part)
    const sameName = this.#openByName.get(name)
    if (sameName === undefined) this.#openByName.set(name, new Set([call]))
    else sameName.add(call)
  }

  /** True when a call of the input has this id. */
  has(id: string | null): boolean {
    return id !== null && this.#byId.has(id)
  }

  /** Notes that the result's call has a result: the call with its id, or else the oldest one without a result, of its name first. */
  answer({ callId, name }: ToolResultPart): void {
    const call = (callId === null ? undefined : this.#byId.get(callId)) ?? this.#findOpen(name)
    if (call === undefined) return
    this.#open.delete(call)
    this.#openByName.get(flattenToolName(call.part))?.delete(call)
  }

  /** The cut calls without a result. */
  listCut(): Set<ToolCallPart> {
    const cut = new Set<ToolCallPart>()
    for (const { part, isCut } of this.#open) if (isCut) cut.add(part)
    return cut
  }

  #findOpen(name: string | undefined): ReadCall | undefined {
    const sameName = name === undefined ? undefined : this.#openByName.get(name)
    const [oldest] = sameName === undefined || sameName.size === 0 ? this.#open : sameName
    return oldest
  }
}
