// How the time of some work grows with its size, for tests that must not depend on how fast a machine is.

const LARGER = 8

/** Processor time, because it does not grow while other processes have the processor. */
function bestMs(work: () => void): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...times)
}

/**
 * How many times as long eight times the work takes: about eight where the time is linear, 64 where it is quadratic. The shorter
 * time is taken for at least a tenth of a millisecond, because the clock and the first compilation blur less than that.
 * @param prepare makes work of a size, which is then done some times.
 */
export function measureGrowth(size: number, prepare: (size: number) => () => void): number {
  return bestMs(prepare(size * LARGER)) / Math.max(bestMs(prepare(size)), 0.1)
}

/** The largest growth that still counts as linear. */
export const LINEAR_GROWTH_MAX = 30
