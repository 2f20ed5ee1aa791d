// What the supervisor and the process of a shared counter place say to each other (keys.md 3): Redis or Valkey for all counters of several
// hosts, the store of responses for budgets alone. Counters are named by `key:<name>:<limit>` or `group:<name>:<limit>`.
import { z } from 'zod'

const count = z.int().min(0)

const counterQuestion = z.discriminatedUnion('kind', [
  /** A sliding window of 60 s: takes at most `take`, after what is given back of earlier grants. */
  z.strictObject({
    kind: z.literal('window'),
    counter: z.string(),
    limit: count,
    take: count,
    /** `ageMs`: how long ago it was taken. A negative amount was used beyond what had been taken. */
    givenBack: z.array(z.strictObject({ amount: z.int(), ageMs: count }))
  }),
  /** Slots that this host holds from now on, until it says otherwise or has been silent for 30 s. */
  z.strictObject({ kind: z.literal('slots'), counter: z.string(), limit: count, hold: count }),
  /** Adds to the spend of a budget in one period: `period` is its first day, such as `2026-11-01`, or `total`. */
  z.strictObject({ kind: z.literal('spend'), counter: z.string(), period: z.string(), addNanos: count })
])

const counterAnswer = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('window'),
    granted: count,
    remaining: count,
    /** Milliseconds until `take` would have been granted, and until the window is empty. */
    retryAfterMs: count,
    resetMs: count
  }),
  /** `held`: what this host holds now; at most what it asked for. */
  z.strictObject({ kind: z.literal('slots'), held: count, remaining: count }),
  z.strictObject({ kind: z.literal('spend'), spentNanos: count })
])

/** The questions of one exchange, which the place answers in one step, in their order. */
export const counterQuestions = z.array(counterQuestion)
export const counterAnswers = z.array(counterAnswer)
export type CounterQuestion = z.infer<typeof counterQuestion>
export type CounterAnswer = z.infer<typeof counterAnswer>

/** Bound of every exchange. */
export const EXCHANGE_MS_MAX = 250

/** A place where hosts share their counters. */
export interface SharedCounters {
  /**
   * Resolves with an answer to each question, or with undefined where the place cannot be reached or has not answered within 250 ms. Then
   * the questions may still have been carried out; a spend that is repeated under the same `exchangeId` is added once.
   */
  exchange(exchangeId: string, questions: readonly CounterQuestion[]): Promise<readonly CounterAnswer[] | undefined>
}
