// The exchanges of budgets with the place that keeps what was spent (keys.md 3). An exchange without an answer may have been carried
// out all the same, so it is repeated under its own id until it is answered. What is spent until then waits for the next exchange.
import type { CounterQuestion } from '../../../shared/limits/shared-counters.ts'
import { type ExchangesDependencies, QUESTIONS_MAX } from './exchanges.ts'

/** How long spend is collected before it is added at the place. */
const COLLECT_MS = 1_000
const REPEAT_MS = 1_000

export type SpendQuestion = Extract<CounterQuestion, { kind: 'spend' }>

/** A budget of the shared place. */
export interface SpendMember {
  /** Reads the spend of the current period, and adds what was not added yet. */
  ask(): SpendQuestion[]
  answer(question: SpendQuestion, spentNanos: number): void
}

export interface SpendExchanges {
  /** The member has to be asked for now. */
  request(member: SpendMember): void
  /** The member has spend to be added soon. */
  requestSoon(member: SpendMember): void
  /** Sends what was not sent yet: nothing is asked for after that. */
  close(): void
}

interface SpendExchange {
  readonly exchangeId: string
  readonly questions: readonly SpendQuestion[]
  /** Whose question each is. */
  readonly members: readonly SpendMember[]
}

export function createSpendExchanges({
  place,
  outage,
  timers,
  onAnswered
}: Omit<ExchangesDependencies, 'nowMs'>): SpendExchanges {
  const due = new Set<SpendMember>()
  const soon = new Set<SpendMember>()
  let exchangeCount = 0
  let isClosed = false
  let isPlanned = false
  /** The exchange that runs, or has to be repeated. */
  let current: SpendExchange | undefined
  let cancelCollect: (() => void) | undefined
  let cancelRepeat: (() => void) | undefined

  function plan(): void {
    if (isPlanned || isClosed || current !== undefined) return
    isPlanned = true
    timers.defer(() => {
      isPlanned = false
      const exchange = current === undefined ? collect() : undefined
      if (exchange !== undefined) void run(exchange)
    })
  }

  function collect(): SpendExchange | undefined {
    const members: SpendMember[] = []
    const questions: SpendQuestion[] = []
    for (const member of due) {
      if (questions.length >= QUESTIONS_MAX) break
      due.delete(member)
      soon.delete(member)
      for (const question of member.ask()) {
        members.push(member)
        questions.push(question)
      }
    }
    if (questions.length === 0) return undefined
    exchangeCount += 1
    return { exchangeId: `spend-${exchangeCount}`, questions, members }
  }

  async function run(exchange: SpendExchange): Promise<void> {
    current = exchange
    const answers = await place.exchange(exchange.exchangeId, exchange.questions)
    if (answers === undefined) {
      if (!isClosed) cancelRepeat = timers.after(REPEAT_MS, () => void run(exchange))
    } else {
      current = undefined
      for (const [index, question] of exchange.questions.entries()) {
        const answer = answers[index]
        if (answer?.kind === 'spend') exchange.members[index]?.answer(question, answer.spentNanos)
      }
    }
    outage.report(answers !== undefined)
    onAnswered()
    if (due.size > 0) plan()
  }

  function dueNow(): void {
    cancelCollect = undefined
    for (const member of soon) due.add(member)
    soon.clear()
    plan()
  }

  return {
    request(member) {
      due.add(member)
      plan()
    },
    requestSoon(member) {
      soon.add(member)
      if (!isClosed) cancelCollect ??= timers.after(COLLECT_MS, dueNow)
    },
    close() {
      if (isClosed) return
      isClosed = true
      cancelCollect?.()
      cancelRepeat?.()
      // The place adds an exchange once, so the current one is sent again in either case: it runs, or it has failed.
      if (current !== undefined) void place.exchange(current.exchangeId, current.questions)
      for (const member of soon) due.add(member)
      for (let exchange = collect(); exchange !== undefined; exchange = collect()) {
        void place.exchange(exchange.exchangeId, exchange.questions)
      }
    }
  }
}
