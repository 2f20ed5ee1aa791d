// Takes the same step of many requests together. Whoever serves each request from end to end runs through all of its code once for
// each, and a request's code is larger than what a processor keeps at hand; done step by step, it is fetched once for all that are
// there (ADR 2026-11-22, steps taken together).

/**
 * Gives a function that runs `step` for an item at the end of the event loop's turn, together with all items of that turn and in
 * the order they came. What a step throws is thrown as from a timer, and does not keep the others from being run.
 */
export function createTurnBatch<Item>(step: (item: Item) => void): (item: Item) => void {
  let items: Item[] = []

  function runAll(): void {
    const batch = items
    items = []
    runFrom(batch, 0)
  }

  function runFrom(batch: readonly Item[], first: number): void {
    let next = first
    try {
      while (next < batch.length) step(batch[next++] as Item)
    } finally {
      if (next < batch.length) setImmediate(runFrom, batch, next)
    }
  }

  return item => {
    if (items.push(item) === 1) setImmediate(runAll)
  }
}
