// Turns the sums of the admin API into the series of charts.
import type { SumsRow } from './api.ts'
import { type Bucket, listParts, type Range } from './ranges.ts'

/** What is compared. */
export const DIMENSIONS = [
  { name: 'model', label: 'Model', filter: 'model' },
  { name: 'alias', label: 'Alias', filter: 'alias' },
  { name: 'profile_id', label: 'Profile', filter: 'profile_id' },
  { name: 'api_key_name', label: 'Key', filter: 'key' },
  { name: 'error_code', label: 'Error code', filter: 'error_code' },
  { name: 'protocol', label: 'Protocol', filter: 'protocol' }
] as const
export type Dimension = (typeof DIMENSIONS)[number]['name']

export interface Series {
  readonly label: string
  /** One value for each part; null where there is none. */
  readonly values: ReadonlyArray<number | null>
  /** What the value is over the whole range. */
  readonly whole: number | null
  /** Color of the style sheet, where it means something. */
  readonly color?: string
  /** Filters of the records that the series counts; absent where no filter selects them. */
  readonly filter?: Readonly<Record<string, string>>
}

export interface Figures {
  /** Starts of the parts in seconds, as charts want them. */
  readonly parts: number[]
  readonly requests: readonly Series[]
  /** Per cent. */
  readonly errorRate: readonly Series[]
  readonly tokens: readonly Series[]
  readonly latency: readonly Series[]
}

export interface Totals {
  readonly requests: number
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
}

/** More colors than this cannot be told apart. */
export const GROUPS_MAX = 6
export const OTHERS = 'others'
export const NONE = '(none)'

type Latency = 'latency_p50_ms' | 'latency_p95_ms' | 'latency_p99_ms'

export interface Sums {
  readonly range: Range
  readonly bucket: Bucket
  /** Of the whole range, one row for each group, or one in all. */
  readonly totals: readonly SumsRow[]
  /** By time, and by the group. */
  readonly timed: readonly SumsRow[]
}

/** Series of everything together. */
export function describeWhole({ range, bucket, totals, timed }: Sums): Figures {
  const parts = listParts(range, bucket)
  const byPart = indexByPart(timed)
  const { requests, errors, inputTokens, outputTokens } = addUp(totals)
  const series = (
    label: string,
    whole: number | null,
    read: (row: SumsRow | undefined) => number | null,
    more: Pick<Series, 'color' | 'filter'> = {}
  ): Series => ({ label, whole, values: parts.map(part => read(byPart.get(part))), ...more })
  const latency = (label: string, name: Latency) =>
    series(label, totals[0]?.[name] ?? null, row => readLatency(row, name))
  return {
    parts,
    requests: [
      series('Succeeded', requests - errors, row => (row === undefined ? 0 : row.requests - row.errors), {
        color: '--series-1',
        filter: { has_error: 'false' }
      }),
      series('Failed', errors, row => row?.errors ?? 0, { color: '--failed-fill', filter: { has_error: 'true' } })
    ],
    errorRate: [
      series('Failed', requests === 0 ? null : (100 * errors) / requests, readErrorRate, {
        color: '--failed-fill',
        filter: { has_error: 'true' }
      })
    ],
    tokens: [
      series('Input', inputTokens, row => row?.input_tokens ?? 0),
      series('Output', outputTokens, row => row?.output_tokens ?? 0)
    ],
    latency: [latency('p50', 'latency_p50_ms'), latency('p95', 'latency_p95_ms'), latency('p99', 'latency_p99_ms')]
  }
}

/** Series of the groups with the most requests; the others are one more where values can be added. */
export function describeGroups({ range, bucket, totals, timed }: Sums, dimension: Dimension): Figures {
  const parts = listParts(range, bucket)
  const rowsOf = Map.groupBy(timed, row => nameGroup(row, dimension))
  const wholeOf = new Map(totals.map(row => [nameGroup(row, dimension), row]))
  const sorted = [...wholeOf].sort(([, one], [, other]) => other.requests - one.requests)
  const shown = sorted.slice(0, GROUPS_MAX).map(([label, whole]) => ({
    label,
    whole,
    byPart: indexByPart(rowsOf.get(label) ?? []),
    filter: filterOfGroup(whole, dimension)
  }))
  const rest = sorted.slice(GROUPS_MAX).map(([label, whole]) => ({ whole, rows: rowsOf.get(label) ?? [] }))

  const each = (read: (row: SumsRow | undefined) => number | null): Series[] =>
    shown.map(({ label, whole, byPart, filter }) => ({
      label,
      whole: read(whole),
      values: parts.map(part => read(byPart.get(part))),
      ...(filter !== undefined && { filter })
    }))
  const withOthers = (read: (row: SumsRow) => number): Series[] => {
    const series = each(row => (row === undefined ? 0 : read(row)))
    if (rest.length === 0) return series
    const sums = new Map<number, number>()
    for (const row of rest.flatMap(({ rows }) => rows)) {
      const part = readPart(row)
      sums.set(part, (sums.get(part) ?? 0) + read(row))
    }
    const whole = rest.reduce((sum, { whole }) => sum + read(whole), 0)
    return [...series, { label: OTHERS, whole, values: parts.map(part => sums.get(part) ?? 0), color: '--others' }]
  }
  return {
    parts,
    requests: withOthers(row => row.requests),
    errorRate: each(readErrorRate),
    tokens: withOthers(row => row.input_tokens + row.output_tokens),
    latency: each(row => readLatency(row, 'latency_p95_ms'))
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
  const name = row[dimension]
  return name === null || name === undefined || name === '' ? NONE : name
}

/** The group of the models that clients made up: each has another name in its record (decisions.md 96). */
const OTHER_MODEL = 'other'

/** The filter of the records of a group; undefined for a group that no filter selects: that without a value, and made-up models. */
export function filterOfGroup(row: SumsRow, dimension: Dimension): Readonly<Record<string, string>> | undefined {
  const name = nameGroup(row, dimension)
  const filter = DIMENSIONS.find(one => one.name === dimension)?.filter
  if (name === NONE || filter === undefined || isMadeUp(dimension, name)) return undefined
  return { [filter]: name }
}

/** Whether a name stands for models that clients made up. */
export function isMadeUp(dimension: string, name: string): boolean {
  return dimension === 'model' && name === OTHER_MODEL
}

function indexByPart(rows: readonly SumsRow[]): Map<number, SumsRow> {
  return new Map(rows.map(row => [readPart(row), row]))
}

/** Start of the part in seconds. */
export function readPart(row: SumsRow): number {
  return Date.parse(row.time ?? '') / 1000
}

export function readErrorRate(row: SumsRow | undefined): number | null {
  return row === undefined || row.requests === 0 ? null : (100 * row.errors) / row.requests
}

function readLatency(row: SumsRow | undefined, name: Latency): number | null {
  return row === undefined || row.requests === 0 ? null : row[name]
}
