// The metrics of one process. A sample is an index into one array of numbers, so that counting costs an addition; the label set is looked
// up once per sample. The totals of the gateway are kept by the supervisor, which adds the deltas of all processes.
import {
  type CounterName,
  findBucket,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type LabelValuesOf,
  type MetricDefinition,
  type MetricName,
  metricDefinitions,
  metricNames,
  slotCount
} from './definitions.ts'
import type { MetricsDelta, NewLabelSet } from './delta.ts'
import { LABEL_SETS_MAX, OVERFLOW_ROUTE } from './limits.ts'

export interface CounterCell {
  /** Adds an amount that is not negative. */
  add(amount: number): void
}

export interface GaugeCell {
  set(value: number): void
  add(amount: number): void
}

export interface HistogramCell {
  /** Counts a value. `traceId` names the sampled trace that it belongs to. */
  observe(value: number): void
}

/** A series, which finds or creates the sample of a label set. Callers may keep the sample. */
export interface Series<Name extends MetricName, Cell> {
  with(labels: LabelsOf<Name>): Cell
  /** The same with the values in the order of the series' labels: half the time, for what is counted with every request. */
  at(...values: LabelValuesOf<Name>): Cell
}

export interface MetricRegistry {
  counter<Name extends CounterName>(name: Name): Series<Name, CounterCell>
  gauge<Name extends GaugeName>(name: Name): Series<Name, GaugeCell>
  histogram<Name extends HistogramName>(name: Name): Series<Name, HistogramCell>
  /** Calls the probe before each delta is taken, so that it can set gauges to their current values. */
  onCollect(probe: () => void): void
  /** What changed since the last call; undefined when nothing did. */
  takeDelta(): MetricsDelta | undefined
}

/** Creates an empty registry. `labelSetsMax` bounds the label sets of all series together. */
export function createMetricRegistry({ labelSetsMax = LABEL_SETS_MAX } = {}): MetricRegistry {
  const store = new CellStore()
  const families = new Map<MetricName, Family>()
  const probes: Array<() => void> = []

  function find(name: MetricName): Family {
    const known = families.get(name)
    if (known !== undefined) return known
    const family = new Family(name, { store, labelSetsMax, onOverflow: () => overflow.with({}).add(1) })
    families.set(name, family)
    return family
  }
  const overflow = find('gateway_metrics_overflow_total')

  return {
    counter: find,
    gauge: find,
    histogram: find,
    onCollect: probe => probes.push(probe),
    takeDelta() {
      for (const probe of probes) probe()
      return store.takeDelta()
    }
  }
}

/** The numbers of all cells in one array, and what changed since the last delta. */
class CellStore {
  values = new Float64Array(1024)
  cellCount = 0
  readonly #changed: Cell[] = []
  #newLabelSets: NewLabelSet[] = []
  #used = 0

