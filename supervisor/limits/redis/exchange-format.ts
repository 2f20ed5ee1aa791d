// What an exchange is for the script, and what the script's reply means.
import { isCount } from '../../../shared/ipc/checks.ts'
import type { CounterAnswer, CounterQuestion } from '../../../shared/limits/shared-counters.ts'

/** The times of the counters. */
export interface CounterTimes {
  readonly windowMs: number
  /** A window is longer than its name by one to two buckets. */
  readonly bucketMs: number
  /** After which the slots of a silent gateway are free. */
  readonly leaseMs: number
}

/** 122 buckets of a minute stay below 128, up to which servers keep a hash in its compact form. */
export const COUNTER_TIMES: CounterTimes = { windowMs: 60_000, bucketMs: 500, leaseMs: 30_000 }

const DAY_MS = 86_400_000
/** From the first day of a period: longer than the longest period, and than an outage whose spend is added afterwards. */
const PERIOD_KEPT_MS = 62 * DAY_MS
/** How many exchanges of a gateway that have added spend are remembered, and for how long after the last one. */
const REMEMBERED_EXCHANGES = 1_024
const REMEMBERED_MS = 7 * DAY_MS

export interface ExchangeOptions {
  readonly prefix: string
  readonly gatewayId: string
  readonly times: CounterTimes
}

/** The keys and the arguments of the script. */
export function writeExchange(
  exchangeId: string,
  questions: readonly CounterQuestion[],
  { prefix, gatewayId, times }: ExchangeOptions
): { keys: string[]; arguments: string[] } {
  const { windowMs, bucketMs, leaseMs } = times
  const numbers = [windowMs, bucketMs, leaseMs, REMEMBERED_MS, REMEMBERED_EXCHANGES].map(String)
  return {
    keys: [`${prefix}exchanges:${gatewayId}`, ...questions.map(question => `${prefix}${nameKey(question)}`)],
    arguments: [...numbers, gatewayId, exchangeId, JSON.stringify(questions.map(writeQuestion))]
  }
}

function nameKey(question: CounterQuestion): string {
  const { kind, counter } = question
  return kind === 'spend' ? `spend:${question.period}:${counter}` : `${kind}:${counter}`
}

function writeQuestion(question: CounterQuestion): unknown[] {
  switch (question.kind) {
    case 'window':
      return [
        'window',
        question.limit,
        question.take,
        question.givenBack.map(({ amount, ageMs }) => [amount, Math.round(ageMs)])
      ]
    case 'slots':
      return ['slots', question.limit, question.hold]
    case 'spend':
      return ['spend', question.addNanos, findExpiry(question.period)]
  }
}

/** Milliseconds since the epoch; 0: never. */
function findExpiry(period: string): number {
  const firstDayMs = period === 'total' ? Number.NaN : Date.parse(`${period}T00:00:00Z`)
  return Number.isNaN(firstDayMs) ? 0 : firstDayMs + PERIOD_KEPT_MS
}

export interface ExchangeReply {
  /** The time of the server. */
  readonly serverMs: number
  readonly answers: readonly CounterAnswer[]
}

/** The answers in the order of the questions; undefined for a reply that is not the script's. */
export function readReply(reply: unknown, questions: readonly CounterQuestion[]): ExchangeReply | undefined {
  if (!Array.isArray(reply) || reply.length !== questions.length + 1) return undefined
  const [serverMs, ...lists]: unknown[] = reply
  const answers = questions.map(({ kind }, index) => readAnswer(kind, lists[index]))
  const isWhole = (list: (CounterAnswer | undefined)[]): list is CounterAnswer[] => !list.includes(undefined)
  return isCount(serverMs) && isWhole(answers) ? { serverMs, answers } : undefined
}

function readAnswer(kind: CounterQuestion['kind'], list: unknown): CounterAnswer | undefined {
  if (!Array.isArray(list)) return undefined
  const numbers: number[] = list.map(Number)
  if (!numbers.every(isCount)) return undefined
  const [first, second, third, fourth] = numbers
  switch (kind) {
    case 'window':
      if (first === undefined || second === undefined || third === undefined || fourth === undefined) return undefined
      return { kind, granted: first, remaining: second, retryAfterMs: third, resetMs: fourth }
    case 'slots':
      return first === undefined || second === undefined ? undefined : { kind, held: first, remaining: second }
    case 'spend':
      return first === undefined ? undefined : { kind, spentNanos: first }
  }
}
