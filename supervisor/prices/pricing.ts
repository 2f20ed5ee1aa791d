// The price of a model as files write it: `pricing` of an alias in a profile file, and an entry of a prices file (keys.md 4).
import { z } from 'zod'
import { PRICE_MAX, type Price } from '../../shared/prices.ts'

const amount = z.number().min(0).max(PRICE_MAX)

/** Per 1,000,000 tokens. */
export const pricing = z.strictObject({
  input: amount.describe('Per 1,000,000 input tokens.'),
  output: amount.describe('Per 1,000,000 output tokens.'),
  cache_read: amount.exactOptional().describe('Of input that a cache had. Absent: as input.'),
  cache_write: amount.exactOptional().describe('Of input that was written to a cache. Absent: as input.'),
  reasoning: amount.exactOptional().describe('Of output that was reasoning. Absent: as output.')
})
type PricingContent = z.output<typeof pricing>

/** What the file leaves out stays absent. */
export function toPrice({ input, output, cache_read, cache_write, reasoning }: PricingContent): Price {
  return {
    input,
    output,
    ...(cache_read !== undefined && { cacheRead: cache_read }),
    ...(cache_write !== undefined && { cacheWrite: cache_write }),
    ...(reasoning !== undefined && { reasoning })
  }
}
