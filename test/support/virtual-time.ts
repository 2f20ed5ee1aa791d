// Time of a test that moves only when the test says so, for code that is given its clock and its timers.

interface PlannedCall {
  readonly atMs: number
  readonly run: () => void
}

/** More than any chain of promises between two events has. */
const TURNS = 24

export interface VirtualTime {
  readonly nowMs: number
  /** Calls back at the end of this turn. */
  defer(callback: () => void): void
  /** Returns the function that cancels it. */
  after(delayMs: number, callback: () => void): () => void
  sleep(delayMs: number): Promise<void>
  /** Lets the time pass, one planned call after the other, each with the promises that it resolves. */
  advance(ms: number): Promise<void>
}

export function createVirtualTime(startMs = 0): VirtualTime {
  const planned: PlannedCall[] = []
  let nowMs = startMs

  function plan(call: PlannedCall): void {
    const index = planned.findLastIndex(({ atMs }) => atMs <= call.atMs)
    planned.splice(index + 1, 0, call)
  }

  async function settlePromises(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) await Promise.resolve()
  }

  const time: VirtualTime = {
    get nowMs() {
      return nowMs
    },
    defer: callback => plan({ atMs: nowMs, run: callback }),
    after(delayMs, callback) {
      const call = { atMs: nowMs + delayMs, run: callback }
      plan(call)
      return () => {
        const index = planned.indexOf(call)
        if (index >= 0) planned.splice(index, 1)
      }
    },
    sleep: delayMs => new Promise(resolve => void time.after(delayMs, resolve)),
    async advance(ms) {
      const endMs = nowMs + ms
      await settlePromises()
      for (;;) {
        const [next] = planned
        if (next === undefined || next.atMs > endMs) break
        planned.shift()
        nowMs = Math.max(nowMs, next.atMs)
        next.run()
        await settlePromises()
      }
      nowMs = endMs
    }
  }
  return time
}
