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

/**
 * Resolves after `delayMs`, or rejects with the signal's `GatewayError`.
 * @param cut resolves the delay at once when it is aborted. It may outlive any number of delays: no listener stays.
 */
export async function delay(delayMs: number, signal: AbortSignal, cut?: AbortSignal): Promise<void> {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  const sources = cut === undefined ? [signal] : [signal, cut]
  for (const source of sources) {
    if (source.aborted) end()
    source.addEventListener('abort', end, { once: true })
  }
  try {
    await setTimeout(delayMs, undefined, { signal: ended.signal })
  } catch {
    // The timer rejects only when one of the sources is aborted.
    throwIfAborted(signal)
  } finally {
    for (const source of sources) source.removeEventListener('abort', end)
  }
}
