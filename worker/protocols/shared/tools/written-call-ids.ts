// Ids for the calls and results of a conversation that is written in a protocol where each must have one.

import type { ToolCallPart, ToolResultPart } from '../../../normalized/index.ts'

export class WrittenCallIds {
  readonly #names = new Map<string, string>()
  readonly #open: Array<{ id: string; name: string }> = []
  #count = 0

  /** The id of a call: its own, else a new one. */
  ofCall({ id, name }: ToolCallPart): string {
    const written = id ?? `call_${this.#count++}`
    this.#names.set(written, name)
    if (id === null) this.#open.push({ id: written, name })
    return written
  }

  /** The id of a result: its own, else that of the oldest call without an id, of the result's name first. */
  ofResult({ callId, name }: ToolResultPart): string {
    if (callId !== null) return callId
    const index = Math.max(
      this.#open.findIndex(call => call.name === name),
      0
    )
    return this.#open.splice(index, 1)[0]?.id ?? `call_${this.#count++}`
  }

  /** The name of the function that the result's call has; undefined for a result without a call. */
  findName({ callId, name }: ToolResultPart): string | undefined {
    return name ?? (callId === null ? this.#open[0]?.name : this.#names.get(callId))
  }
}
