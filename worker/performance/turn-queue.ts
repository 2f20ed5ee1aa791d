// Lets dear work of several requests begin in turns of the event loop of its own each. Bodies that arrive together are read together
// otherwise, and small requests wait for all of them.
// Earns: eight bodies of 500 KB at once block the event loop for 14 to 43 ms instead of 51 to 188 ms.

export interface TurnQueue {
  /** Resolves in a turn of the event loop in which no other waiter goes on; first come, first served. */
  wait(): Promise<void>
}

export function createTurnQueue(): TurnQueue {
  const waiters: Array<() => void> = []
  let first = 0

  function goOn(): void {
    waiters[first++]?.()
    if (first < waiters.length) setImmediate(goOn)
    else waiters.length = first = 0
  }

  return {
    wait: () =>
      new Promise(resolve => {
        if (waiters.push(resolve) === 1) setImmediate(goOn)
      })
  }
}
