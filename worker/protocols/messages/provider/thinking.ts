// The thinking of a request whose client gave a budget for it, and the output limit that the budget
// counts towards. Without a budget nothing is sent, except for the off switch: what the model does
// without one is its own default.

import type { JsonObject, NormalizedRequest, Reasoning } from '../../../normalized/index.ts'
import { NO_REASONING } from '../../shared/declared-effort.ts'
import type { WrittenTools } from './write-tools.ts'

/**
 * The output limit for a client that gave none, because the wire demands one: the lowest maximum of the service's current models, so that all
 * of them accept it and long outputs of agents are not cut. A profile may declare a lower one.
 */
const DEFAULT_MAX_TOKENS = 32_000

/** A budget that leaves the amount to the model. */
export const AUTOMATIC_BUDGET = -1

/** The least budget that the service accepts. */
const BUDGET_TOKENS_MIN = 1024

export interface PlannedThinking {
  maxTokens: number
  /** `thinking`; undefined where nothing is sent. */
  config: JsonObject | undefined
  /** The output limit leaves no room for the client's budget. */
  isDropped?: true
}

/**
 * Plans the thinking and the output limit. The service refuses a budget that is not below the limit.
 * @param limits the client's own output limit, and the one that the profile declares.
 */
export function planThinking(
  reasoning: Reasoning = {},
  limits: { maxOutputTokens?: number; outputTokensMax?: number | undefined }
): PlannedThinking {
  const { effort, budgetTokens } = reasoning
  const { maxOutputTokens, outputTokensMax = Number.POSITIVE_INFINITY } = limits
  const usual = Math.min(DEFAULT_MAX_TOKENS, outputTokensMax)
  const display = writeDisplay(reasoning)
  // On some services an absent budget means thinking (decisions.md 81).
  const isOff = budgetTokens === 0 || (budgetTokens === undefined && effort === NO_REASONING)
  if (budgetTokens === undefined && !isOff) return { maxTokens: maxOutputTokens ?? usual, config: undefined }
  if (isOff || budgetTokens === undefined) return { maxTokens: maxOutputTokens ?? usual, config: { type: 'disabled' } }
  if (budgetTokens < 0) return { maxTokens: maxOutputTokens ?? usual, config: { type: 'adaptive', ...display } }
  const maxTokens = maxOutputTokens ?? Math.min(DEFAULT_MAX_TOKENS + budgetTokens, outputTokensMax)
  const budget = Math.min(Math.max(Math.trunc(budgetTokens), BUDGET_TOKENS_MIN), maxTokens - 1)
  const isPossible = budget >= BUDGET_TOKENS_MIN
  if (!isPossible) return { maxTokens, config: undefined, isDropped: true }
  return { maxTokens, config: { type: 'enabled', budget_tokens: budget, ...display } }
}

/** Any summary is a wish to see the thinking, unless the client's protocol says that itself (decisions.md 78). */
function writeDisplay({ isVisible, summary, generateSummary }: Reasoning): JsonObject {
  const wish = isVisible ?? (summary !== undefined || generateSummary !== undefined ? true : undefined)
  return wish === undefined ? {} : { display: wish ? 'summarized' : 'omitted' }
}

/**
 * False where the service refuses thinking, so that the request goes without: a budget is a bound and not a demand. These are a forced tool, a
 * text of the assistant to be continued, another temperature or `top_p` than its own, and results of a turn whose thinking the conversation
 * has lost. A `top_k` is left out before thinking is (decisions.md 78).
 */
export function mayThink(
  { type }: JsonObject,
  request: {
    tools: WrittenTools
    sampling: NormalizedRequest['sampling']
    isContinued: boolean
    isThoughtMissing: boolean
  }
): boolean {
  if (type === 'disabled') return true
  const choice = request.tools.tool_choice?.type
  if (choice === 'any' || choice === 'tool' || request.isContinued || isSamplingChanged(request.sampling)) return false
  return !(request.isThoughtMissing && type === 'enabled')
}

/** The lowest `top_p` beside thinking. */
const THINKING_TOP_P_MIN = 0.95

function isSamplingChanged({ temperature = 1, topP = 1 }: NormalizedRequest['sampling']): boolean {
  return temperature !== 1 || topP < THINKING_TOP_P_MIN
}
