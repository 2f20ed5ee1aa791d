// The periods of budgets, in UTC (keys.md 1).
import type { BudgetPeriod } from '../../shared/keys/key-set.ts'

const DAY_MS = 86_400_000
const DAYS_PER_WEEK = 7
/** The first day of the epoch was a Thursday, three days after a Monday. */
const EPOCH_WEEKDAY = 3

export interface PeriodNow {
  /** The first day of the period, such as `2026-11-01`, or `total`. */
  readonly id: string
  /** In milliseconds since the epoch; null for a budget without a period. */
  readonly endsAtMs: number | null
}

/** The period that this moment is in. */
export function findPeriod(period: BudgetPeriod, nowMs: number): PeriodNow {
  const day = Math.floor(nowMs / DAY_MS)
  switch (period) {
    case 'total':
      return { id: 'total', endsAtMs: null }
    case 'day':
      return describe(day, day + 1)
    case 'week': {
      const monday = day - ((day + EPOCH_WEEKDAY) % DAYS_PER_WEEK)
      return describe(monday, monday + DAYS_PER_WEEK)
    }
    case 'month': {
      const now = new Date(nowMs)
      const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
      return describe(Date.UTC(year, month) / DAY_MS, Date.UTC(year, month + 1) / DAY_MS)
    }
  }
}

function describe(firstDay: number, endDay: number): PeriodNow {
  return { id: new Date(firstDay * DAY_MS).toISOString().slice(0, 10), endsAtMs: endDay * DAY_MS }
}
