// The budget of a key or of a group: what its requests have cost in the current period (keys.md 2).
import type { BudgetPeriod } from '../../shared/keys/key-set.ts'
import type { LimitHolder } from './counted-limit.ts'
import { findPeriod, type PeriodNow } from './periods.ts'

const NANOS = 1e9
/** Below this share of the amount every request asks for itself. */
const NEAR_END_SHARE = 0.05

export interface BudgetTerms {
  /** In the currency of the keys file. */
  readonly amount: number
  readonly period: BudgetPeriod
}

/** Times are milliseconds since the epoch; amounts are billionths of the currency, as safe integers. */
export interface Budget {
  readonly holder: LimitHolder
  readonly limitNanos: number
  change(terms: BudgetTerms): void
  period(nowMs: number): PeriodNow
  spentNanos(nowMs: number): number
  isExhausted(nowMs: number): boolean
  /** So little is left that one more request may use it up: leases are for one request each. */
  isNearEnd(nowMs: number): boolean
  spend(nanos: number, nowMs: number): void
}

export function createBudget(holder: LimitHolder, terms: BudgetTerms): Budget {
  let { period: kind } = terms
  let limitNanos = toNanos(terms.amount)
  let current: PeriodNow | undefined
  let spent = 0
  let largestCost = 0

  function roll(nowMs: number): PeriodNow {
    if (current !== undefined && (current.endsAtMs === null || nowMs < current.endsAtMs)) return current
    current = findPeriod(kind, nowMs)
    spent = 0
    return current
  }
  function spentNanos(nowMs: number): number {
    roll(nowMs)
    return spent
  }

  return {
    holder,
    get limitNanos() {
      return limitNanos
    },
    change({ amount, period }) {
      limitNanos = toNanos(amount)
      if (period === kind) return
      kind = period
      current = undefined
    },
    period: roll,
    spentNanos,
    isExhausted: nowMs => spentNanos(nowMs) >= limitNanos,
    isNearEnd: nowMs => limitNanos - spentNanos(nowMs) < Math.max(limitNanos * NEAR_END_SHARE, largestCost),
    spend(nanos, nowMs) {
      roll(nowMs)
      spent = Math.min(Number.MAX_SAFE_INTEGER, spent + nanos)
      largestCost = Math.max(largestCost, nanos)
    }
  }
}

function toNanos(amount: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.round(amount * NANOS))
}
