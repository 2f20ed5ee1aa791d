// A bounded number of slots with a bounded queue in front of it. The connection pool below never queues, so that a full pool is
// refused here with an error for the client, and a waiting request leaves the queue when its client disconnects.

import { createSemaphore, type Semaphore, type SemaphoreOptions } from '../../../shared/semaphore.ts'
import { GatewayError } from '../../normalized/index.ts'
import { abortError } from './abort.ts'

export interface Gate {
  /** Takes a free slot and returns the function that gives it back; undefined when none is free. */
  tryEnter(): (() => void) | undefined
  /**
   * Waits for a slot, first come first served, and resolves with the function that gives it back; a waiter has a weight of 1 unless
   * given. Rejects with `gateway_overloaded`, or the gate's own error, when the queue is full or the wait too long, and with the
   * signal's error when it is aborted.
   */
  enter(signal: AbortSignal, weight?: number): Promise<() => void>
  readonly active: number
  readonly waiting: number
}

/**
 * Creates a gate whose slots are all free.
 * @param refuse makes the error of a wait that was too long, and of a queue that is full; `gateway_overloaded` unless given.
 */
export function createGate(options: SemaphoreOptions, refuse?: () => Error): Gate {
  return createGateOf(createSemaphore(options), refuse)
}

/** Creates the gate of a semaphore, which may share its slots with others. */
export function createGateOf(semaphore: Semaphore, refuse: () => Error = overloaded): Gate {
  function tryEnter(): (() => void) | undefined {
    return semaphore.tryAcquire() ? createRelease() : undefined
  }

  function createRelease(): () => void {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      semaphore.release()
    }
  }

  function enter(signal: AbortSignal, weight?: number): Promise<() => void> {
    if (signal.aborted) return Promise.reject(abortError(signal))
    const release = tryEnter()
    if (release !== undefined) return Promise.resolve(release)
    return new Promise((resolve, reject) => {
      const leaveQueue = semaphore.wait(isGranted => {
        signal.removeEventListener('abort', onAbort)
        if (isGranted) resolve(createRelease())
        else reject(refuse())
      }, weight)
      function onAbort(): void {
        leaveQueue?.()
        reject(abortError(signal))
      }
      if (leaveQueue === undefined) reject(refuse())
      else signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  return {
    tryEnter,
    enter,
    get active() {
      return semaphore.held
    },
    get waiting() {
      return semaphore.waiting
    }
  }
}

function overloaded(): GatewayError {
  return new GatewayError('gateway_overloaded', { retryAfter: '1' })
}
