// What shared counters must answer, kept as the list of everything that was ever taken. It knows the time of each answer, and no buckets.
import type { CounterAnswer, CounterQuestion } from '../../shared/limits/shared-counters.ts'

interface Taken {
  readonly counter: string
  readonly atMs: number
  amount: number
}

type Question<Kind> = Extract<CounterQuestion, { kind: Kind }>
type Answer<Kind> = Extract<CounterAnswer, { kind: Kind }>

export interface CounterModel {
  /** Sentences about an answer that is wrong; none where it is right. */
  check(gateway: string, questions: readonly CounterQuestion[], reply: Reply): string[]
  /** What of a gateway's amounts can be given back now: the newest first. */
  grants(counter: string): readonly Readonly<Taken>[]
}

interface Reply {
  readonly serverMs: number
  readonly answers: readonly CounterAnswer[]
}

interface Times {
  readonly windowMs: number
  /** How much longer than the window an amount may count. */
  readonly slackMs: number
  readonly leaseMs: number
}

/** A model of one place. Its windows keep their limits. */
export function createCounterModel({ windowMs, slackMs, leaseMs }: Times): CounterModel {
  const taken: Taken[] = []
  const held = new Map<string, Map<string, { count: number; untilMs: number }>>()
  const spent = new Map<string, number>()

  const sumSince = (counter: string, sinceMs: number) =>
    taken.filter(one => one.counter === counter && one.atMs > sinceMs).reduce((sum, { amount }) => sum + amount, 0)

  function checkWindow(question: Question<'window'>, answer: Answer<'window'>, nowMs: number): string[] {
    const { counter, limit, take, givenBack } = question
    for (const { amount, ageMs } of givenBack) {
      const at = nowMs - ageMs
      if (amount < 0) taken.push({ counter, atMs: at, amount: -amount })
      else takeBack(counter, amount, at)
    }
    const [least, most] = [sumSince(counter, nowMs - windowMs), sumSince(counter, nowMs - windowMs - slackMs)]
    const { granted, remaining, retryAfterMs, resetMs } = answer
    taken.push({ counter, atMs: nowMs, amount: granted })
    const used = least + granted
    return [
      granted > take && 'grants more than was asked for',
      granted > Math.max(0, limit - least) && `grants ${granted} beside ${least} of ${limit}`,
      granted < Math.min(take, limit - most) && `grants only ${granted} of ${take} beside ${most} of ${limit}`,
      remaining > Math.max(0, limit - used) && `has ${remaining} left beside ${used} of ${limit}`,
      remaining < limit - most - granted && `has only ${remaining} left beside ${most} and ${granted} of ${limit}`,
      granted < take === (retryAfterMs === 0) && `may be asked again after ${retryAfterMs} ms`,
      retryAfterMs > windowMs + slackMs && 'may be asked again too late',
      (resetMs > windowMs + slackMs || (used > 0 && resetMs === 0)) && `is empty after ${resetMs} ms`
    ].filter(one => one !== false)
  }

  /** The grant that began nearest to this time, then older ones. */
  function takeBack(counter: string, amount: number, atMs: number): void {
    let rest = amount
    const own = taken.filter(one => one.counter === counter && one.amount > 0)
    own.sort((one, other) => Math.abs(one.atMs - atMs) - Math.abs(other.atMs - atMs))
    for (const one of own) {
      const freed = Math.min(one.amount, rest)
      one.amount -= freed
      rest -= freed
    }
  }

  function checkSlots(gateway: string, question: Question<'slots'>, answer: Answer<'slots'>, nowMs: number): string[] {
    const holders = held.get(question.counter) ?? new Map()
    held.set(question.counter, holders)
    for (const [name, { untilMs }] of holders) if (untilMs <= nowMs) holders.delete(name)
    const mine = holders.get(gateway)?.count ?? 0
    const others = [...holders].reduce((sum, [name, { count }]) => (name === gateway ? sum : sum + count), 0)
    const { limit, hold } = question
    const count = Math.max(Math.min(hold, mine), Math.min(hold, Math.max(0, limit - others)))
    if (count > 0) holders.set(gateway, { count, untilMs: nowMs + leaseMs })
    else holders.delete(gateway)
    const remaining = Math.max(0, limit - others - count)
    return answer.held === count && answer.remaining === remaining
      ? []
      : [`holds ${answer.held} and not ${count}, with ${answer.remaining} and not ${remaining} left`]
  }

  function checkSpend({ counter, period, addNanos }: Question<'spend'>, answer: Answer<'spend'>): string[] {
    const name = `${counter} ${period}`
    const sum = (spent.get(name) ?? 0) + addNanos
    spent.set(name, sum)
    return answer.spentNanos === sum ? [] : [`has spent ${answer.spentNanos} and not ${sum}`]
  }

  return {
    check(gateway, questions, { serverMs, answers }) {
      return questions.flatMap((question, index) => {
        const answer = answers[index]
        const faults =
          question.kind === 'window' && answer?.kind === 'window'
            ? checkWindow(question, answer, serverMs)
            : question.kind === 'slots' && answer?.kind === 'slots'
              ? checkSlots(gateway, question, answer, serverMs)
              : question.kind === 'spend' && answer?.kind === 'spend'
                ? checkSpend(question, answer)
                : ['is answered as another question']
        return faults.map(fault => `${question.kind} ${question.counter} ${fault}`)
      })
    },
    grants: counter => taken.filter(one => one.counter === counter && one.amount > 0).reverse()
  }
}
