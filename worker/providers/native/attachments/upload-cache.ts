// Remembers which files the upstream already stores, and shares one upload among the requests that need the same file at the same
// time. A file belongs to the credential that uploaded it, so the key must name the credential.

import { abortError } from '../../http/abort.ts'

export interface UploadedFile<Kind> {
  fileId: string
  /** Counts against the limits of every request that uses the file. */
  bytes: number
  kind: Kind
}

export interface UploadCacheOptions {
  entriesMax: number
  now: () => number
}

export interface UploadCache<Kind> {
  /**
   * Resolves with the remembered file of a key, or with the result of `produce`, which all callers that wait for it share. `produce` is
   * aborted only when the last of them is aborted. Rejects with the error of `produce`, and for an aborted caller with its signal's.
   */
  getOrProduce(
    key: string,
    keptMs: number,
    signal: AbortSignal,
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
    // Moved to the end: the first entry is always the least recently used one.
    entries.set(key, entry)
    return entry.file
  }

  function remember(key: string, file: UploadedFile<Kind>, keptMs: number): void {
    entries.set(key, { file, untilMs: options.now() + keptMs })
    if (entries.size <= options.entriesMax) return
    const oldest = entries.keys().next()
    if (oldest.done !== true) entries.delete(oldest.value)
  }

  function startFlight(
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
      const flight = flights.get(key) ?? startFlight(key, keptMs, produce)
      flight.waiters += 1
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          flight.waiters -= 1
          if (flight.waiters === 0) {
            // A later caller must not wait for a flight that is being aborted.
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
