// The completions family as a client sees it: reads a chat body into the normalized form; the answer goes back through
// `write-response.ts`, `stream.ts` and `errors.ts`, which this file puts together as the face of the family.

import {
  invalidRequest,
  isJsonObject,
  NORMALIZED_VERSION,
  type NormalizedRequest,
  type ProviderOptions,
  type Reasoning,
  type Sampling
} from '../../normalized/index.ts'
import type { ChatClientFace } from '../face.ts'
import { dropReasoningFields, readAdditionalFields } from '../shared/additional-fields.ts'
import {
  keepDefined,
  readOptionalBoolean,
  readOptionalNumber,
  readOptionalObject,
  readOptionalPositiveInteger,
  readOptionalString,
  wrongType
} from '../shared/field.ts'
import { type SortedParameters, sortParameters } from '../shared/parameters.ts'
import { writeCompletionsError } from './errors.ts'
import { readMessages } from './read-messages.ts'
import { readOutputFormat } from './read-output.ts'
import { readToolUse } from './read-tools.ts'
import { type CompletionsRequest, chatParameters } from './schema.ts'
import { createCompletionsStreamWriter } from './stream.ts'
import { writeCompletionsResponse } from './write-response.ts'

export const completionsFace: ChatClientFace = {
  readRequest: readCompletionsRequest,
  writeResponse: writeCompletionsResponse,
  createStreamWriter: createCompletionsStreamWriter,
  writeError: writeCompletionsError
}

/**
 * Reads the parsed body of a chat completion (completions.md 2 to 5 and 7).
 * Raises `GatewayError` with the path of the member at fault: `invalid_request`, `unsupported_parameter`,
 * `unsupported_response_format`.
 */
export function readCompletionsRequest(body: CompletionsRequest, context: { requestId: string }): NormalizedRequest {
  const parameters = sortParameters(body, chatParameters)
  const toolUse = readToolUse(body, parameters.ignored)
  const reasoning = readReasoning(body)
  return {
    version: NORMALIZED_VERSION,
    requestId: context.requestId,
    protocol: 'completions',
    isStream: readOptionalBoolean(body, 'stream') ?? false,
    wantsStreamUsage: readStreamUsage(body),
    messages: readMessages(body),
    ...toolUse,
    sampling: readSampling(body),
    providerOptions: readProviderOptions(body, parameters, reasoning),
    ignored: parameters.ignored,
    ...keepDefined({
      model: readModel(body),
      output: readOutputFormat(body),
      reasoning,
      extraHeaders: readOptionalObject(body, 'extra_headers'),
      user: typeof body.user === 'string' ? body.user : undefined,
      metadata: isJsonObject(body.metadata) ? body.metadata : undefined
    })
  }
}

/** The model as the client wrote it; a blank one counts as absent. */
function readModel(body: CompletionsRequest): string | undefined {
  const model = readOptionalString(body, 'model')
  return model?.trim() === '' ? undefined : model
}

function readStreamUsage(body: CompletionsRequest): boolean {
  const options = readOptionalObject(body, 'stream_options')
  return options !== undefined && readOptionalBoolean(options, 'include_usage', 'stream_options') === true
}

function readSampling(body: CompletionsRequest): Sampling {
  const maxTokens = readOptionalPositiveInteger(body, 'max_tokens')
  const maxCompletionTokens = readOptionalPositiveInteger(body, 'max_completion_tokens')
  return keepDefined({
    temperature: readOptionalNumber(body, 'temperature'),
    topP: readOptionalNumber(body, 'top_p'),
    maxOutputTokens: readOptionalPositiveInteger(body, 'max_output_tokens') ?? maxTokens ?? maxCompletionTokens,
    stop: readStop(body),
    // Parameters of other providers' wires: without effect on the native one, so never a reason to refuse a request.
    seed: keepNumber(body.seed),
    presencePenalty: keepNumber(body.presence_penalty),
    frequencyPenalty: keepNumber(body.frequency_penalty)
  })
}

function keepNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** More strings than this are refused, as the family's own service does. */
const STOP_STRINGS_MAX = 4

/** The stop strings; empty ones would match everywhere and are left out. */
function readStop(body: CompletionsRequest): string[] | undefined {
  const sent = body.stop ?? []
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
function readReasoning(body: CompletionsRequest): Reasoning | undefined {
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

function readProviderOptions(
  body: CompletionsRequest,
  parameters: SortedParameters,
  reasoning: Reasoning | undefined
): ProviderOptions {
  const fields = readAdditionalFields(body, parameters.additional)
  if (fields === undefined) return {}
  return { native: { fields: reasoning?.effort === 'none' ? dropReasoningFields(fields) : fields } }
}
