// Writes sampling, output length, reasoning effort and output format. v1 has these members at the top of the body, v2 under
// `model_options`; their values are the same (upstream.md 3.1 and 4.1, completions.md 2 and 7).

import type { JsonObject, NormalizedRequest, OutputFormat, Sampling } from '../../normalized/index.ts'
import { refuseJsonWithoutSchema } from '../shared/json-object-format.ts'
import type { NativeOptions } from './options.ts'

/** The effort word that switches reasoning off. */
const NO_REASONING = 'none'

/** Writes `temperature`, `top_p` and `max_tokens`, those that the client set. */
export function writeSampling(sampling: Sampling): JsonObject {
  const written: JsonObject = {}
  const { temperature, topP, maxOutputTokens } = sampling
  if (temperature !== undefined && temperature > 0) written.temperature = temperature
  // The upstream accepts no temperature of 0; there `top_p` 0 selects the most likely token.
  if (temperature === 0) written.top_p = 0
  else if (topP !== undefined) written.top_p = topP
  if (maxOutputTokens !== undefined) written.max_tokens = maxOutputTokens
  return written
}

/**
 * Writes the upstream's `response_format`; undefined for plain text. The upstream has no JSON mode
 * without a schema: that raises `unsupported_response_format`, unless the operator accepts the
 * schema of any object in its place (decisions.md 55).
 */
export function writeResponseFormat(
  output: OutputFormat | undefined,
  { jsonObjectMode }: Pick<NativeOptions, 'jsonObjectMode'>
): JsonObject | undefined {
  if (output?.type === 'json-object') {
    if (jsonObjectMode === 'any_object') return { type: 'json_schema', schema: { type: 'object' } }
    throw refuseJsonWithoutSchema(output.path)
  }
  if (output?.type !== 'json-schema') return undefined
  const format: JsonObject = { type: 'json_schema', schema: output.schema }
  if (output.strict !== undefined) format.strict = output.strict
  return format
}

/**
 * The effort that the client set; undefined when it set no effort or the effort `none`
 * (decisions.md 3).
 */
export function selectEffort(request: NormalizedRequest): string | undefined {
  const effort = request.reasoning?.effort
  return effort === NO_REASONING ? undefined : effort
}

/** True when the client switched reasoning off: then no additional field may switch it on. */
export function isReasoningOff(request: NormalizedRequest): boolean {
  return request.reasoning?.effort === NO_REASONING
}