  create(series: number, labels: ReadonlyArray<string | null>): Cell {
    const definition: MetricDefinition = metricDefinitions[metricNames[series] as MetricName]
    const cell = new Cell(this, { id: this.cellCount, start: this.#used, definition })
    this.cellCount += 1
    this.#used += slotCount(definition)
    if (this.#used > this.values.length) {
      const grown = new Float64Array(this.values.length * 2)
      grown.set(this.values)
      this.values = grown
    }
    this.#newLabelSets.push([series, labels])
    // Reported even while it is 0: a series that exists is printed.
    this.markChanged(cell)
    return cell
  }

  markChanged(cell: Cell): void {
    cell.isChanged = true
    this.#changed.push(cell)
  }

  takeDelta(): MetricsDelta | undefined {
    const changed = this.#changed
    if (changed.length === 0) return undefined
    const cells = new Uint32Array(changed.length)
    let length = 0
    for (const cell of changed) length += cell.width
    const values = new Float64Array(length)
    let position = 0
    for (const [index, cell] of changed.entries()) {
      cells[index] = cell.id
      cell.moveInto(values, position)
      position += cell.width
    }
    const delta = { labelSets: this.#newLabelSets, cells, values }
    changed.length = 0
    this.#newLabelSets = []
    return delta
  }
}

class Cell implements CounterCell, GaugeCell, HistogramCell {
  readonly id: number
  readonly width: number
  isChanged = false
  readonly #store: CellStore
  readonly #start: number
  readonly #buckets: readonly number[]
  readonly #isGauge: boolean

  constructor(
    store: CellStore,
    { id, start, definition }: { id: number; start: number; definition: MetricDefinition }
  ) {
    this.id = id
    this.width = slotCount(definition)
    this.#store = store
    this.#start = start
    this.#buckets = definition.type === 'histogram' ? definition.buckets : []
    this.#isGauge = definition.type === 'gauge'
  }

  set(value: number): void {
    const { values } = this.#store
    if (values[this.#start] === value) return
    values[this.#start] = value
    this.#mark()
  }

  add(amount: number): void {
    this.#increase(this.#start, amount)
    this.#mark()
  }

  observe(value: number): void {
    const bucket = findBucket(this.#buckets, value)
    this.#increase(this.#start + bucket, 1)
    this.#increase(this.#start + this.width - 1, value)
    this.#mark()
  }

  /** Copies the numbers into a delta; what counts up starts again at 0. */
  moveInto(target: Float64Array, position: number): void {
    const { values } = this.#store
    const end = this.#start + this.width
    target.set(values.subarray(this.#start, end), position)
    if (!this.#isGauge) values.fill(0, this.#start, end)
    this.isChanged = false
  }

  #increase(slot: number, amount: number): void {
    const { values } = this.#store
    values[slot] = (values[slot] ?? 0) + amount
  }

  #mark(): void {
    if (!this.isChanged) this.#store.markChanged(this)
  }
}

/** Cells by the values of the labels in turn: a lookup builds no key. */
type Branch = Map<string | undefined, Branch | Cell>

class Family {
  readonly #series: number
  readonly #labels: readonly string[]
  readonly #limits: { readonly store: CellStore; readonly labelSetsMax: number; readonly onOverflow: () => void }
  /** A series without labels has one cell. */
  #root: Branch | Cell = new Map()
  #overflow: Cell | undefined

  constructor(name: MetricName, limits: { store: CellStore; labelSetsMax: number; onOverflow: () => void }) {
    this.#series = metricNames.indexOf(name)
    this.#labels = metricDefinitions[name].labels
    this.#limits = limits
  }

  with(labels: Readonly<Record<string, string | undefined>>): Cell {
    return this.at(...this.#labels.map(label => labels[label]))
  }

  at(...values: ReadonlyArray<string | undefined>): Cell {
    let node: Branch | Cell | undefined = this.#root
    for (let index = 0; node instanceof Map; index += 1) node = node.get(values[index])
    return node ?? this.#create(values)
  }

  #create(values: ReadonlyArray<string | undefined>): Cell {
    const { store, labelSetsMax } = this.#limits
    const last = this.#labels.length - 1
    if (last >= 0 && store.cellCount >= labelSetsMax) return this.#overflowCell()
    const cell = store.create(
      this.#series,
      this.#labels.map((_, index) => values[index] || null)
    )
    let branch = this.#root
    if (last < 0) this.#root = cell
    for (let index = 0; index <= last && branch instanceof Map; index += 1) {
      const next: Branch | Cell = index === last ? cell : (branch.get(values[index]) ?? new Map())
      branch.set(values[index], next)
      branch = next
    }
    return cell
  }

  /** One sample of the series takes all label sets beyond the limit. */
  #overflowCell(): Cell {
    const { store, onOverflow } = this.#limits
    this.#overflow ??= store.create(
      this.#series,
      this.#labels.map(label => (label === 'route' ? OVERFLOW_ROUTE : null))
    )
    onOverflow()
    return this.#overflow
  }
}
