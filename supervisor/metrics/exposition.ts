// Writes the totals as the text that a scrape returns (operations.md 7.1 and 7.5). The text is
// written in slices, so that no scrape blocks the process for more than a few milliseconds
// (field-lessons.md K4).
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Metric, type OpenMetricsContentType, Registry } from 'prom-client'
import {
  type MetricDefinition,
  type MetricName,
  metricDefinitions,
  metricNames
} from '../../shared/metrics/definitions.ts'
import type { MetricsFormat } from '../../shared/metrics/format.ts'
import type { MetricsAggregator, Sample } from './aggregator.ts'

/** Lines that are written per event-loop turn: 0.3 ms, 2 ms the first time. */
const SLICE_LINES = 500

export interface Exposition {
  /** Writes all series in the order of their definitions. */
  write(format: MetricsFormat): Promise<Uint8Array>
}

/** `helpTexts` replace those of the definitions. */
export function createExposition(
  totals: Pick<MetricsAggregator, 'read' | 'startedAtMs'>,
  helpTexts: Partial<Record<MetricName, string>> = {}
): Exposition {
  const formats: Record<MetricsFormat, TextSource[]> = { text: [], openmetrics: [] }
  const text = new Registry()
  // The library adds `_total` to every line of a counter of an OpenMetrics registry, also to `_created`, so counters stand in another one;
  // exemplars, which counters do not have, are only written by an OpenMetrics registry.
  const openMetrics = new Registry<OpenMetricsContentType>()
  openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  const openMetricsCounters = new Registry()
  for (const name of metricNames) {
    const definition: MetricDefinition = metricDefinitions[name]
    const options = { name, definition, help: helpTexts[name] ?? definition.help, totals }
    formats.text.push(new TextSource(text, { ...options, isOpenMetrics: false }))
    const registry = definition.type === 'counter' ? openMetricsCounters : openMetrics
    formats.openmetrics.push(new TextSource(registry, { ...options, isOpenMetrics: true }))
  }

  return {
    async write(format) {
      const parts: Uint8Array[] = []
      let lines = 0
      for (const source of formats[format]) {
        source.start()
        do {
          const slice = await source.nextSlice()
          parts.push(Buffer.from(`${slice.text}\n`))
          lines += slice.lines
          if (lines < SLICE_LINES) continue
          lines = 0
          await nextTurn()
        } while (!source.isAtEnd)
      }
      if (format === 'openmetrics') parts.push(Buffer.from('# EOF\n'))
      // The whole text is copied here and again by the sender, each in a separate event-loop turn.
      await nextTurn()
      const whole = Buffer.concat(parts)
      await nextTurn()
      return whole
    }
  }
}

interface TextSourceOptions {
  readonly name: MetricName
  readonly definition: MetricDefinition
  readonly help: string
  readonly totals: Pick<MetricsAggregator, 'read' | 'startedAtMs'>
  readonly isOpenMetrics: boolean
}

/** A line as the library writes it. The text of `sharedLabels` is kept by the library as long as the object exists. */
interface Line {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string>>
  readonly sharedLabels: Readonly<Record<string, string>>
  readonly value: number
}

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({})

/** One series of a registry, which reads as many samples at a time as a slice takes. */
class TextSource {
  readonly #registry: Registry | Registry<OpenMetricsContentType>
  readonly #options: TextSourceOptions
  /** Without the suffix that OpenMetrics adds to the samples of a counter. */
  readonly #familyName: string
  readonly #bounds: readonly string[]
  /** The labels of each line of a histogram's sample. */
  readonly #bucketLabels = new WeakMap<Sample, ReadonlyArray<Readonly<Record<string, string>>>>()
  #samples: readonly Sample[] = []
  #position = 0
  #sliceLines = 0

