// What a model's tokens cost (keys.md 4).
import { z } from 'zod'

const amount = z.number().min(0)

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

/** The prices of a prices file: those of aliases stand in their profile. */
export const priceList = z.strictObject({
  /** ISO 4217. */
  currency: z.string(),
  /** By the name of a model, or the beginning of names before a trailing `*`. The exact name goes before the longest beginning. */
  models: z.record(z.string(), price)
})
export type PriceList = z.infer<typeof priceList>
