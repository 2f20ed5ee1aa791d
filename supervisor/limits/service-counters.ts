// The shared counters as the supervisor sees them: questions to the process that holds the connection to their place (keys.md 3).
import { type Asker, createAsker } from '../../shared/ipc/ask.ts'
import type {
  FromServiceContent,
  FromServiceFields,
  ToServiceContent,
  ToServiceFields
} from '../../shared/ipc/service-messages.ts'
import {
  type CounterAnswer,
  type CounterQuestion,
  EXCHANGE_MS_MAX,
  type SharedCounters
} from '../../shared/limits/shared-counters.ts'

/** Exchanges that wait for an answer. Further ones are not begun: the place is then too slow to be of use. */
const WAITING_MAX = 1_000
/** A third of the time after which the slots of a silent host are free. */
const RENEWAL_INTERVAL_MS = 10_000

type SlotsQuestion = Extract<CounterQuestion, { kind: 'slots' }>
type Exchange = Extract<ToServiceContent, { kind: 'counters-exchange' }>
type Reply = Extract<FromServiceContent, { kind: 'counters-reply' }>
type CountersAsker = Asker<Exchange, Reply, { 'counters-exchange': readonly ['counters-reply'] }>

export interface ServiceCountersDependencies {
  /** Whether the process takes questions now. */
  readonly isReady: () => boolean
  readonly send: (exchange: { readonly kind: 'counters-exchange' } & ToServiceFields['counters-exchange']) => void
}

export interface ServiceCounters extends SharedCounters {
  receive(reply: FromServiceFields['counters-reply']): void
  /** Gives the slots of this gateway back, as the last question before the process is closed. */
  giveBack(): void
  /** The process has exited: what waits for it resolves with undefined. */
  forgetProcess(): void
  close(): void
}

/**
 * Counters that a service process answers. What an exchange has said about slots is said again from time to time, until the place has
 * answered that they are given back: so a host is silent only where it, or its connection, is gone.
 */
export function createServiceCounters({ isReady, send }: ServiceCountersDependencies): ServiceCounters {
  const slots = new Map<string, SlotsQuestion>()
  let asker = createCountersAsker(send)
  let waiting = 0
  let isClosed = false
  let renewal: NodeJS.Timeout | undefined

  async function exchange(
    exchangeId: string,
    questions: readonly CounterQuestion[]
  ): Promise<readonly CounterAnswer[] | undefined> {
    for (const question of questions) if (question.kind === 'slots') slots.set(question.counter, question)
    planRenewal()
    if (isClosed || !isReady() || waiting >= WAITING_MAX) return undefined
    waiting += 1
    const reply = await asker.ask(
      { kind: 'counters-exchange', exchangeId, questions: [...questions] },
      { timeoutMs: EXCHANGE_MS_MAX }
    )
    waiting -= 1
    const answers = reply.kind === 'unanswered' ? null : reply.answers
    if (answers === null || answers.length !== questions.length) return undefined
    for (const question of questions) if (question.kind === 'slots') forgetFreed(question)
    return answers
  }

  function forgetFreed(question: SlotsQuestion): void {
    if (question.hold === 0 && slots.get(question.counter) === question) slots.delete(question.counter)
  }

  /** What the place has granted can be less; what is asked for again is granted as far as it is free. */
  function planRenewal(): void {
    if (slots.size > 0 && !isClosed) renewal ??= setTimeout(renew, RENEWAL_INTERVAL_MS).unref()
  }

  function renew(): void {
    renewal = undefined
    if (slots.size > 0) void exchange('renewal', [...slots.values()])
  }

  return {
    exchange,
    receive: reply => asker.receive({ kind: 'counters-reply', ...reply }),
    giveBack() {
      if (slots.size > 0)
        void exchange(
          'close',
          Array.from(slots.values(), question => ({ ...question, hold: 0 }))
        )
    },
    forgetProcess() {
      asker.close()
      asker = createCountersAsker(send)
    },
    close() {
      isClosed = true
      clearTimeout(renewal)
      asker.close()
    }
  }
}

function createCountersAsker(send: ServiceCountersDependencies['send']): CountersAsker {
  return createAsker<Exchange, Reply, { 'counters-exchange': readonly ['counters-reply'] }>(
    { 'counters-exchange': ['counters-reply'] },
    send
  )
}
