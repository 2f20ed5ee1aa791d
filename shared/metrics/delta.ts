// What a process reports of its metrics: everything that changed since its last report.

/** The labels of a sample that is reported for the first time: index of the series and values in the order of its labels. */
export type NewLabelSet = readonly [series: number, values: ReadonlyArray<string | null>]

/**
 * Each process numbers its samples in the order in which it creates them; such a number is a cell.
 * Counters and histograms are sent as increments since the last delta, so that the sum of all
 * deltas, also of processes that have exited, is the total. Gauges are sent as their value.
 */
export interface MetricsDelta {
  /** The cells that the process created since its last delta, in ascending order. */
  readonly labelSets: readonly NewLabelSet[]
  /** The cells that changed. */
  readonly cells: Uint32Array
  /** The numbers of these cells one after the other; `slotCount` says how many each has. */
  readonly values: Float64Array
}

/** Whether a value of another process has the form of a delta; the aggregator checks what it refers to. */
export function isMetricsDelta(value: unknown): value is MetricsDelta {
  return (
    typeof value === 'object' &&
    value !== null &&
    'labelSets' in value &&
    Array.isArray(value.labelSets) &&
    'cells' in value &&
    value.cells instanceof Uint32Array &&
    'values' in value &&
    value.values instanceof Float64Array
  )
}
