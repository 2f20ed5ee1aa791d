// The distribution of durations: percentiles and counts by class, computed from the values themselves (operations.md 9.3).

/** Upper bounds of the classes in milliseconds: 1, 2 and 5 of each power of ten, up to nearly three hours. */
const BOUNDS_MS: readonly number[] = Object.freeze(
  Array.from({ length: 22 }, (_, index) => ([1, 2, 5][index % 3] ?? 1) * 10 ** Math.floor(index / 3))
)

export interface DurationClass {
  /** Null for the class above all bounds. */
  readonly up_to_ms: number | null
  /** Values above the bound of the class before, up to this one. */
  readonly count: number
}

export interface Distribution {
  readonly count: number
  /** Each percentile is one of the values: the smallest one that the share of all values does not exceed. */
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  readonly max_ms: number
  /** From the class of the smallest value to that of the largest one, empty ones included. */
  readonly classes: readonly DurationClass[]
}

/** Null without a value. */
export function describeDurations(values: readonly number[]): Distribution | null {
  // Sorted by value: an array of numbers would be sorted as texts.
  const sorted = Float64Array.from(values).sort()
  const [smallest, largest] = [sorted[0], sorted.at(-1)]
  if (smallest === undefined || largest === undefined) return null
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? largest
  return {
    count: sorted.length,
    p50_ms: at(0.5),
    p95_ms: at(0.95),
    p99_ms: at(0.99),
    max_ms: largest,
    classes: countClasses(sorted, [classOf(smallest), classOf(largest)])
  }
}

function countClasses(sorted: Float64Array, [first, last]: readonly [number, number]): DurationClass[] {
  const counts = Array.from({ length: last - first + 1 }, () => 0)
  for (const value of sorted) counts[classOf(value) - first] = (counts[classOf(value) - first] ?? 0) + 1
  return counts.map((count, index) => ({ up_to_ms: BOUNDS_MS[first + index] ?? null, count }))
}

/** An index into the bounds, or their number for a longer duration. */
function classOf(ms: number): number {
  const index = BOUNDS_MS.findIndex(bound => ms <= bound)
  return index < 0 ? BOUNDS_MS.length : index
}
