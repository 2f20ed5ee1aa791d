// Adds up what all processes of the gateway report of their metrics (operations.md 7.5). Counters
// and histograms arrive as increments, so the totals of processes that have exited stay; the gauges
// of a process end with it (field-lessons.md K1, K3).
import {
  type GaugeDefinition,
  type LabelName,
  type MetricDefinition,
  type MetricName,
  metricDefinitions,
  metricNames,
  slotCount
} from '../../shared/metrics/definitions.ts'
import type { MetricsDelta, NewLabelSet } from '../../shared/metrics/delta.ts'
import { createModelBound, LABEL_SETS_MAX, OVERFLOW_ROUTE } from '../../shared/metrics/limits.ts'

/** The total of one label set. */
export interface Sample {
  /** In the order in which they are printed. */
  readonly labels: Readonly<Partial<Record<LabelName, string>>>
  /** One number, or for a histogram the count of each bucket and the sum. Changes with each delta. */
  readonly values: Float64Array
  readonly createdAtMs: number
}

export interface MetricsAggregator {
  /**
   * Adds the delta of a process. `owner` names the process: a respawned worker is another owner. False when the delta does not fit the
   * series or the cells that the process has reported before; nothing of it is added then.
   */
  apply(owner: number, delta: MetricsDelta): boolean
  /** The process has exited: its gauges vanish, everything that it counted stays. */
  releaseOwner(owner: number): void
  /** The samples of a series, sorted by their labels. Later changes may show in the same list. */
  read(name: MetricName): readonly Sample[]
  /** Since when this gateway counts, in milliseconds since the epoch. */
  readonly startedAtMs: number
}

export interface AggregatorOptions {
  readonly modelsMax: number
  readonly labelSetsMax?: number
}

/** Creates an aggregator without samples. The bounds hold for all processes together. */
export function createMetricsAggregator(
  { nowMs }: { nowMs: () => number },
  { modelsMax, labelSetsMax = LABEL_SETS_MAX }: AggregatorOptions
): MetricsAggregator {
  const startedAtMs = nowMs()
  const nameModel = createModelBound(modelsMax)
  const series = metricNames.map(name => new SeriesTotals(metricDefinitions[name], nowMs))
  const cellsOf = new Map<number, Cell[]>()
  const overflowSeries = series[metricNames.indexOf('gateway_metrics_overflow_total')] as SeriesTotals
  let labelSetCount = 0

  function openCell([index, values]: NewLabelSet): Cell {
    const totals = series[index] as SeriesTotals
    const labels = readLabels(totals.definition, values, nameModel)
    const known = totals.find(labels)
    if (known !== undefined) return totals.join(known)
    if (totals.definition.labels.length > 0 && labelSetCount >= labelSetsMax) return totals.joinOverflow()
    labelSetCount += 1
    return totals.join(totals.create(labels))
  }

  /** Whether all of the delta is about known series and cells, so that it can be added without a further check. */
  function fits(known: readonly Cell[], delta: MetricsDelta): boolean {
    const { labelSets, cells, values } = delta
    if (!labelSets.every(fitsSeries)) return false
    const widthOf = (id: number) =>
      known[id]?.totals.width ?? series[labelSets[id - known.length]?.[0] ?? -1]?.width ?? Number.NaN
    let length = 0
    for (const id of cells) length += widthOf(id)
    return length === values.length
  }

  return {
    startedAtMs,
    read: name => series[metricNames.indexOf(name)]?.read() ?? [],
    apply(owner, delta) {
      const cells = cellsOf.get(owner) ?? []
      if (!fits(cells, delta)) return false
      cellsOf.set(owner, cells)
      for (const labelSet of delta.labelSets) cells.push(openCell(labelSet))
      let position = 0
      for (const id of delta.cells) {
        const cell = cells[id] as Cell
        const { width } = cell.totals
        cell.totals.take(cell, delta.values, position)
        if (cell.isOverflow) overflowSeries.addOne()
        position += width
      }
      return true
    },
    releaseOwner(owner) {
      for (const cell of cellsOf.get(owner) ?? []) if (cell.totals.leave(cell)) labelSetCount -= 1
      cellsOf.delete(owner)
    }
  }
}

