// A counting semaphore with a fair, bounded queue: the core of the connection gates and of the concurrency limits per model.
// Own code, because waiters leave the queue on a deadline or a client disconnect and slots are released by a later call, also from
// another process: p-limit and p-queue release a slot when a function ends, and a waiter of async-sema cannot leave.

export interface SemaphoreOptions {
  readonly slotsMax: number
  /** Longest queue, as the sum of the weights of its waiters; one more waiter is refused. */
  readonly waitersMax: number
  /** Longest wait in milliseconds; undefined waits without limit. */
  readonly waitMsMax: number | undefined
}

export interface Semaphore {
  /** Takes a slot and returns true, or returns false when none is free. */
  tryAcquire(): boolean
  /**
   * Joins the queue after `tryAcquire` returned false; `weight` is 1 unless given. `settle` is called later and once: with true when the waiter has got a slot, with
   * false when its wait was too long or the queue was closed. Returns the function that leaves the queue without a call of `settle`, or
   * undefined when the queue is full.
   */
  wait(settle: (isGranted: boolean) => void, weight?: number): (() => void) | undefined
  /** Gives one slot back; the first waiter gets it before this returns. */
  release(): void
  /** Refuses all waiters. */
  refuseWaiters(): void
  /** Slots in use. */
  readonly held: number
  readonly waiting: number
}

interface Waiter {
  readonly settle: (isGranted: boolean) => void
  readonly weight: number
  timer: NodeJS.Timeout | undefined
}

/** Creates a semaphore whose slots are all free. Its timers do not keep the process running. */
export function createSemaphore({ slotsMax, waitersMax, waitMsMax }: SemaphoreOptions): Semaphore {
  let held = 0
  let waitingWeight = 0
  // A set keeps the order of arrival and deletes a waiter from the middle without a search.
  const waiters = new Set<Waiter>()

  function leave(waiter: Waiter): void {
    if (waiters.delete(waiter)) waitingWeight -= waiter.weight
    clearTimeout(waiter.timer)
  }

  function refuse(waiter: Waiter): void {
    leave(waiter)
    waiter.settle(false)
  }

  return {
    tryAcquire() {
      if (held >= slotsMax) return false
      held += 1
      return true
    },
    wait(settle, weight = 1) {
      if (waitingWeight + weight > waitersMax) return undefined
      const waiter: Waiter = { settle, weight, timer: undefined }
      waiters.add(waiter)
      waitingWeight += weight
      if (waitMsMax !== undefined) waiter.timer = setTimeout(() => refuse(waiter), waitMsMax).unref()
      return () => leave(waiter)
    },
    release() {
      for (const next of waiters) {
        // The slot passes on without becoming free, so that no later caller overtakes the queue.
        leave(next)
        next.settle(true)
        return
      }
      held -= 1
    },
    refuseWaiters() {
      for (const waiter of [...waiters]) refuse(waiter)
    },
    get held() {
      return held
    },
    get waiting() {
      return waiters.size
    }
  }
}
