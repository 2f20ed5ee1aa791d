// A bounded number of slots with a bounded queue in front of it. The connection pool below never queues, so that a full pool
// is a decision of ours with an answer for the client, and a waiting request can leave the queue when its client goes away.

import { GatewayError } from '../../normalized/index.ts'
import type { CancelSignal } from '../../performance/cancel-source.ts'
import { abortError } from './abort.ts'

export interface GateOptions {
  slotsMax: number
  /** Requests that may wait; one more is refused at once. */
  waitersMax: number
  /** Longest wait for a slot. */
  waitMsMax: number
}

export interface Gate {
  /** Takes a free slot and returns the function that gives it back, or undefined when none is free. */
  tryEnter(): (() => void) | undefined
  /**
   * Waits for a slot, first come first served. Raises `gateway_overloaded` when the queue is full or the wait too long, and the
   * signal's error when it is aborted.
   */
  enter(signal: CancelSignal): Promise<() => void>
  readonly active: number
  readonly waiting: number
}

interface Waiter {
  admit: () => void
}

export function createGate(options: GateOptions): Gate {
  let active = 0
  // A set keeps the order of arrival and forgets one that leaves from the middle without a search.
  const waiters = new Set<Waiter>()

  function createRelease(): () => void {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      active -= 1
      for (const next of waiters) {
        next.admit()
        break
      }
    }
  }

  function tryEnter(): (() => void) | undefined {
    if (active >= options.slotsMax || waiters.size > 0) return undefined
    active += 1
    return createRelease()
  }

  function overloaded(): GatewayError {
    return new GatewayError('gateway_overloaded', { retryAfter: '1' })
  }

  function enter(signal: CancelSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(abortError(signal))
    const release = tryEnter()
    if (release !== undefined) return Promise.resolve(release)
    if (waiters.size >= options.waitersMax) return Promise.reject(overloaded())
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiters.delete(waiter)
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const onAbort = (): void => {
        leave()
        reject(abortError(signal))
      }
      const timer = setTimeout(() => {
        leave()
        reject(overloaded())
      }, options.waitMsMax)
      const waiter: Waiter = {
        admit() {
          leave()
          active += 1
          resolve(createRelease())
        }
      }
      waiters.add(waiter)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  return {
    tryEnter,
    enter,
    get active() {
      return active
    },
    get waiting() {
      return waiters.size
    }
  }
}
