// How the cost of some work grows with its size, for tests that must not depend on how fast a machine is.

const LARGER = 8
/** Enough for a machine that is busy for a while: work that grows too fast never comes within the bound. */
const RUNS = 24
const MEMORY_RUNS = 9

/** The largest growth that still counts as linear: eight times the work may cost half as much again for each item. */
export const LINEAR_GROWTH_MAX = 12

/** Twice the bound in the best of so many runs is no busy moment of the machine: further runs would only cost time. */
const CLEAR_RUNS = 6
const CLEAR_GROWTH = 2 * LINEAR_GROWTH_MAX

/**
 * A growth is divided by at most this much for the memory of the machine. Work that grows with the size to the power of 1.7 has a growth of 34,
 * so it is still found.
 */
const MEMORY_SHARE_MAX = 1.5

/** Shorter times are blurred by the steps of the clock and by the compilation of the code. */
const SHORTEST_MS = 2

/** Processor time of this thread: it does not grow while other processes or the threads of the runtime have the processor. */
function measureMs(work: () => void): number {
  const before = readThreadMs()
  work()
  return readThreadMs() - before
}

const neverChanged = new Int32Array(new SharedArrayBuffer(4))

/** The kernel counts a running thread's time in ticks of some milliseconds, and exactly when the thread gives up the processor. */
function readThreadMs(): number {
  Atomics.wait(neverChanged, 0, 0, 0.05)
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * How many times as long eight times the work takes: about eight where the cost is linear, 64 where it is quadratic. A growth beyond the
 * bound is measured again with four times the size, or with the same where so long a list is refused, and the lesser of the two counts: the
 * growth of work that is not linear rises with its size, and that of work that leaves the caches of the processor, or meets a busy moment of
 * the machine, does not.
 * @param prepare makes work of a size, which is then done once.
 */
export function measureGrowth(size: number, prepare: (size: number) => () => void): number {
  // The first run compiles the code.
  prepare(size)()
  const measured = measureOneSize(size, prepare)
  if (measured.growth <= LINEAR_GROWTH_MAX) return measured.growth
  // Measured: items that cost 0.8 us each in 1200 of them, 2.4 in 9600 and 2.8 in 38,400 are linear work that leaves the caches.
  const larger = measureUnlessRefused(4 * size, prepare)
  // A longer list that costs less was refused as well: it confirms nothing.
  const isRefused = larger === undefined || larger.largeMs < measured.largeMs
  return Math.min(measured.growth, isRefused ? measureOneSize(size, prepare).growth : larger.growth)
}

/** Undefined when the work throws: so long a list is beyond a bound. */
function measureUnlessRefused(size: number, prepare: (size: number) => () => void): MeasuredGrowth | undefined {
  try {
    return measureOneSize(size, prepare)
  } catch {
    return undefined
  }
}

interface MeasuredGrowth {
  growth: number
  /** The shortest time of the larger work. */
  largeMs: number
}

/**
 * Compares the larger work with eight pieces of the smaller one, so that both times are of one magnitude and the steps of the clock matter
 * to neither. Both are measured several times, in turn, and the shortest time of each counts; a growth within the bound ends the
 * measurement. Otherwise the median of the growths of the single runs counts where it is less, divided by what the machine's memory adds
 * (`measureMemoryShare`).
 */
function measureOneSize(size: number, prepare: (size: number) => () => void): MeasuredGrowth {
  let smallMs = Number.POSITIVE_INFINITY
  let largeMs = Number.POSITIVE_INFINITY
  const growths: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const largeNowMs = measureMs(prepare(size * LARGER))
    largeMs = Math.min(largeMs, largeNowMs)
    // Work that is short at both sizes needs no comparison.
    if (largeMs <= LINEAR_GROWTH_MAX * SHORTEST_MS) return { growth: largeMs / SHORTEST_MS, largeMs }
    const pieces = Array.from({ length: LARGER }, () => prepare(size))
    const smallNowMs = measureMs(() => runAll(pieces)) / LARGER
    smallMs = Math.min(smallMs, smallNowMs)
    if (largeMs <= LINEAR_GROWTH_MAX * smallMs) return { growth: growthOf(smallMs, largeMs), largeMs }
    growths.push(growthOf(smallNowMs, largeNowMs))
    if (run + 1 >= CLEAR_RUNS && growthOf(smallMs, largeMs) > CLEAR_GROWTH) break
  }
  // The shortest times may come from different moments, and the processor is faster at some. Both times of one run come from one moment.
  const growth = Math.min(growthOf(smallMs, largeMs), median(growths)) / measureMemoryShare(size)
  return { growth, largeMs }
}

/**
 * How many times as much one item costs in eight times the work, only because that work no longer fits into the caches of the processor. It is
 * measured with the runtime's own JSON functions and an object of so many members, whose cost for each member up to doubles.
 */
function measureMemoryShare(size: number): number {
  const growth = median(
    Array.from({ length: MEMORY_RUNS }, () => {
      const pieces = Array.from({ length: LARGER }, () => copyMembers(size))
      const smallMs = measureMs(() => runAll(pieces))
      return measureMs(copyMembers(size * LARGER)) / Math.max(smallMs, SHORTEST_MS / LARGER)
    })
  )
  return Math.min(Math.max(growth, 1), MEMORY_SHARE_MAX)
}

/** Reads and writes an object of so many members. */
function copyMembers(count: number): () => void {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, index])))
  return () => void JSON.stringify(JSON.parse(text))
}

function growthOf(smallMs: number, largeMs: number): number {
  return largeMs / Math.max(smallMs, SHORTEST_MS / LARGER)
}

/** Infinite without a value. */
function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.POSITIVE_INFINITY
}

function runAll(pieces: ReadonlyArray<() => void>): void {
  for (const work of pieces) work()
}
