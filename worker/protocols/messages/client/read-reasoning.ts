// Reads the reasoning effort, and whether the response shows the reasoning (messages.md 5).

import { invalidRequest, type JsonObject, type Reasoning } from '../../../normalized/index.ts'
import {
  keepDefined,
  readOptionalObject,
  readOptionalPositiveInteger,
  readOptionalString,
  readString
} from '../../shared/field.ts'
import type { MessagesRequest } from './schema.ts'

/** The budget when a client enables thinking without `budget_tokens`. */
const DEFAULT_BUDGET_TOKENS = 10_000
/** The lowest budgets that become a medium effort and a high effort. */
const MEDIUM_BUDGET_TOKENS = 3000
const HIGH_BUDGET_TOKENS = 8000

/**
 * Reads `thinking` and `output_config.effort`; undefined when neither has an effect. A named effort wins over a budget, but not
 * over disabled thinking. Raises `invalid_request`.
 */
export function readReasoning(body: Pick<MessagesRequest, 'thinking' | 'output_config'>): Reasoning | undefined {
  const thinking = readOptionalObject(body, 'thinking')
  const budgetEffort = thinking && readThinkingEffort(thinking)
  const givenEffort = readGivenEffort(readOptionalObject(body, 'output_config') ?? {})
  const reasoning = keepDefined({
    effort: budgetEffort === 'none' ? budgetEffort : (givenEffort ?? budgetEffort),
    isVisible: thinking && readOptionalString(thinking, 'display', 'thinking') === 'omitted' ? false : undefined
  })
  return Object.keys(reasoning).length === 0 ? undefined : reasoning
}

function readGivenEffort(config: JsonObject): string | undefined {
  return (config.effort ?? undefined) === undefined ? undefined : readString(config, 'effort', 'output_config')
}

/** Undefined where the model chooses the effort. */
function readThinkingEffort(thinking: JsonObject): string | undefined {
  const type = readString(thinking, 'type', 'thinking')
  switch (type) {
    case 'enabled': {
      const budgetTokens = readOptionalPositiveInteger(thinking, 'budget_tokens', 'thinking') ?? DEFAULT_BUDGET_TOKENS
      if (budgetTokens >= HIGH_BUDGET_TOKENS) return 'high'
      return budgetTokens >= MEDIUM_BUDGET_TOKENS ? 'medium' : 'low'
    }
    case 'disabled':
      return 'none'
    case 'adaptive':
    case 'between_tools':
      return undefined
    default:
      throw invalidRequest('thinking.type', `'thinking.type' must be enabled, adaptive, between_tools or disabled.`)
  }
}
