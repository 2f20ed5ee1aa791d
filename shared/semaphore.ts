// A counting semaphore with a fair, bounded queue: the core of the connection gates and of the concurrency limits per model.
// Own code, because waiters leave the queue on a deadline or a client disconnect and slots are released by a later call, also from
// another process: p-limit and p-queue release a slot when a function ends, and a waiter of async-sema cannot leave.

export interface QueueOptions {
  /** Longest queue, as the sum of the weights of its waiters; one more waiter is refused. */
  readonly waitersMax: number
  /** Longest wait in milliseconds; undefined waits without limit. */
  readonly waitMsMax: number | undefined
}

export interface SemaphoreOptions extends QueueOptions {
  readonly slotsMax: number
}

export interface Semaphore {
  /** Takes a slot and returns true, or returns false when none is free. */
  tryAcquire(): boolean
  /**
   * Joins the queue after `tryAcquire` returned false; `weight` is 1 unless given. `settle` is
   * called later and once: with true when the waiter got a slot, with false when its wait exceeded
   * the limit or the queue was closed. Returns the function that leaves the queue without a call of
   * `settle`, or undefined when the queue is full.
   */
  wait(settle: (isGranted: boolean) => void, weight?: number): (() => void) | undefined
  /** Releases one slot; the next waiter has it before this returns. */
  release(): void
  /** Refuses all waiters. */
  refuseWaiters(): void
  /** Slots in use, of all lanes. */
  readonly held: number
  readonly waiting: number
}

interface Waiter {
  readonly settle: (isGranted: boolean) => void
  readonly weight: number
  timer: NodeJS.Timeout | undefined
}

/** Creates a semaphore whose slots are all free. Its timers do not keep the process running. */
export function createSemaphore({ slotsMax, ...queue }: SemaphoreOptions): Semaphore {
  return createLanes(slotsMax, { only: queue }).only
}

/**
 * Creates lanes: semaphores with common slots and a queue each. A released slot goes to the first
 * waiter of the first lane that has a waiter, in the order of the names here.
 */
export function createLanes<Name extends string>(
  slotsMax: number,
  lanes: Readonly<Record<Name, QueueOptions>>
): Record<Name, Semaphore> {
  let held = 0
  const queues: WaitQueue[] = []

  function createLane(options: QueueOptions): Semaphore {
    const queue = createWaitQueue(options)
    queues.push(queue)
    return {
      tryAcquire() {
        if (held >= slotsMax) return false
        held += 1
        return true
      },
      wait: queue.join,
      release() {
        // The slot passes on without becoming free, so that no later caller overtakes the queue.
        for (const one of queues) if (one.size > 0 && one.grantFirst()) return
        held -= 1
      },
      refuseWaiters: queue.refuseAll,
      get held() {
        return held
      },
      get waiting() {
        return queue.size
      }
    }
  }

  const entries = Object.entries<QueueOptions>(lanes).map(([name, options]) => [name, createLane(options)])
  return Object.fromEntries(entries) as Record<Name, Semaphore>
}

interface WaitQueue {
  readonly join: Semaphore['wait']
  /** Grants the first waiter a slot; false when the queue is empty. */
  grantFirst(): boolean
  refuseAll(): void
  readonly size: number
}

function createWaitQueue({ waitersMax, waitMsMax }: QueueOptions): WaitQueue {
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
    join(settle, weight = 1) {
      if (waitingWeight + weight > waitersMax) return undefined
      const waiter: Waiter = { settle, weight, timer: undefined }
      waiters.add(waiter)
      waitingWeight += weight
      if (waitMsMax !== undefined) waiter.timer = setTimeout(() => refuse(waiter), waitMsMax).unref()
      return () => leave(waiter)
    },
    grantFirst() {
      for (const first of waiters) {
        leave(first)
        first.settle(true)
        return true
      }
      return false
    },
    refuseAll() {
      for (const waiter of [...waiters]) refuse(waiter)
    },
    get size() {
      return waiters.size
    }
  }
}
