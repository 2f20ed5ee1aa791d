// Ends the work of a request from outside. Every request has one and nearly none is ever told, so this is the part of `AbortSignal`
// that waiting needs, without the event system behind it: that one costs 3 us per request.

import type { GatewayError } from '../normalized/error.ts'

/** What waits look at. An `AbortSignal` is one too. */
export interface CancelSignal {
  readonly aborted: boolean
  /** A `GatewayError` where a `CancelSource` was aborted. */
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export class CancelSource implements CancelSignal {
  #reason: GatewayError | undefined
  #listeners: Array<() => void> = NO_LISTENERS
  #isAborted = false

  get aborted(): boolean {
    return this.#isAborted
  }

  get reason(): GatewayError | undefined {
    return this.#reason
  }

  /** Each listener is called once. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.#listeners.length === 0) this.#listeners = [listener]
    else this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    // Whoever came last nearly always leaves first.
    if (this.#listeners.at(-1) === listener) this.#listeners.pop()
    else this.#listeners = this.#listeners.filter(known => known !== listener)
  }

  /** Tells everybody who waits; the first reason stays. */
  abort(reason: GatewayError): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#reason = reason
    const listeners = this.#listeners
    this.#listeners = NO_LISTENERS
    for (const listener of listeners) listener()
  }
}

/** Never written to: the first listener makes a list of its own. */
const NO_LISTENERS: Array<() => void> = []

/** The same as an `AbortSignal`, for the libraries that want one. */
export function toAbortSignal(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  const controller = new AbortController()
  if (signal.aborted) controller.abort(signal.reason)
  else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true })
  return controller.signal
}
