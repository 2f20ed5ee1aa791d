// The settings of keys, limits and spend (keys.md 1, 3 and 4).
import type { SectionRows } from './row.ts'
import * as kind from './types.ts'

/** The rows of keys, limits and spend. */
export function keyRows(add: SectionRows) {
  return {
    GATEWAY_KEYS_FILE: add.optional(
      kind.path,
      'File of API keys with their models, limits and budgets, YAML or JSON. With it every client needs a key.'
    ),
    GATEWAY_PRICES_FILE: add.optional(
      kind.path,
      'File of prices by model, YAML or JSON: what requests cost stands in records, sums and metrics.'
    ),
    GATEWAY_LIMITS_REDIS_URL: add.optional(
      kind.secret,
      'Redis or Valkey that several gateways share their limits and budgets through: `redis://` or `rediss://`.',
      { secret: true }
    ),
    GATEWAY_LIMITS_PREFIX: add.withDefault(
      kind.name,
      'gateway:limits:',
      'What the names of all counters in that Redis begin with.'
    ),
    GATEWAY_LIMITS_ON_OUTAGE: add.withDefault(
      kind.oneOf(['local', 'refuse']),
      'local',
      'While the place of shared limits or budgets gives no answer: limits go on for each host alone, or requests of limited keys are refused with 503.'
    )
  }
}
