// The keys of clients as the admin API shows them (keys.md 5), and what a table says of them.
import type { KeyState, KeysAnswer, ShownGroup, ShownKey } from '../../../../shared/admin-answers.ts'
import { formatAmount, formatCount } from './format.ts'

/** The limits that count requests or tokens, in the order of the table. */
export const COUNTED_LIMITS = ['requests_per_minute', 'tokens_per_minute', 'concurrent_requests'] as const
export type CountedLimit = (typeof COUNTED_LIMITS)[number]

export const LIMIT_TITLES: Readonly<Record<CountedLimit | 'budget', string>> = {
  requests_per_minute: 'Requests / min',
  tokens_per_minute: 'Tokens / min',
  concurrent_requests: 'Running',
  budget: 'Budget'
}

export type Keys = KeysAnswer
export type GatewayKey = ShownKey
export type KeyGroup = ShownGroup
type Holder = Pick<ShownKey, 'limits' | 'usage'>

/** What a limit shows: how full it is, and the same in words. */
export interface Meter {
  /** From 0 on; 1 and more is full. Undefined while the usage is not known. */
  readonly share: number | undefined
  readonly text: string
  readonly note?: string
}

/** The meter of a counted limit; undefined where there is none. */
export function readMeter({ limits, usage }: Holder, name: CountedLimit): Meter | undefined {
  const limit = limits[name]
  if (limit === undefined) return undefined
  const used = usage?.[name]
  return { share: used === undefined ? undefined : used / limit, text: `${formatCount(used)} of ${formatCount(limit)}` }
}

const PERIODS = { day: 'per day', week: 'per week', month: 'per month', total: 'in total' } as const

/** The meter of a budget; undefined where there is none. */
export function readBudget({ limits, usage }: Holder, currency: string | null): Meter | undefined {
  const { budget } = limits
  if (budget === undefined) return undefined
  const spent = usage?.budget
  const unit = currency === null ? '' : ` ${currency}`
  // A period ends at midnight in UTC; the local date may be another.
  const end = spent?.period_ends_at == null ? '' : `, until ${spent.period_ends_at.slice(0, 10)}`
  return {
    share: spent === undefined ? undefined : spent.cost / budget.amount,
    text: `${formatAmount(spent?.cost)} of ${formatAmount(budget.amount)}${unit}`,
    note: `${PERIODS[budget.period]}${end}`
  }
}

/** The limits that one of these has: the columns of a table. */
export function listUsedLimits(holders: readonly Holder[]): Array<CountedLimit | 'budget'> {
  return [...COUNTED_LIMITS, 'budget' as const].filter(name => holders.some(({ limits }) => limits[name] !== undefined))
}

export const STATE_TITLES: Readonly<Record<KeyState, string>> = {
  active: 'active',
  limited: 'at its limit',
  over_budget: 'over budget',
  expired: 'expired',
  disabled: 'disabled'
}

const STATE_ORDER: readonly KeyState[] = ['over_budget', 'limited', 'expired', 'active', 'disabled']

/** The keys whose name, group or metadata contain a text: those that are refused first, in the order of the gateway. */
export function findKeys(keys: readonly GatewayKey[], text: string): GatewayKey[] {
  const wanted = text.trim().toLowerCase()
  return keys
    .filter(({ name, group, metadata }) =>
      [name, group ?? '', ...Object.values(metadata)].some(one => one.toLowerCase().includes(wanted))
    )
    .sort((one, other) => STATE_ORDER.indexOf(one.state) - STATE_ORDER.indexOf(other.state))
}
