// The shape of a prices file (keys.md 4). The schema for editors is generated from the same definition.
import { z } from 'zod'
import type { FileProblem } from '../config-file/problems.ts'
import { currencyCode, MODEL_RULE, modelPattern, withoutPrototype } from '../keys/schema.ts'
import { pricing } from './pricing.ts'

const PRICES_SCHEMA_VERSION = 'gateway.prices.v1'

export const pricesFile = z.strictObject({
  schema_version: z.literal(PRICES_SCHEMA_VERSION),
  currency: currencyCode
    .exactOptional()
    .describe('ISO 4217, of all prices and budgets. Absent: that of the keys file, else USD.'),
  models: withoutPrototype(z.record(modelPattern, pricing)).describe(
    'By an alias, an id of the model list, or their beginning before a trailing *. The exact name wins, then the longest beginning.'
  )
})
type PricesContent = z.output<typeof pricesFile>

/** Reads a parsed file. Returns its content, or every member that is wrong. */
export function readPricesShape(value: unknown): { content: PricesContent } | { problems: FileProblem[] } {
  const result = pricesFile.safeParse(value)
  return result.success ? { content: result.data } : { problems: result.error.issues.map(toProblem) }
}

/** A name that breaks a rule is not repeated: it may be anything. */
function toProblem({ code, path, message }: z.core.$ZodIssue): FileProblem {
  const place = path.filter(part => typeof part !== 'symbol')
  switch (code) {
    case 'unrecognized_keys':
      return { path: place, explanation: 'has an unknown member' }
    case 'invalid_key':
      return { path: place.slice(0, -1), explanation: `the name of a model must be ${MODEL_RULE}` }
    default:
      return { path: place, explanation: message }
  }
}
