// Timers that run when the test says so. Those of the test runner of Node do not restart at `refresh`.

import type { Test } from 'tap'

class SteppedTimer {
  readonly #run: () => void
  readonly #delayMs: number
  readonly #nowMs: () => number
  dueMs: number

  constructor(run: () => void, delayMs: number, nowMs: () => number) {
    this.#run = run
    this.#delayMs = delayMs
    this.#nowMs = nowMs
    this.dueMs = nowMs() + delayMs
  }

  fire(): void {
    this.#run()
  }

  refresh(): this {
    this.dueMs = this.#nowMs() + this.#delayMs
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}

/** Replaces `setTimeout` until the test ends. Returns the function that lets the time pass. */
export function stepTimers(t: Test): (ms: number) => void {
  const { setTimeout, clearTimeout } = globalThis
  const timers = new Set<SteppedTimer>()
  let nowMs = 0
  globalThis.setTimeout = ((callback: (...args: unknown[]) => void, delayMs = 1, ...args: unknown[]) => {
    const timer = new SteppedTimer(
      () => callback(...args),
      delayMs,
      () => nowMs
    )
    timers.add(timer)
    return timer
  }) as unknown as typeof setTimeout
  globalThis.clearTimeout = ((timer?: unknown) => {
    if (timer instanceof SteppedTimer) timers.delete(timer)
    else clearTimeout(timer as NodeJS.Timeout)
  }) as typeof clearTimeout
  t.teardown(() => Object.assign(globalThis, { setTimeout, clearTimeout }))

  return ms => {
    const endMs = nowMs + ms
    for (;;) {
      const [next] = [...timers].filter(({ dueMs }) => dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)
      if (next === undefined) break
      timers.delete(next)
      nowMs = Math.max(nowMs, next.dueMs)
      next.fire()
    }
    nowMs = endMs
  }
}
