// What keys use now, as the admin API shows it (keys.md 5).
import type { KeyUsage, LimitUsage } from '../../shared/limits/leases.ts'
import type { KeyLimits } from './key-limits.ts'

interface UsageTime {
  readonly nowMs: number
  readonly epochMs: number
  readonly lastUsed: (key: string) => number | undefined
}

export function listUsage(keys: Iterable<KeyLimits>, time: UsageTime): KeyUsage[] {
  return Array.from(keys, held => ({
    key: held.key,
    lastUsedAtMs: time.lastUsed(held.key) ?? null,
    limits: [...listCounted(held, time.nowMs), ...listBudgets(held, time.epochMs)]
  }))
}

function listCounted({ counted }: KeyLimits, nowMs: number): LimitUsage[] {
  return counted.map(limit => ({
    limit: limit.name,
    holder: limit.holder,
    limitAmount: limit.limit,
    usedAmount: limit.used(nowMs),
    periodEndsAtMs: null
  }))
}

function listBudgets({ budgets }: KeyLimits, epochMs: number): LimitUsage[] {
  return budgets.map(budget => ({
    limit: 'budget',
    holder: budget.holder,
    limitAmount: budget.limitNanos,
    usedAmount: budget.spentNanos(epochMs),
    periodEndsAtMs: budget.period(epochMs).endsAtMs
  }))
}
