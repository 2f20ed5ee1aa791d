// Waiting that ends when the request is no longer wanted: every wait of the executor goes through here.

import { GatewayError } from '../../normalized/index.ts'
import type { CancelSignal } from '../../performance/cancel-source.ts'

/** The error that ended a request: the signal's own `GatewayError`, or `client_disconnected` for any other reason. */
export function abortError(signal: CancelSignal): GatewayError {
  const reason: unknown = signal.reason
  return GatewayError.is(reason) ? reason : new GatewayError('client_disconnected', { cause: reason })
}

/** Throws the signal's error when it was aborted already. */
export function throwIfAborted(signal: CancelSignal): void {
  if (signal.aborted) throw abortError(signal)
}

/**
 * Waits for a promise that others may share: an abort ends this wait and not the work behind it.
 * Rejects with the signal's `GatewayError`.
 */
export function raceAbort<T>(promise: Promise<T>, signal: CancelSignal): Promise<T> {
  if (signal.aborted) {
    // The work goes on for others; its failure is theirs to see.
    promise.catch(() => undefined)
    return Promise.reject(abortError(signal))
  }
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(abortError(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Resolves after `delayMs`, or rejects with the signal's `GatewayError`. */
export function delay(delayMs: number, signal: CancelSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(abortError(signal))
      return
    }
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(abortError(signal))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, delayMs)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
