// The keys of a keys file as plain data: what the supervisor has read and checked, and what it hands to the workers. A secret is here as
// its digest alone (keys.md 1).
import { z } from 'zod'

/** The periods of a budget; their boundaries are in UTC, and a week begins on Monday. */
export const BUDGET_PERIODS = ['day', 'week', 'month', 'total'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

const positive = z.int().min(1)

/** What a key, or all keys of a group together, may use. An absent member sets no limit. */
const limits = z.strictObject({
  requestsPerMinute: positive.exactOptional(),
  tokensPerMinute: positive.exactOptional(),
  concurrentRequests: positive.exactOptional(),
  /** In the currency of the file. */
  budget: z.strictObject({ amount: z.number().positive(), period: z.enum(BUDGET_PERIODS) }).exactOptional()
})

/** Names of models, each exact or with a trailing `*`. */
const modelPatterns = z.array(z.string().min(1))

const keyGroup = z.strictObject({
  name: z.string().min(1),
  /** Absent: all models. */
  models: modelPatterns.exactOptional(),
  limits
})

const gatewayKey = z.strictObject({
  name: z.string().min(1),
  /** The name of a group of the same file. */
  group: z.string().exactOptional(),
  /** SHA-256 of each secret, in hexadecimal digits. */
  digests: z.array(z.string().regex(/^[0-9a-f]{64}$/)).min(1),
  /** Absent: all models. */
  models: modelPatterns.exactOptional(),
  limits,
  /** Milliseconds since the epoch; absent: the key does not expire. */
  expiresAtMs: z.int().exactOptional(),
  isEnabled: z.boolean(),
  /** Shown to admins alone. */
  metadata: z.record(z.string(), z.string())
})

/** The shape of a key set in a message between processes. */
export const keySet = z.strictObject({
  /** Of the whole file without secrets and digests: `sha256:` and hexadecimal digits. */
  revision: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  /** ISO 4217, of all budgets and prices. */
  currency: z.string(),
  groups: z.array(keyGroup),
  keys: z.array(gatewayKey)
})

export type Limits = z.infer<typeof limits>
export type KeyGroup = z.infer<typeof keyGroup>
export type GatewayKey = z.infer<typeof gatewayKey>
export type KeySet = z.infer<typeof keySet>
