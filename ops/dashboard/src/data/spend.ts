// What requests cost, by key, model and day: sums of the admin API as the rows of one table.
import type { SumsRow } from './api.ts'
import { GROUPS_MAX, isMadeUp, NONE, OTHERS, readPart, type Series } from './figures.ts'
import { formatAmount, UNKNOWN } from './format.ts'

/** What spend is grouped by, in the order of the columns. */
export const SPEND_GROUPS = [
  { name: 'day', label: 'Day' },
  { name: 'api_key_name', label: 'Key' },
  { name: 'model', label: 'Model' },
  { name: 'profile_id', label: 'Profile' }
] as const
export type SpendGroup = (typeof SPEND_GROUPS)[number]['name']

/** An amount of each currency; empty where nothing has a price. */
export type Costs = ReadonlyMap<string, number>

export interface SpendRow {
  /** One for each group. */
  readonly names: readonly string[]
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Tokens of either kind whose model has no price. */
  readonly unpricedTokens: number
  readonly costs: Costs
}

type Priced = Pick<SumsRow, 'cost' | 'currency'>

/**
 * One row for each combination of the groups, of sums that are grouped by currency as well. The newest day is first, then what costs most.
 * Rows without tokens are left out.
 */
export function describeSpend(rows: readonly SumsRow[], groups: readonly SpendGroup[]): SpendRow[] {
  const byNames = Map.groupBy(rows, row => JSON.stringify(groups.map(group => row[group])))
  const spend = [...byNames.values()].map(of =>
    addRows(
      of,
      groups.map(group => of[0]?.[group] || NONE)
    )
  )
  return spend.filter(row => row.costs.size > 0 || row.unpricedTokens > 0).sort(compareBy(groups))
}

/** The groups that the address names, such as `day,model`; each key where it names none. */
export function readSpendGroups(text: string | undefined): SpendGroup[] {
  const names = text === undefined ? ['api_key_name'] : text.split(',')
  return SPEND_GROUPS.map(({ name }) => name).filter(name => names.includes(name))
}

/** The filter of the records of a group; undefined where no filter selects them. */
export function filterOfSpend(group: SpendGroup, name: string): Readonly<Record<string, string>> | undefined {
  if (name === NONE || name === OTHERS || isMadeUp(group, name)) return undefined
  // A day of UTC, to its last millisecond.
  if (group === 'day') return { from: `${name}T00:00:00.000Z`, to: `${name}T23:59:59.999Z` }
  return { [group === 'api_key_name' ? 'key' : group]: name }
}

/** The currency of all costs; undefined where there are several, or none. */
export function readCurrency(rows: readonly Priced[]): string | undefined {
  const currencies = [...addCosts(rows).keys()]
  return currencies.length === 1 ? currencies[0] : undefined
}

/** Costs over time: a series of each of the most expensive names, and one of the others. */
export function describeCourse(rows: readonly SumsRow[], parts: readonly number[], group: SpendGroup): Series[] {
  const byName = Map.groupBy(rows, row => row[group] || NONE)
  const sum = (of: readonly SumsRow[]) => of.reduce((total, { cost }) => total + (cost ?? 0), 0)
  const series = (label: string, of: readonly SumsRow[], more: Pick<Series, 'color'> = {}): Series => {
    const byPart = Map.groupBy(of, readPart)
    return { label, whole: sum(of), values: parts.map(part => sum(byPart.get(part) ?? [])), ...more }
  }
  const sorted = [...byName].filter(([, of]) => sum(of) > 0).sort(([, one], [, other]) => sum(other) - sum(one))
  const rest = sorted.slice(GROUPS_MAX).flatMap(([, of]) => of)
  const shown = sorted.slice(0, GROUPS_MAX).map(([name, of]) => series(name, of))
  return rest.length === 0 ? shown : [...shown, series(OTHERS, rest, { color: '--others' })]
}

/** All rows as one. */
export function totalSpend(rows: readonly SumsRow[]): SpendRow {
  return addRows(rows, [])
}

function addRows(rows: readonly SumsRow[], names: readonly string[]): SpendRow {
  const sum = (read: (row: SumsRow) => number) => rows.reduce((total, row) => total + read(row), 0)
  return {
    names,
    requests: sum(row => row.requests),
    inputTokens: sum(row => row.input_tokens),
    outputTokens: sum(row => row.output_tokens),
    unpricedTokens: sum(row => (row.cost === null ? row.input_tokens + row.output_tokens : 0)),
    costs: addCosts(rows)
  }
}

/** The sum of each currency. */
export function addCosts(rows: readonly Priced[]): Costs {
  const costs = new Map<string, number>()
  for (const { cost, currency } of rows) {
    if (cost !== null && currency !== null) costs.set(currency, (costs.get(currency) ?? 0) + cost)
  }
  return costs
}

/** Such as `12.50 USD`; a dash where nothing has a price. */
export function formatCosts(costs: Costs): string {
  if (costs.size === 0) return UNKNOWN
  return [...costs].map(([currency, amount]) => `${formatAmount(amount)} ${currency}`).join(' + ')
}

export function formatCost({ cost, currency }: { readonly cost: unknown; readonly currency: unknown }): string {
  return typeof cost === 'number' && typeof currency === 'string' ? `${formatAmount(cost)} ${currency}` : UNKNOWN
}

function compareBy(groups: readonly SpendGroup[]): (one: SpendRow, other: SpendRow) => number {
  const day = groups.indexOf('day')
  // Amounts of several currencies cannot be compared; they mostly have one.
  const size = ({ costs }: SpendRow) => [...costs.values()].reduce((sum, amount) => sum + amount, 0)
  return (one, other) => {
    const [first = '', second = ''] = [one.names[day], other.names[day]]
    if (first !== second) return first < second ? 1 : -1
    return size(other) - size(one) || other.requests - one.requests
  }
}
