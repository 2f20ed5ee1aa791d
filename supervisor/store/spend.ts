// The spend of budgets that hosts share through the store of responses: sums of their own, never derived from records (keys.md 3).

/** What one exchange of a gateway adds, and asks for. */
export interface SpendExchange {
  /** Names one start of a gateway. */
  readonly gatewayId: string
  /** Of a repeated exchange nothing is added. */
  readonly exchangeId: string
  readonly spends: readonly Spend[]
}

export interface Spend {
  readonly counter: string
  /** The first day of the period, such as `2026-11-01`, or `total`. */
  readonly period: string
  readonly addNanos: number
}

/** Sums stay exact as numbers of JavaScript; the largest is some nine million of a currency. */
export const SPENT_NANOS_MAX = Number.MAX_SAFE_INTEGER
/** Exchanges of a gateway that are remembered; a gateway that has no answer repeats only its last ones. */
export const REMEMBERED_EXCHANGES = 1_024
/** After so many exchanges those beyond are forgotten. */
export const FORGETTING_INTERVAL = 256
/** Rows of one purge. */
export const SPEND_BATCH = 500
const REMEMBERED_MS = 7 * 24 * 60 * 60 * 1000
const PERIODS_KEPT_MONTHS = 13

/** What is older is removed; the sum of a budget without a period never. */
export interface SpendExpiry {
  /** Periods that began before this day. */
  readonly firstDay: string
  /** Exchanges before this time. */
  readonly exchangeMs: number
}

export function readSpendExpiry(nowMs: number): SpendExpiry {
  const now = new Date(nowMs)
  const firstDay = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - PERIODS_KEPT_MONTHS, now.getUTCDate()))
  return { firstDay: firstDay.toISOString().slice(0, 10), exchangeMs: Math.floor(nowMs - REMEMBERED_MS) }
}

/**
 * The sums of one exchange: what is asked for once each, in one order for all hosts, so that two of them never wait for each other, and
 * what is added to each.
 */
export function sumSpends(spends: readonly Spend[]): { readonly sums: readonly Spend[]; readonly addsAny: boolean } {
  const sums = new Map<string, Spend>()
  for (const { counter, period, addNanos } of spends) {
    const name = nameSpend({ counter, period })
    sums.set(name, { counter, period, addNanos: (sums.get(name)?.addNanos ?? 0) + addNanos })
  }
  const ordered = [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum)
  return { sums: ordered, addsAny: ordered.some(({ addNanos }) => addNanos > 0) }
}

/** No period has a line break. */
export function nameSpend({ counter, period }: Pick<Spend, 'counter' | 'period'>): string {
  return `${period}\n${counter}`
}
