// Cancels the work of a request. It implements only the members of `AbortSignal` that waiting code uses, because every request creates
// one, few are ever aborted, and the `EventTarget` behind an `AbortSignal` is expensive to create.
// Earns: 4 % of the processor time of a request, compared with `AbortController` (noise 6 %, four starts of each).

import type { GatewayError } from '../normalized/error.ts'

/** The signal that waiting code observes; an `AbortSignal` has the same members. */
export interface CancelSignal {
  readonly aborted: boolean
  /** A `GatewayError` when the signal is an aborted `CancelSource`. */
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

  /** The listener is called at most once. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.#listeners.length === 0) this.#listeners = [listener]
    else this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    // The listener that was added last is nearly always removed first.
    if (this.#listeners.at(-1) === listener) this.#listeners.pop()
    else this.#listeners = this.#listeners.filter(known => known !== listener)
  }

  /** Calls all listeners but those that an earlier one removes. The reason of the first call is kept; later calls do nothing. */
  abort(reason: GatewayError): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#reason = reason
    while (this.#listeners.length > 0) {
      const [listener, ...others] = this.#listeners
      this.#listeners = others
      listener?.()
    }
  }
}

/** Shared by all sources without a listener, and never changed: the first listener creates a new list. */
const NO_LISTENERS: Array<() => void> = []

/** An `AbortSignal` that aborts with `signal`, for libraries that require one. */
export function toAbortSignal(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  const controller = new AbortController()
  if (signal.aborted) controller.abort(signal.reason)
  else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true })
  return controller.signal
}
