// A budget whose spend a shared place keeps (keys.md 3): added to in batches, and read again before it is five seconds old.
import { addNanos, type Budget, type BudgetOptions, createBudgetTerm, isNearEnd } from '../budget.ts'
import type { Outage } from './outage.ts'
import type { SpendExchanges, SpendMember } from './spend-exchanges.ts'

const READ_AGAIN_MS = 3_000
const READ_AGE_MAX_MS = 5_000
/** Earlier periods with spend that is not added yet. There is more than one only after an outage of a whole period. */
const PERIODS_MAX = 8

export interface SharedBudgetDependencies {
  readonly exchanges: SpendExchanges
  readonly outage: Outage
  readonly nowMs: () => number
}

export function createSharedBudget(
  { id, holder, terms }: BudgetOptions,
  { exchanges, outage, nowMs }: SharedBudgetDependencies
): Budget {
  /** Not sent yet, and sent without an answer, by period. */
  const waiting = new Map<string, number>()
  const sent = new Map<string, number>()
  let periodId = ''
  /** Of the current period, as the place has it. */
  let known: number | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  let largestCost = 0
  const term = createBudgetTerm(terms, ({ id: newId }) => {
    if (newId === periodId) return
    periodId = newId
    known = undefined
    readAtMs = Number.NEGATIVE_INFINITY
  })

  const member: SpendMember = {
    ask() {
      const periods = new Set([...waiting.keys(), periodId])
      const questions = Array.from(periods, period => {
        const addNanosNow = waiting.get(period) ?? 0
        if (addNanosNow > 0) sent.set(period, addNanos(sent.get(period) ?? 0, addNanosNow))
        return { kind: 'spend' as const, counter: id, period, addNanos: addNanosNow }
      })
      waiting.clear()
      return questions
    },
    answer(question, nanos) {
      const left = (sent.get(question.period) ?? 0) - question.addNanos
      if (left > 0) sent.set(question.period, left)
      else sent.delete(question.period)
      if (question.period !== periodId) return
      known = nanos
      readAtMs = nowMs()
    }
  }

  function spentNanos(epochMs: number): number {
    term.period(epochMs)
    return addNanos(addNanos(known ?? 0, sent.get(periodId) ?? 0), waiting.get(periodId) ?? 0)
  }
  const hasRest = (epochMs: number) => spentNanos(epochMs) < term.limitNanos

  return {
    holder,
    get limitNanos() {
      return term.limitNanos
    },
    change: term.change,
    check({ epochMs, nowMs: now, mustAnswer }) {
      if (!hasRest(epochMs)) return 'exhausted'
      if (outage.isOut) return outage.mode === 'local' ? 'free' : 'unavailable'
      const ageMs = now - readAtMs
      if (ageMs >= READ_AGAIN_MS) exchanges.request(member)
      if (ageMs < READ_AGE_MAX_MS) return 'free'
      if (!mustAnswer) return 'asking'
      return outage.mode === 'local' ? 'free' : 'unavailable'
    },
    period: term.period,
    spentNanos,
    isNearEnd: epochMs => isNearEnd(term.limitNanos, spentNanos(epochMs), largestCost),
    spend(nanos, epochMs) {
      const { id: period } = term.period(epochMs)
      waiting.set(period, addNanos(waiting.get(period) ?? 0, nanos))
      const [oldest] = waiting.keys()
      if (waiting.size > PERIODS_MAX && oldest !== undefined) waiting.delete(oldest)
      largestCost = Math.max(largestCost, nanos)
      // Other hosts have to see soon that little is left.
      if (isNearEnd(term.limitNanos, spentNanos(epochMs), largestCost)) exchanges.request(member)
      else exchanges.requestSoon(member)
    }
  }
}
