// Measures in its process how long the event loop is busy without a break. The system accounts processor time in steps of its scheduler,
// of up to 4 ms, which would show one such step for many a shorter block: so the clock counts, without the time in which the loop waits.
// Only where another process took the processor during a block, the processor time counts, if it is less.

import { performance } from 'node:perf_hooks'

const TICK_MS = 1

export interface BlockMeter {
  reset(): void
  /** The longest block since `reset`. */
  longestMs(): number
}

interface Reading {
  activeMs: number
  processorMs: number
  /** How often this process had to wait for a processor. */
  interruptions: number
}

/** Starts the measurement, which ends with the process. */
export function startBlockMeter(): BlockMeter {
  let longestMs = 0
  let last = read()

  function tick(): void {
    const now = read()
    longestMs = Math.max(longestMs, measureBlock(last, now))
    // Read again, so that the work of this function is not counted.
    last = read()
  }
  setInterval(tick, TICK_MS).unref()

  return {
    reset() {
      longestMs = 0
      last = read()
    },
    longestMs() {
      tick()
      return longestMs
    }
  }
}

function measureBlock(from: Reading, to: Reading): number {
  const activeMs = to.activeMs - from.activeMs
  if (to.interruptions === from.interruptions) return activeMs
  return Math.min(activeMs, to.processorMs - from.processorMs)
}

function read(): Reading {
  const { user, system } = process.threadCpuUsage()
  return {
    activeMs: performance.eventLoopUtilization().active,
    processorMs: (user + system) / 1000,
    interruptions: process.resourceUsage().involuntaryContextSwitches
  }
}
