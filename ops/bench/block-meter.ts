// Measures in its process how long the event loop is busy without a break, in processor time: what other processes take does not count.

const TICK_MS = 1

export interface BlockMeter {
  reset(): void
  /** The longest block since `reset`. */
  longestMs(): number
}

/** Starts the measurement, which ends with the process. */
export function startBlockMeter(): BlockMeter {
  let longestMs = 0
  let usage = process.threadCpuUsage()

  function tick(): void {
    const { user, system } = process.threadCpuUsage(usage)
    longestMs = Math.max(longestMs, (user + system) / 1000)
    // Read again, so that the work of this function is not counted.
    usage = process.threadCpuUsage()
  }
  setInterval(tick, TICK_MS).unref()

  return {
    reset() {
      tick()
      longestMs = 0
      usage = process.threadCpuUsage()
    },
    longestMs() {
      tick()
      return longestMs
    }
  }
}
