// Members of a body that both operations of the family have in the same form (completions.md 2).

import { invalidRequest, type JsonObject, type Reasoning } from '../../../normalized/index.ts'
import { dropReasoningFields, readAdditionalFields } from '../additional-fields.ts'
import { keepDefined, readOptionalObject, readOptionalString, wrongType } from '../field.ts'
import type { SortedParameters } from '../parameters.ts'

/** More strings than this are refused, as the family's own service does. */
const STOP_STRINGS_MAX = 4

/** The stop strings; empty ones would match everywhere and are left out. */
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

/** `reasoning.effort` wins over `reasoning_effort`; the client's word is kept as it is (decisions 3). */
export function readReasoning(body: JsonObject): Reasoning | undefined {
  if (body.reasoning === undefined && body.reasoning_effort === undefined) return undefined
  const wish = readOptionalObject(body, 'reasoning') ?? {}
  const plainEffort = readOptionalString(body, 'reasoning_effort')
  const reasoning = keepDefined({
    effort: readOptionalString(wish, 'effort', 'reasoning') ?? plainEffort,
    summary: readOptionalString(wish, 'summary', 'reasoning'),
    generateSummary: readOptionalString(wish, 'generate_summary', 'reasoning'),
    context: readOptionalString(wish, 'context', 'reasoning'),
    mode: readOptionalString(wish, 'mode', 'reasoning')
  })
  return Object.keys(reasoning).length === 0 ? undefined : reasoning
}

/** The additional fields of the body; without those that ask for reasoning where the typed effort switches it off. */
export function readExtraFields(
  body: JsonObject,
  parameters: SortedParameters,
  reasoning: Reasoning | undefined
): JsonObject | undefined {
  const fields = readAdditionalFields(body, parameters.additional)
  return fields !== undefined && reasoning?.effort === 'none' ? dropReasoningFields(fields) : fields
}
