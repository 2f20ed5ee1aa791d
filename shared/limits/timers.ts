// The timers of limits, passed in so that tests can step them. None keeps the process alive.

export interface LimitTimers {
  /** Calls back at the end of this turn of the event loop. */
  defer(callback: () => void): void
  /** Returns the function that cancels it. */
  after(delayMs: number, callback: () => void): () => void
}

export const systemTimers: LimitTimers = {
  defer: callback => void setImmediate(callback),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.max(1, Math.ceil(delayMs))).unref()
    return () => clearTimeout(timer)
  }
}
