// Limits that hosts count together in a shared place, or of which the place keeps the budgets alone (keys.md 3).
import type { SharedCounters } from '../../../shared/limits/shared-counters.ts'
import type { LimitTimers } from '../../../shared/limits/timers.ts'
import type { Logger } from '../../../shared/logging.ts'
import { hostLimits } from '../host-limits.ts'
import type { LimitFactory } from '../key-limits.ts'
import { createExchanges } from './exchanges.ts'
import { createOutage, type OutageMode } from './outage.ts'
import { createSharedBudget } from './shared-budget.ts'
import { createSharedSlots } from './shared-slots.ts'
import { createSharedWindow } from './shared-window.ts'
import { createSpendExchanges } from './spend-exchanges.ts'

export interface SharedLimits extends LimitFactory {
  readonly isOut: boolean
  /** Sends the spend that was not sent yet. */
  close(): void
}

export interface SharedLimitsDependencies {
  readonly log: Logger
  readonly place: SharedCounters
  readonly timers: LimitTimers
  readonly nowMs: () => number
  /** Called whenever questions that wait for the place may be answered. */
  readonly onAnswered: () => void
}

export interface SharedLimitsOptions {
  /** Whether the place counts windows and slots besides budgets. */
  readonly countsAll: boolean
  readonly onOutage: OutageMode
}

export function createSharedLimits(
  { log, place, timers, nowMs, onAnswered }: SharedLimitsDependencies,
  { countsAll, onOutage }: SharedLimitsOptions
): SharedLimits {
  const outage = createOutage({ log, nowMs }, onOutage)
  const exchanges = createExchanges({ place, outage, timers, nowMs, onAnswered })
  const spendExchanges = createSpendExchanges({ place, outage, timers, onAnswered })
  return {
    get isOut() {
      return outage.isOut
    },
    createLimit(options) {
      if (!countsAll) return hostLimits.createLimit(options)
      const create = options.name === 'concurrent_requests' ? createSharedSlots : createSharedWindow
      return create(options, { exchanges, outage })
    },
    createBudget: options => createSharedBudget(options, { exchanges: spendExchanges, outage, nowMs }),
    close() {
      spendExchanges.close()
      exchanges.close()
    }
  }
}
