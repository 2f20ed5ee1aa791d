// What waiting questions want of one shared counter: each question once, in the exchange that runs or in the next one.

export interface Wants {
  readonly isEmpty: boolean
  /** Ignored where the question is part of the exchange that runs. */
  add(questionId: number, amount: number): void
  /** Begins an exchange: the sum of what is wanted, and the id of the newest question that the counter knows. */
  begin(): { readonly sum: number; readonly upToId: number }
  /** The exchange has ended. */
  end(): void
  /** Forgets what no exchange has asked for yet. */
  clear(): void
}

export function createWants(): Wants {
  const next = new Map<number, number>()
  let running: ReadonlySet<number> = new Set()
  let newestId = 0
  return {
    get isEmpty() {
      return next.size === 0
    },
    add(questionId, amount) {
      newestId = Math.max(newestId, questionId)
      if (!running.has(questionId)) next.set(questionId, amount)
    },
    begin() {
      running = new Set(next.keys())
      let sum = 0
      for (const amount of next.values()) sum += amount
      next.clear()
      return { sum, upToId: newestId }
    },
    end() {
      running = new Set()
    },
    clear: () => next.clear()
  }
}
