// Writes `generationConfig`: sampling, output format and thinking (content.md 2.1, 2.2 and 6).

import type { JsonObject, NormalizedRequest, OutputFormat, Reasoning, Sampling } from '../../../normalized/index.ts'
import { NO_REASONING } from '../../shared/declared-effort.ts'
import { refuseJsonWithoutSchema } from '../../shared/json-object-format.ts'
import { thinksByBudget } from './generations.ts'

/** The wire takes this many stop strings; the gateway applies all of them to the response itself. */
const STOPS_MAX = 5

/** The tokens that stand for an effort where a model takes no level: those of Google's own interface for OpenAI clients. */
const budgetOfEffort: Readonly<Record<string, number>> = { minimal: 1024, low: 1024, medium: 8192, high: 24_576 }

/** Writes the members that the request sets; undefined when it sets none. Raises `unsupported_response_format` for JSON without a schema. */
export function writeGeneration(
  {
    sampling,
    output,
    reasoning
  }: Pick<NormalizedRequest, 'sampling' | 'output'> & { reasoning: Reasoning | undefined },
  upstreamModel: string | undefined
): JsonObject | undefined {
  const config: JsonObject = {}
  writeSampling(sampling, config)
  writeFormat(output, config)
  const thinking = reasoning === undefined ? undefined : writeThinking(reasoning, upstreamModel)
  if (thinking !== undefined) config.thinkingConfig = thinking
  return Object.keys(config).length === 0 ? undefined : config
}

function writeSampling({ stop, ...numbers }: Sampling, config: JsonObject): void {
  // The normalized form has the numbers under the wire's own names.
  Object.assign(config, numbers)
  const stops = stop?.filter(text => text !== '').slice(0, STOPS_MAX)
  if (stops !== undefined && stops.length > 0) config.stopSequences = stops
}

/** A string of a schema comes as JSON text too: the client face decodes it for a client that wants it bare. */
function writeFormat(output: OutputFormat | undefined, config: JsonObject): void {
  switch (output?.type) {
    case undefined:
    case 'text':
      return
    case 'json-object':
      throw refuseJsonWithoutSchema(output.path)
    case 'json-schema':
      config.responseMimeType = 'application/json'
      config.responseJsonSchema = output.schema
  }
}

/** Undefined for a request that sets nothing. The effort `none` is a budget of nothing: absent means thinking (decisions.md 81). */
function writeThinking(reasoning: Reasoning, upstreamModel: string | undefined): JsonObject | undefined {
  const { effort, budgetTokens } = reasoning
  const config: JsonObject = {}
  if (showsThoughts(reasoning)) config.includeThoughts = true
  // A wire with budgets gets the client's own number; the effort that the client face made of it says less.
  if (budgetTokens !== undefined) config.thinkingBudget = budgetTokens
  else if (effort === NO_REASONING) config.thinkingBudget = 0
  else if (effort !== undefined) {
    const budget = thinksByBudget(upstreamModel) ? budgetOfEffort[effort] : undefined
    // Other words go to the provider as they are: it decides about them (decisions.md 37).
    if (budget === undefined) config.thinkingLevel = effort.toUpperCase()
    else config.thinkingBudget = budget
  }
  return Object.keys(config).length === 0 ? undefined : config
}

/** A client that asks for reasoning wants to see it, unless its protocol says that itself. */
function showsThoughts({ isVisible, effort, budgetTokens, summary, generateSummary }: Reasoning): boolean {
  if (effort === NO_REASONING && budgetTokens === undefined) return false
  if (isVisible !== undefined) return isVisible
  return [effort, budgetTokens, summary, generateSummary].some(wish => wish !== undefined)
}
