// The budget of a key or of a group: what its requests have cost in the current period (keys.md 2).
import type { BudgetPeriod } from '../../shared/keys/key-set.ts'
import type { LimitHolder } from '../../shared/limits/leases.ts'
import { NANOS_PER_UNIT } from '../../shared/prices.ts'
import { findPeriod, type PeriodNow } from './periods.ts'

/** Below this share of the amount every request asks for itself. */
const NEAR_END_SHARE = 0.05

export interface BudgetTerms {
  /** In the currency of the keys file. */
  readonly amount: number
  readonly period: BudgetPeriod
}

export interface BudgetOptions {
  /** Names it among those of all keys and groups, as shared places do. */
  readonly id: string
  readonly holder: LimitHolder
  readonly terms: BudgetTerms
}

export interface BudgetWant {
  readonly epochMs: number
  /** As in `Want` of a counted limit. */
  readonly nowMs: number
  readonly mustAnswer: boolean
}

/** `asking`: the place that keeps the spend is being asked. `unavailable`: it cannot be reached, and requests are to be refused then. */
export type BudgetState = 'free' | 'exhausted' | 'asking' | 'unavailable'

/** Times are milliseconds since the epoch; amounts are billionths of the currency, as safe integers. */
export interface Budget {
  readonly holder: LimitHolder
  readonly limitNanos: number
  change(terms: BudgetTerms): void
  check(want: BudgetWant): BudgetState
  period(epochMs: number): PeriodNow
  spentNanos(epochMs: number): number
  /** So little is left that one more request may use it up: leases are for one request each. */
  isNearEnd(epochMs: number): boolean
  spend(nanos: number, epochMs: number): void
}

/** The amount and the current period of a budget. */
export interface BudgetTerm {
  readonly limitNanos: number
  /** Calls `onNew` first where the period is another one than before. */
  period(epochMs: number): PeriodNow
  change(terms: BudgetTerms): void
}

export function createBudgetTerm(terms: BudgetTerms, onNew: (period: PeriodNow) => void): BudgetTerm {
  let { period: kind } = terms
  let limitNanos = toNanos(terms.amount)
  let current: PeriodNow | undefined
  return {
    get limitNanos() {
      return limitNanos
    },
    period(epochMs) {
      if (current === undefined || (current.endsAtMs !== null && epochMs >= current.endsAtMs)) {
        current = findPeriod(kind, epochMs)
        onNew(current)
      }
      return current
    },
    change({ amount, period }) {
      limitNanos = toNanos(amount)
      if (period === kind) return
      kind = period
      current = undefined
    }
  }
}

/** Whether a budget has so little left that every request has to ask for itself. */
export function isNearEnd(limitNanos: number, spentNanos: number, largestCost: number): boolean {
  return limitNanos - spentNanos < Math.max(limitNanos * NEAR_END_SHARE, largestCost)
}

export function addNanos(left: number, right: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, left + right)
}

function toNanos(amount: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.round(amount * NANOS_PER_UNIT))
}

/** A budget whose spend is known to this process alone. */
export function createBudget({ holder, terms }: BudgetOptions): Budget {
  let spent = 0
  let largestCost = 0
  const term = createBudgetTerm(terms, () => {
    spent = 0
  })
  function spentNanos(epochMs: number): number {
    term.period(epochMs)
    return spent
  }
  return {
    holder,
    get limitNanos() {
      return term.limitNanos
    },
    change: term.change,
    check: ({ epochMs }) => (spentNanos(epochMs) < term.limitNanos ? 'free' : 'exhausted'),
    period: term.period,
    spentNanos,
    isNearEnd: epochMs => isNearEnd(term.limitNanos, spentNanos(epochMs), largestCost),
    spend(nanos, epochMs) {
      spent = addNanos(spentNanos(epochMs), nanos)
      largestCost = Math.max(largestCost, nanos)
    }
  }
}
