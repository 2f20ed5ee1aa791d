// Reads the reasoning effort, and whether the response shows the reasoning (messages.md 5).

import { invalidRequest, type JsonObject, type Reasoning } from '../../../normalized/index.ts'
import {
  keepDefined,
  readOptionalObject,
  readOptionalPositiveInteger,
  readOptionalString,
  readString
} from '../../shared/members/field.ts'
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
  const amount = thinking === undefined ? {} : readAmount(thinking)
  const givenEffort = readGivenEffort(readOptionalObject(body, 'output_config') ?? {})
  const reasoning = keepDefined({
    ...(amount.effort === 'none' || givenEffort === undefined ? amount : { effort: givenEffort }),
    isVisible: thinking && readVisibility(thinking)
  })
  return Object.keys(reasoning).length === 0 ? undefined : reasoning
}

/** A client that leaves the effort to the model asks for nothing but the thinking itself; undefined where the effort tells. */
function readVisibility(thinking: JsonObject): boolean | undefined {
  if (readOptionalString(thinking, 'display', 'thinking') === 'omitted') return false
  return thinking.type === 'adaptive' || thinking.type === 'between_tools' ? true : undefined
}

function readGivenEffort(config: JsonObject): string | undefined {
  return (config.effort ?? undefined) === undefined ? undefined : readString(config, 'effort', 'output_config')
}

/** Reads how much the model shall think: the budget that the client gave and its effort, or nothing where the model chooses. */
function readAmount(thinking: JsonObject): Pick<Reasoning, 'effort' | 'budgetTokens'> {
  const type = readString(thinking, 'type', 'thinking')
  switch (type) {
    case 'enabled': {
      const budgetTokens = readOptionalPositiveInteger(thinking, 'budget_tokens', 'thinking')
      const effort = mapBudget(budgetTokens ?? DEFAULT_BUDGET_TOKENS)
      return budgetTokens === undefined ? { effort } : { effort, budgetTokens }
    }
    case 'disabled':
      return { effort: 'none' }
    case 'adaptive':
    case 'between_tools':
      return {}
    default:
      throw invalidRequest('thinking.type', `'thinking.type' must be enabled, adaptive, between_tools or disabled.`)
  }
}

function mapBudget(budgetTokens: number): string {
  if (budgetTokens >= HIGH_BUDGET_TOKENS) return 'high'
  return budgetTokens >= MEDIUM_BUDGET_TOKENS ? 'medium' : 'low'
}
