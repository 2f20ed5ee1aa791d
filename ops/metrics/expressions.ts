// PromQL from the definitions: a name, a label or a type that the gateway does not have is a mistake that this file finds.

import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelName,
  type MetricDefinition,
  type MetricName,
  metricDefinitions
} from '../../shared/metrics/definitions.ts'

/** Labels that Prometheus adds to every scraped sample. */
export const TARGET_LABELS = ['job', 'instance'] as const
type TargetLabel = (typeof TARGET_LABELS)[number]

/** A matcher such as `=~"5.."`, by label. */
export type Matchers = Partial<Record<LabelName | TargetLabel, string>>

export interface Selection {
  where?: Matchers
  by?: ReadonlyArray<LabelName | TargetLabel>
}

/** The samples of a series that match. Raises an error for a label that the series does not have. */
export function select(
  name: MetricName,
  where: Matchers = {},
  suffix: '' | '_bucket' | '_sum' | '_count' = ''
): string {
  checkLabels(name, Object.keys(where))
  const matchers = Object.entries(where).map(([label, matcher]) => `${label}${matcher}`)
  return `${name}${suffix}${matchers.length === 0 ? '' : `{${matchers.join(', ')}}`}`
}

/** Per second, summed over everything that `by` does not name. */
export function rate(name: CounterName, window: string, { where, by }: Selection = {}): string {
  return sum(name, `rate(${select(name, where)}[${window}])`, by)
}

/** How much was added within the window. */
export function increase(name: CounterName, window: string, { where, by }: Selection = {}): string {
  return sum(name, `increase(${select(name, where)}[${window}])`, by)
}

/** A quantile of a histogram within the window. */
export function quantile(share: number, name: HistogramName, window: string, { where, by }: Selection = {}): string {
  checkLabels(name, by)
  const buckets = `sum by (${['le', ...(by ?? [])].join(', ')}) (rate(${select(name, where, '_bucket')}[${window}]))`
  return `histogram_quantile(${share}, ${buckets})`
}

/** The mean of a histogram within the window. */
export function average(name: HistogramName, window: string, { where, by }: Selection = {}): string {
  const part = (suffix: '_sum' | '_count') => sum(name, `rate(${select(name, where, suffix)}[${window}])`, by)
  return `${part('_sum')} / ${part('_count')}`
}

/** The current value, by the aggregation of several gateways. */
export function current(aggregation: 'sum' | 'max' | 'min', name: GaugeName, { where, by }: Selection = {}): string {
  checkLabels(name, by)
  return `${aggregation}${grouping(by)}(${select(name, where)})`
}

function sum(name: MetricName, expression: string, by: Selection['by']): string {
  checkLabels(name, by)
  return `sum${grouping(by)}(${expression})`
}

function grouping(by: Selection['by']): string {
  return by === undefined || by.length === 0 ? '' : ` by (${by.join(', ')}) `
}

function checkLabels(name: MetricName, labels: readonly string[] = []): void {
  const definition: MetricDefinition = metricDefinitions[name]
  const known: readonly string[] = [...definition.labels, ...TARGET_LABELS]
  const unknown = labels.find(label => !known.includes(label))
  if (unknown !== undefined) throw new Error(`${name} has no label ${unknown}.`)
}

/** The share of a part in a whole. No result where the whole is 0; the part may have no sample at all while the whole has some. */
export function ratio(part: string, whole: string): string {
  return `(${part} or ${whole} * 0) / (${whole} > 0)`
}

/** The names of series in an expression, without the suffixes of histograms. */
export function findNames(expression: string): string[] {
  const names = [...expression.matchAll(/\bgateway_[a-z0-9_]+/g)].map(([name]) => name)
  return [...new Set(names.map(name => (name in metricDefinitions ? name : name.replace(/_(bucket|sum|count)$/, ''))))]
}
