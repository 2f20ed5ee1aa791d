// Limits that one host counts for itself.
import { createBudget } from './budget.ts'
import type { LimitFactory } from './key-limits.ts'
import { createSlotLimit } from './slot-limit.ts'
import { createWindowLimit } from './window-limit.ts'

export const hostLimits: LimitFactory = {
  createLimit: options =>
    options.name === 'concurrent_requests' ? createSlotLimit(options) : createWindowLimit(options),
  createBudget
}
