// The exchanges of windows and slots with the place that hosts share: the questions of one turn go into one exchange, and each counter is
// part of one exchange at a time (keys.md 3).
import { LEASE_AGE_MAX_MS } from '../../../shared/limits/leases.ts'
import type { CounterAnswer, CounterQuestion, SharedCounters } from '../../../shared/limits/shared-counters.ts'
import type { LimitTimers } from '../../../shared/limits/timers.ts'
import type { Outage } from './outage.ts'

/** Further questions are part of the next exchange. */
export const QUESTIONS_MAX = 200
/** How often the place is asked in an outage. */
const PROBE_INTERVAL_MS = 1_000

/** A counter of the shared place. */
export interface ExchangeMember {
  /** What there is to say now; undefined where that is nothing. */
  ask(nowMs: number): CounterQuestion | undefined
  /** The answer to the last question; undefined where there was none. */
  answer(answer: CounterAnswer | undefined): void
  /** A question that takes nothing. */
  probe(): CounterQuestion
  /** Requests an exchange for what has become old. Returns whether something else may become old. */
  sweep(nowMs: number): boolean
}

export interface Exchanges {
  /** The member has something to say. */
  request(member: ExchangeMember): void
  /** The member has something that becomes old. */
  watch(member: ExchangeMember): void
  close(): void
}

export interface ExchangesDependencies {
  readonly place: SharedCounters
  readonly outage: Outage
  readonly timers: LimitTimers
  readonly nowMs: () => number
  /** Called after the answers of an exchange, or after it got none. */
  readonly onAnswered: () => void
}

export function createExchanges(dependencies: ExchangesDependencies): Exchanges {
  const { place, outage, timers, nowMs, onAnswered } = dependencies
  const due = new Set<ExchangeMember>()
  const asking = new Set<ExchangeMember>()
  const watched = new Set<ExchangeMember>()
  let isPlanned = false
  let isClosed = false
  let exchangeCount = 0
  let cancelSweep: (() => void) | undefined
  let cancelProbe: (() => void) | undefined

  function request(member: ExchangeMember): void {
    if (isClosed || outage.isOut) return
    due.add(member)
    plan()
  }

  function send(): void {
    isPlanned = false
    if (isClosed || outage.isOut) return
    const members: ExchangeMember[] = []
    const questions: CounterQuestion[] = []
    for (const member of due) {
      if (asking.has(member)) continue
      if (questions.length >= QUESTIONS_MAX) break
      due.delete(member)
      const question = member.ask(nowMs())
      if (question === undefined) continue
      members.push(member)
      questions.push(question)
    }
    if (questions.length > 0) void exchange(members, questions)
    if ([...due].some(member => !asking.has(member))) plan()
  }

  function plan(): void {
    if (isPlanned || isClosed) return
    isPlanned = true
    timers.defer(send)
  }

  async function exchange(members: readonly ExchangeMember[], questions: readonly CounterQuestion[]): Promise<void> {
    exchangeCount += 1
    for (const member of members) asking.add(member)
    const answers = await place.exchange(`counters-${exchangeCount}`, questions)
    for (const [index, member] of members.entries()) {
      asking.delete(member)
      member.answer(answers?.[index])
    }
    conclude(answers !== undefined, members)
    if (due.size > 0) plan()
  }

  function conclude(wasAnswered: boolean, [member]: readonly ExchangeMember[]): void {
    outage.report(wasAnswered)
    if (!wasAnswered) due.clear()
    if (!wasAnswered && member !== undefined) planProbe(member)
    onAnswered()
  }

  function planProbe(member: ExchangeMember): void {
    if (isClosed || cancelProbe !== undefined) return
    cancelProbe = timers.after(PROBE_INTERVAL_MS, () => {
      cancelProbe = undefined
      if (outage.isOut) void probe(member)
    })
  }

  async function probe(member: ExchangeMember): Promise<void> {
    exchangeCount += 1
    const answers = await place.exchange(`counters-${exchangeCount}`, [member.probe()])
    conclude(answers !== undefined, [member])
  }

  function watch(member: ExchangeMember): void {
    if (isClosed) return
    watched.add(member)
    cancelSweep ??= timers.after(LEASE_AGE_MAX_MS, sweep)
  }

  function sweep(): void {
    cancelSweep = undefined
    for (const member of [...watched]) if (!member.sweep(nowMs())) watched.delete(member)
    if (watched.size > 0) cancelSweep = timers.after(LEASE_AGE_MAX_MS, sweep)
  }

  return {
    request,
    watch,
    close() {
      isClosed = true
      cancelSweep?.()
      cancelProbe?.()
    }
  }
}
