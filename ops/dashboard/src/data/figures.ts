// Turns the sums of the admin API into the series of charts.
import type { SumsRequest, SumsRow } from '../../../../shared/traffic/query.ts'

/** What the overview compares; undefined for the sum over everything. */
export type Dimension = Exclude<SumsRequest['by'][number], 'hour' | 'day' | 'currency'>

export interface Range {
  /** Start of the first hour, and the end, in milliseconds since the epoch. */
  readonly fromMs: number
  readonly toMs: number
}

/** A range in the form of a question for sums. */
export function boundsOf({ fromMs, toMs }: Range): Pick<SumsRequest, 'from' | 'to'> {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

export interface Series {
  readonly label: string
  /** One value for each hour; null where there is none. */
  readonly values: Array<number | null>
}

export interface Figures {
  /** Starts of the hours in seconds, as charts want them. */
  readonly hours: number[]
  readonly requests: Series[]
  /** Per cent. */
  readonly errorRate: Series[]
  readonly tokens: Series[]
  readonly latency: Series[]
}

export interface Totals {
  readonly requests: number
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
}

const HOUR_MS = 3_600_000
/** More lines than this cannot be told apart. */
const GROUPS_MAX = 6

/** The hours of a range that ends now. */
export function lastHours(count: number, nowMs: number): Range {
  return { fromMs: Math.floor(nowMs / HOUR_MS) * HOUR_MS - (count - 1) * HOUR_MS, toMs: nowMs }
}

/** The month of UTC that has begun. */
export function monthOf(nowMs: number): Range {
  const now = new Date(nowMs)
  return { fromMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth()), toMs: nowMs }
}

/** Series of everything together. `rows` are sums by hour. */
export function describeWhole(rows: readonly SumsRow[], range: Range): Figures {
  const hours = listHours(range)
  const byHour = indexByHour(rows)
  const series = (label: string, read: (row: SumsRow | undefined) => number | null): Series => ({
    label,
    values: hours.map(hour => read(byHour.get(hour)))
  })
  return {
    hours: hours.map(ms => ms / 1000),
    requests: [series('Requests', row => row?.requests ?? 0)],
    errorRate: [series('Errors', readErrorRate)],
    tokens: [series('Input', row => row?.input_tokens ?? 0), series('Output', row => row?.output_tokens ?? 0)],
    latency: [
      series('p50', row => readLatency(row, 'latency_p50_ms')),
      series('p95', row => readLatency(row, 'latency_p95_ms')),
      series('p99', row => readLatency(row, 'latency_p99_ms'))
    ]
  }
}

/** Series of the groups with the most requests. `rows` are sums by hour and the dimension. */
export function describeGroups(rows: readonly SumsRow[], range: Range, dimension: Dimension): Figures {
  const hours = listHours(range)
  const groups = new Map<string, SumsRow[]>()
  for (const row of rows) {
    const name = nameGroup(row, dimension)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [row])
    else group.push(row)
  }
  const size = (group: SumsRow[]) => group.reduce((sum, { requests }) => sum + requests, 0)
  const largest = [...groups].sort(([, one], [, other]) => size(other) - size(one)).slice(0, GROUPS_MAX)
  const indexed = largest.map(([label, group]) => ({ label, byHour: indexByHour(group) }))
  const series = (read: (row: SumsRow | undefined) => number | null): Series[] =>
    indexed.map(({ label, byHour }) => ({ label, values: hours.map(hour => read(byHour.get(hour))) }))
  return {
    hours: hours.map(ms => ms / 1000),
    requests: series(row => row?.requests ?? 0),
    errorRate: series(readErrorRate),
    tokens: series(row => (row === undefined ? 0 : row.input_tokens + row.output_tokens)),
    latency: series(row => readLatency(row, 'latency_p95_ms'))
  }
}

/** Sums over rows. */
export function addUp(rows: readonly SumsRow[]): Totals {
  const sum = (read: (row: SumsRow) => number) => rows.reduce((total, row) => total + read(row), 0)
  return {
    requests: sum(row => row.requests),
    errors: sum(row => row.errors),
    inputTokens: sum(row => row.input_tokens),
    outputTokens: sum(row => row.output_tokens)
  }
}

/** The name of a row's group; records without a value are a group too. */
export function nameGroup(row: SumsRow, dimension: Dimension): string {
  return row[dimension] ?? '(none)'
}

function listHours({ fromMs, toMs }: Range): number[] {
  const hours = []
  for (let ms = fromMs; ms <= toMs; ms += HOUR_MS) hours.push(ms)
  return hours
}

function indexByHour(rows: readonly SumsRow[]): Map<number, SumsRow> {
  return new Map(rows.map(row => [Date.parse(row.hour ?? ''), row]))
}

function readErrorRate(row: SumsRow | undefined): number | null {
  return row === undefined || row.requests === 0 ? null : (100 * row.errors) / row.requests
}

function readLatency(
  row: SumsRow | undefined,
  name: 'latency_p50_ms' | 'latency_p95_ms' | 'latency_p99_ms'
): number | null {
  return row === undefined || row.requests === 0 ? null : row[name]
}
