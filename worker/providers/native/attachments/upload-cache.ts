// Remembers which files are with the upstream already, and lets everybody who asks for the same file at the same time wait for
// one upload. A file belongs to the credential that uploaded it, so the key must name the credential.

import type { CancelSignal } from '../../../performance/cancel-source.ts'
import { abortError } from '../../http/abort.ts'

export interface UploadedFile<Kind> {
  fileId: string
  /** What the file counts against the limits of a request that uses it again. */
  bytes: number
  kind: Kind
}

export interface UploadCacheOptions {
  entriesMax: number
  now: () => number
}

export interface UploadCache<Kind> {
  /**
   * The remembered file of a key, or the result of `produce`, which is shared by all who wait for it. It is aborted only when
   * the last of them gives up. Rejects with what `produce` throws, and with the signal's error for whoever gave up.
   */
  getOrProduce(
    key: string,
    keptMs: number,
    signal: CancelSignal,
    produce: (signal: AbortSignal) => Promise<UploadedFile<Kind>>
  ): Promise<UploadedFile<Kind>>
  readonly size: number
}

interface Flight<Kind> {
  promise: Promise<UploadedFile<Kind>>
  abort: AbortController
  waiters: number
}

export function createUploadCache<Kind>(options: UploadCacheOptions): UploadCache<Kind> {
  const entries = new Map<string, { file: UploadedFile<Kind>; untilMs: number }>()
  const flights = new Map<string, Flight<Kind>>()

  function find(key: string): UploadedFile<Kind> | undefined {
    const entry = entries.get(key)
    if (entry === undefined) return undefined
    entries.delete(key)
    if (options.now() >= entry.untilMs) return undefined
    // Back to the end: the first entry is always the one that was used the longest ago.
    entries.set(key, entry)
    return entry.file
  }

  function remember(key: string, file: UploadedFile<Kind>, keptMs: number): void {
    entries.set(key, { file, untilMs: options.now() + keptMs })
    if (entries.size <= options.entriesMax) return
    const oldest = entries.keys().next()
    if (oldest.done !== true) entries.delete(oldest.value)
  }

  function takeOff(
    key: string,
    keptMs: number,
    produce: (signal: AbortSignal) => Promise<UploadedFile<Kind>>
  ): Flight<Kind> {
    const abort = new AbortController()
    const promise = produce(abort.signal)
      .then(file => {
        remember(key, file, keptMs)
        return file
      })
      .finally(() => {
        if (flights.get(key) === flight) flights.delete(key)
      })
    const flight: Flight<Kind> = { promise, abort, waiters: 0 }
    flights.set(key, flight)
    return flight
  }

  return {
    getOrProduce(key, keptMs, signal, produce) {
      if (signal.aborted) return Promise.reject(abortError(signal))
      const known = find(key)
      if (known !== undefined) return Promise.resolve(known)
      const flight = flights.get(key) ?? takeOff(key, keptMs, produce)
      flight.waiters += 1
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          flight.waiters -= 1
          if (flight.waiters === 0) {
            // Nobody who comes later may wait for a flight that is being called off.
            if (flights.get(key) === flight) flights.delete(key)
            flight.abort.abort(abortError(signal))
          }
          reject(abortError(signal))
        }
        signal.addEventListener('abort', onAbort, { once: true })
        flight.promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
      })
    },
    get size() {
      return entries.size
    }
  }
}