  constructor(registry: Registry | Registry<OpenMetricsContentType>, options: TextSourceOptions) {
    const { name, definition, isOpenMetrics } = options
    this.#registry = registry
    this.#options = options
    const isCounter = definition.type === 'counter'
    this.#familyName = isOpenMetrics && isCounter ? name.replace(/_total$/, '') : name
    this.#bounds =
      definition.type === 'histogram'
        ? [...definition.buckets.map(bound => writeBound(bound, isOpenMetrics)), '+Inf']
        : []
    const metric = {
      name: this.#familyName,
      help: options.help,
      type: definition.type,
      aggregator: 'sum',
      get: () => Promise.resolve({ ...metric, values: this.#takeLines() })
    }
    // The library calls nothing but these members of a metric when it writes it.
    registry.registerMetric(metric as unknown as Metric)
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#samples.length
  }

  /**
   * Goes back to the first sample; a series without one has a sample of zeros (operations.md 7.1).
   */
  start(): void {
    const { totals, name } = this.#options
    const samples = totals.read(name)
    this.#samples = samples.length > 0 ? samples.slice() : [this.#emptySample()]
    this.#position = 0
  }

  async nextSlice(): Promise<{ text: string; lines: number }> {
    const isFirst = this.#position === 0
    const text = await this.#registry.getSingleMetricAsString(this.#familyName)
    return { text: isFirst ? text : withoutHead(text), lines: this.#sliceLines }
  }

  #takeLines(): Line[] {
    const lines: Line[] = []
    while (!this.isAtEnd && lines.length < SLICE_LINES) {
      const sample = this.#samples[this.#position]
      if (sample !== undefined) this.#writeSample(lines, sample)
      this.#position += 1
    }
    this.#sliceLines = lines.length
    return lines
  }

  #writeSample(lines: Line[], sample: Sample): void {
    const { name, definition, isOpenMetrics } = this.#options
    const sharedLabels = sample.labels as Readonly<Record<string, string>>
    const addLine = (metricName: string, value: number) =>
      lines.push({ metricName, labels: NO_LABELS, sharedLabels, value: round(value) })
    if (definition.type === 'histogram') {
      this.#writeBuckets(lines, sample)
      const sumAt = sample.values.length - 1
      addLine(`${name}_sum`, sample.values[sumAt] ?? 0)
      addLine(`${name}_count`, addUp(sample.values.subarray(0, sumAt)))
    } else {
      addLine(name, sample.values[0] ?? 0)
    }
    if (isOpenMetrics && definition.type !== 'gauge') addLine(`${this.#familyName}_created`, sample.createdAtMs / 1000)
  }

  #writeBuckets(lines: Line[], sample: Sample): void {
    const metricName = `${this.#options.name}_bucket`
    let count = 0
    for (const [index, sharedLabels] of this.#readBucketLabels(sample).entries()) {
      count += sample.values[index] ?? 0
      lines.push({ metricName, labels: NO_LABELS, sharedLabels, value: count })
    }
  }

  #readBucketLabels(sample: Sample): ReadonlyArray<Readonly<Record<string, string>>> {
    const known = this.#bucketLabels.get(sample)
    if (known !== undefined) return known
    const labels = this.#bounds.map(le => ({ ...sample.labels, le }))
    this.#bucketLabels.set(sample, labels)
    return labels
  }

  #emptySample(): Sample {
    const { definition, totals } = this.#options
    const width = definition.type === 'histogram' ? definition.buckets.length + 2 : 1
    return { labels: {}, values: new Float64Array(width), createdAtMs: totals.startedAtMs }
  }
}

/** OpenMetrics asks for `1.0` where the text format has `1`. */
function writeBound(bound: number, isOpenMetrics: boolean): string {
  return isOpenMetrics && Number.isInteger(bound) ? bound.toFixed(1) : String(bound)
}

/** Integers stay as they are; others have 12 significant digits. */
function round(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(12))
}

function addUp(counts: Float64Array): number {
  let sum = 0
  for (const count of counts) sum += count
  return sum
}

/** The lines after `# HELP` and `# TYPE`. */
function withoutHead(text: string): string {
  return text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1)
}
