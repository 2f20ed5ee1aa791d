// What a model's tokens cost, and what the tokens of a response cost together (keys.md 4).
import { z } from 'zod'

/** Above every real price in every currency, and small enough for the integers below. */
export const PRICE_MAX = 1_000_000_000

const amount = z.number().min(0).max(PRICE_MAX)

/** Per 1,000,000 tokens. */
export const price = z.strictObject({
  input: amount,
  output: amount,
  /** Absent: as `input`. */
  cacheRead: amount.exactOptional(),
  /** Absent: as `input`. */
  cacheWrite: amount.exactOptional(),
  /** Absent: as `output`. */
  reasoning: amount.exactOptional()
})
export type Price = z.infer<typeof price>

/** Where neither the prices file nor the keys file names one. */
export const DEFAULT_CURRENCY = 'USD'

/** The prices of a prices file: those of aliases stand in their profile. */
export const priceList = z.strictObject({
  /** ISO 4217. */
  currency: z.string(),
  /** By the name of a model, or the beginning of names before a trailing `*`. The exact name goes before the longest beginning. */
  models: z.record(z.string(), price)
})
export type PriceList = z.infer<typeof priceList>

/** Token counts of a response; null: not reported. The input includes what a cache read or wrote, the output includes reasoning. */
export interface PricedUsage {
  readonly inputTokens: number | null
  readonly cacheReadTokens: number | null
  readonly cacheWriteTokens: number | null
  readonly outputTokens: number | null
  readonly reasoningTokens: number | null
  readonly totalTokens: number | null
}

/** Billionths of a currency in one unit of it: costs are integers of these, amounts have 9 decimal places. */
export const NANOS_PER_UNIT = 1_000_000_000
const TOKENS_PER_PRICE = 1_000_000n

/**
 * The cost in billionths of the currency, rounded once. Each token counts once: the cached parts are taken from the input, the reasoning
 * part from the output, and a part that is larger than what is left of its whole counts as what is left. Undefined where neither input nor
 * output was reported: then nothing is known of the cost.
 */
export function computeCostNanos(usage: PricedUsage, price: Price): number | undefined {
  const { input, output } = settleWholes(usage)
  if (input === undefined && output === undefined) return undefined
  const { cacheRead = price.input, cacheWrite = price.input, reasoning = price.output } = price
  let nanos = 0n
  let fresh = input ?? 0
  const take = (tokens: number | null, perMillion: number) => {
    const part = Math.min(readCount(tokens), fresh)
    fresh -= part
    nanos += costOf(part, perMillion)
  }
  take(usage.cacheReadTokens, cacheRead)
  take(usage.cacheWriteTokens, cacheWrite)
  take(fresh, price.input)
  fresh = output ?? 0
  take(usage.reasoningTokens, reasoning)
  take(fresh, price.output)
  const rounded = (nanos + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE
  return Number(rounded > MAX_SAFE ? MAX_SAFE : rounded)
}

/** An amount of the currency with 9 decimal places. */
export function readAmount(costNanos: number): number {
  return costNanos / NANOS_PER_UNIT
}

/** The billionths of such an amount. */
export function readNanos(amount: number): number {
  return Math.round(amount * NANOS_PER_UNIT)
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

/** Billionths of the currency for a million times as many tokens. */
function costOf(tokens: number, perMillion: number): bigint {
  return BigInt(tokens) * BigInt(Math.round(perMillion * NANOS_PER_UNIT))
}

/** The input and the output. A missing one is what the total has beside the other one, or that of the parts that were reported. */
export function settleWholes(usage: PricedUsage): { input: number | undefined; output: number | undefined } {
  const { inputTokens, outputTokens, totalTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    input: settleWhole(inputTokens, [totalTokens, outputTokens], [cacheReadTokens, cacheWriteTokens]),
    output: settleWhole(outputTokens, [totalTokens, inputTokens], [reasoningTokens])
  }
}

function settleWhole(
  whole: number | null,
  [total, other]: readonly [number | null, number | null],
  parts: ReadonlyArray<number | null>
): number | undefined {
  if (whole !== null) return readCount(whole)
  const counted = parts.some(part => part !== null)
    ? parts.reduce((sum: number, part) => sum + readCount(part), 0)
    : undefined
  if (total === null || other === null) return counted
  return Math.max(counted ?? 0, readCount(total) - readCount(other))
}

/** A count that is no whole number above 0 counts nothing. */
function readCount(count: number | null): number {
  return count !== null && Number.isSafeInteger(count) && count > 0 ? count : 0
}
