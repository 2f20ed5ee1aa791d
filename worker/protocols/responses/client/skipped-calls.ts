// Calls in a history whose item the gateway does not know, and their results: neither has an effect.

export class SkippedCalls {
  /** Created with the first call: most requests have none. */
  #ids: Set<string> | undefined
  readonly #skipped: string[]

  /** @param skipped gets the type or role of every skipped result. */
  constructor(skipped: string[]) {
    this.#skipped = skipped
  }

  /** Notes the id of a call that was skipped because of the type of its item. */
  addSkipped(id: string): void {
    this.#ids ??= new Set()
    this.#ids.add(id)
  }

  /** Notes the id of a function's call: some clients number the calls of every turn from 1, so an id may return. */
  addFunction(id: string | null): void {
    if (id !== null) this.#ids?.delete(id)
  }

  /** True for the result of a skipped call; `type` is the type or the role of the result. */
  skipsResult(callId: string | null, type = 'tool'): boolean {
    if (callId === null || this.#ids?.has(callId) !== true) return false
    this.#skipped.push(type)
    return true
  }
}
