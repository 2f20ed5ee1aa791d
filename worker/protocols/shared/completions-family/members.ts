// Members that have the same form in completions and Responses bodies (completions.md 2).

import { invalidRequest, type JsonObject, type Reasoning } from '../../../normalized/index.ts'
import { dropReasoningFields, readAdditionalFields } from '../members/additional-fields.ts'
import { keepDefined, readOptionalObject, readOptionalString, wrongType } from '../members/field.ts'
import type { SortedParameters } from '../members/parameters.ts'

/** More strings are refused, as the SDK's own service does. */
const STOP_STRINGS_MAX = 4

/** Reads the stop strings; empty ones are left out, because they would match everywhere. */
export function readStop(body: JsonObject): string[] | undefined {
  const sent = body.stop ?? undefined
  if (sent === undefined) return undefined
  const stops = typeof sent === 'string' ? [sent] : sent
  if (!Array.isArray(stops)) throw wrongType('stop', 'a string or an array of strings', stops)
  if (stops.length > STOP_STRINGS_MAX) {
    throw invalidRequest('stop', `'stop' must hold at most ${STOP_STRINGS_MAX} strings.`)
  }
  const texts = stops.map((stop, index) => {
    if (typeof stop !== 'string') throw wrongType(`stop[${index}]`, 'a string', stop)
    return stop
  })
  const kept = texts.filter(text => text !== '')
  return kept.length === 0 ? undefined : kept
}

/**
 * Reads the reasoning members: `reasoning.effort` wins over `reasoning_effort`, and the word stays
 * unchanged (decisions.md 3).
 */
export function readReasoning(body: JsonObject): Reasoning | undefined {
  if (body.reasoning === undefined && body.reasoning_effort === undefined) return undefined
  const sent = readOptionalObject(body, 'reasoning') ?? {}
  const plainEffort = readOptionalString(body, 'reasoning_effort')
  const reasoning = keepDefined({
    effort: readOptionalString(sent, 'effort', 'reasoning') ?? plainEffort,
    summary: readOptionalString(sent, 'summary', 'reasoning'),
    generateSummary: readOptionalString(sent, 'generate_summary', 'reasoning'),
    context: readOptionalString(sent, 'context', 'reasoning'),
    mode: readOptionalString(sent, 'mode', 'reasoning')
  })
  return Object.keys(reasoning).length === 0 ? undefined : reasoning
}

/** Reads the additional fields, without reasoning fields when the typed effort switches reasoning off. */
export function readExtraFields(
  body: JsonObject,
  parameters: SortedParameters,
  reasoning: Reasoning | undefined
): JsonObject | undefined {
  const fields = readAdditionalFields(body, parameters.additional)
  return fields !== undefined && reasoning?.effort === 'none' ? dropReasoningFields(fields) : fields
}
