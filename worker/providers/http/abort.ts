// Waits that end at an abort, such as a client disconnect. Every wait of the executors uses these functions.

import { setTimeout } from 'node:timers/promises'
import { GatewayError } from '../../normalized/index.ts'

/** Returns the error of an aborted signal: its reason where that is a `GatewayError`, otherwise `client_disconnected`. */
export function abortError(signal: AbortSignal): GatewayError {
  const reason: unknown = signal.reason
  return GatewayError.is(reason) ? reason : new GatewayError('client_disconnected', { cause: reason })
}

/** Throws the signal's `GatewayError` when the signal is aborted. */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortError(signal)
}

/** Resolves like `promise`, or rejects with the signal's `GatewayError` when it is aborted before. The work behind the promise goes on. */
export function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // Other callers may wait for the same promise, so its rejection is not reported here.
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
export async function delay(delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(delayMs, undefined, { signal: signal })
  } catch {
    // The timer rejects only when the signal is aborted.
    throw abortError(signal)
  }
}
