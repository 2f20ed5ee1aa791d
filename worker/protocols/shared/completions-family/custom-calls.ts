// Calls of custom tools in a history, and of other tools that are no functions. No provider here has such tools, so their calls have no
// effect, like their declarations.

import { type ContentPart, isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'

/** The calls of one request that are skipped, and their results. */
export class CustomCalls {
  /** Created with the first call: most requests have none. */
  #ids: Set<string> | undefined
  readonly #skipped: string[]

  /** @param skipped gets the type of every skipped call and the type or role of every skipped result. */
  constructor(skipped: string[]) {
    this.#skipped = skipped
  }

  /** Notes an entry of `tool_calls`. True for the call of a custom tool. */
  skipsCall(call: JsonValue, readId: (call: JsonObject) => string | null): boolean {
    if (!isJsonObject(call)) return false
    const isCustom = isCustomCall(call)
    if (!isCustom && this.#ids === undefined) return false
    this.#ids ??= new Set()
    const id = readId(call)
    // Some clients number the calls of every turn from 1, so a function's call may have the same id later.
    if (id !== null && isCustom) this.addSkipped(id)
    else this.addFunction(id)
    if (isCustom) this.#skipped.push('custom')
    return isCustom
  }

  /** Notes the id of a call that was skipped because of the type of its item. */
  addSkipped(id: string): void {
    this.#ids ??= new Set()
    this.#ids.add(id)
  }

  /** Notes the id of a function's call, whose result is not skipped. */
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

export function isCustomCall(call: JsonValue): boolean {
  return isJsonObject(call) && call.type === 'custom'
}

/** True for the content of a message that says nothing to a provider without the calls beside it. */
export function isEmptyContent(content: readonly ContentPart[]): boolean {
  return content.every(part => part.type === 'reasoning' || (part.type === 'text' && part.text === ''))
}