function fitsSeries(labelSet: NewLabelSet): boolean {
  if (!Array.isArray(labelSet) || !Array.isArray(labelSet[1])) return false
  const [index, values] = labelSet
  const name = metricNames[index]
  if (name === undefined || values.length !== metricDefinitions[name].labels.length) return false
  return values.every(value => value === null || typeof value === 'string')
}

type Labels = Partial<Record<LabelName, string>>

function readLabels(
  definition: MetricDefinition,
  values: NewLabelSet[1],
  nameModel: (model: string) => string
): Labels {
  const labels: Labels = {}
  for (const [index, label] of definition.labels.entries()) {
    const value = values[index] ?? null
    if (value !== null) labels[label] = label === 'model' ? nameModel(value) : value
  }
  return labels
}

/** Sorts like the tuples of label names and values. */
function writeKey(labels: Labels): string {
  let key = ''
  for (const [name, value] of Object.entries(labels)) key += `${name}\0${value}\x01`
  return key
}

class SampleTotal implements Sample {
  readonly key: string
  readonly labels: Labels
  readonly values: Float64Array
  readonly createdAtMs: number
  /** Of a gauge: the values of the processes. */
  readonly parts = new Set<Cell>()

  constructor(key: string, { labels, width, createdAtMs }: { labels: Labels; width: number; createdAtMs: number }) {
    this.key = key
    this.labels = labels
    this.values = new Float64Array(width)
    this.createdAtMs = createdAtMs
  }
}

/** What one process counts under one label set. */
interface Cell {
  readonly totals: SeriesTotals
  readonly sample: SampleTotal
  readonly isOverflow: boolean
  /** Of a gauge. */
  value: number
}

class SeriesTotals {
  readonly definition: MetricDefinition
  readonly width: number
  readonly #nowMs: () => number
  readonly #byKey = new Map<string, SampleTotal>()
  /** Sorted by key. */
  #samples: SampleTotal[] = []
  #isSorted = true

  constructor(definition: MetricDefinition, nowMs: () => number) {
    this.definition = definition
    this.width = slotCount(definition)
    this.#nowMs = nowMs
  }

  find(labels: Labels): SampleTotal | undefined {
    return this.#byKey.get(writeKey(labels))
  }

  create(labels: Labels): SampleTotal {
    const key = writeKey(labels)
    const sample = new SampleTotal(key, { labels, width: this.width, createdAtMs: this.#nowMs() })
    this.#byKey.set(key, sample)
    this.#samples.push(sample)
    this.#isSorted = false
    return sample
  }

  join(sample: SampleTotal, isOverflow = false): Cell {
    const cell: Cell = { totals: this, sample, isOverflow, value: 0 }
    if (this.definition.type === 'gauge') sample.parts.add(cell)
    return cell
  }

  /** The sample of everything beyond the limit of label sets; it does not count against the limit itself. */
  joinOverflow(): Cell {
    const labels: Labels = this.definition.labels.includes('route') ? { route: OVERFLOW_ROUTE } : {}
    return this.join(this.find(labels) ?? this.create(labels), true)
  }

  /** Takes the numbers of a cell that stand in a delta from a position on. */
  take(cell: Cell, numbers: Float64Array, position: number): void {
    const { values } = cell.sample
    if (this.definition.type === 'gauge') cell.value = numbers[position] ?? 0
    else
      for (let index = 0; index < values.length; index += 1)
        values[index] = (values[index] ?? 0) + (numbers[position + index] ?? 0)
  }

  addOne(): void {
    const { values } = this.find({}) ?? this.create({})
    values[0] = (values[0] ?? 0) + 1
  }

  /** Returns whether the label set was removed. */
  leave(cell: Cell): boolean {
    const { sample } = cell
    if (!sample.parts.delete(cell) || sample.parts.size > 0) return false
    this.#byKey.delete(sample.key)
    this.#samples = this.#samples.filter(one => one !== sample)
    return !cell.isOverflow
  }

  read(): readonly Sample[] {
    if (!this.#isSorted) this.#samples.sort((left, right) => (left.key < right.key ? -1 : 1))
    this.#isSorted = true
    if (this.definition.type === 'gauge') for (const sample of this.#samples) addUp(sample, this.definition)
    return this.#samples
  }
}

function addUp({ values, parts }: SampleTotal, { across }: GaugeDefinition): void {
  let total = across === 'sum' ? 0 : Number.NEGATIVE_INFINITY
  for (const { value } of parts) total = across === 'sum' ? total + value : Math.max(total, value)
  values[0] = total
}
