// The client face of the completions family: this file reads a chat body into the normalized form; `write-response.ts`, `stream.ts`
// and `errors.ts` write what the client gets back.

import { OUTPUT_LIMIT_FIELDS, type OutputLimitField } from '../../../../shared/profile/profile.ts'
import {
  type FieldPaths,
  isJsonObject,
  NORMALIZED_VERSION,
  type NormalizedRequest,
  type Sampling
} from '../../../normalized/index.ts'
import type { ChatClientFace } from '../../client-face.ts'
import { readExtraFields, readReasoning, readStop } from '../../shared/completions-family/members.ts'
import { readOutputFormat } from '../../shared/completions-family/output-format.ts'
import { readToolUse } from '../../shared/completions-family/tool-use.ts'
import { readExtraHeaders } from '../../shared/extra-headers.ts'
import { SentNumbers } from '../../shared/json/sent-numbers.ts'
import { dropReplayMark } from '../../shared/members/common-parameters.ts'
import {
  readOptionalBoolean,
  readOptionalNumber,
  readOptionalObject,
  readOptionalPositiveInteger
} from '../../shared/members/field.ts'
import { sortParameters } from '../../shared/members/parameters.ts'
import { readModel } from '../../shared/model.ts'
import { keepSchemaDigits } from '../../shared/tools/tool-schema.ts'
import { chatParameters, completionsMembers } from '../members.ts'
import { writeCompletionsError } from './errors.ts'
import { noteParts, spellField } from './note-parts.ts'
import { readMessages } from './read-messages.ts'
import type { CompletionsRequest } from './schema.ts'
import { createCompletionsStreamWriter } from './stream.ts'
import { writeCompletionsResponse } from './write-response.ts'

const fieldPaths: FieldPaths = Object.freeze({
  model: 'model',
  stream: 'stream',
  messages: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  output: 'response_format',
  reasoning: 'reasoning_effort',
  attachments: 'attachments',
  user: 'user',
  metadata: 'metadata',
  additionalFields: 'extra_body',
  temperature: 'temperature',
  topP: 'top_p',
  maxOutputTokens: 'max_tokens',
  stop: 'stop',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty'
})

const traits = { fieldPaths, carriesFileBytes: true }

export const completionsFace: ChatClientFace = {
  traits,
  readRequest: readCompletionsRequest,
  members: completionsMembers,
  noteParts,
  spellField,
  writeResponse: writeCompletionsResponse,
  createStreamWriter: createCompletionsStreamWriter,
  writeError: writeCompletionsError
}

/**
 * Reads the parsed body of a chat completion (completions.md 2 to 5 and 7).
 * Raises `GatewayError` with the path of the invalid member: `invalid_request`, `unsupported_parameter`,
 * `unsupported_response_format`.
 */
export function readCompletionsRequest(
  body: CompletionsRequest,
  context: { requestId: string; bytes?: Uint8Array }
): NormalizedRequest {
  const parameters = sortParameters(body, chatParameters)
  const toolUse = readToolUse(body, parameters.ignored)
  keepSchemaDigits(toolUse.tools, new SentNumbers(body, context.bytes))
  const reasoning = readReasoning(body)
  const format = readOptionalObject(body, 'response_format')
  const request: NormalizedRequest = {
    version: NORMALIZED_VERSION,
    requestId: context.requestId,
    fieldPaths,
    isStream: readOptionalBoolean(body, 'stream') ?? false,
    wantsStreamUsage: readStreamUsage(body),
    carriesFileBytes: traits.carriesFileBytes,
    messages: readMessages(body, parameters.ignored),
    ...toolUse,
    sampling: readSampling(body),
    ignored: parameters.ignored
  }
  const additionalFields = readExtraFields(body, parameters, reasoning)
  if (additionalFields !== undefined) request.additionalFields = additionalFields
  const model = readModel(body)
  if (model !== undefined) request.model = model
  if (format !== undefined) request.output = readOutputFormat(format, 'response_format', 'nested')
  if (reasoning !== undefined) request.reasoning = reasoning
  const extraHeaders = readExtraHeaders(body)
  if (extraHeaders !== undefined) request.extraHeaders = extraHeaders
  if (typeof body.user === 'string') request.user = body.user
  const outputLimit = findOutputLimit(body)
  request.chatWire = outputLimit === undefined ? {} : { outputLimit }
  const metadata = isJsonObject(body.metadata) ? dropReplayMark(body.metadata) : undefined
  if (metadata !== undefined) request.metadata = metadata
  return request
}

function readStreamUsage(body: CompletionsRequest): boolean {
  const options = readOptionalObject(body, 'stream_options')
  return options !== undefined && readOptionalBoolean(options, 'include_usage', 'stream_options') === true
}

/** The name of the output limit that has an effect. */
function findOutputLimit(body: CompletionsRequest): OutputLimitField | undefined {
  const isSet = (name: string) => (body[name] ?? undefined) !== undefined
  if (isSet('max_output_tokens')) return undefined
  return OUTPUT_LIMIT_FIELDS.find(isSet)
}

function readSampling(body: CompletionsRequest): Sampling {
  const maxTokens = readOptionalPositiveInteger(body, 'max_tokens')
  const maxCompletionTokens = readOptionalPositiveInteger(body, 'max_completion_tokens')
  const maxOutputTokens = readOptionalPositiveInteger(body, 'max_output_tokens') ?? maxTokens ?? maxCompletionTokens
  const temperature = readOptionalNumber(body, 'temperature')
  const topP = readOptionalNumber(body, 'top_p')
  const stop = readStop(body)
  const sampling: Sampling = {}
  if (temperature !== undefined) sampling.temperature = temperature
  if (topP !== undefined) sampling.topP = topP
  if (maxOutputTokens !== undefined) sampling.maxOutputTokens = maxOutputTokens
  if (stop !== undefined) sampling.stop = stop
  // Another type than the wire's is no reason to refuse a request: not every provider has these parameters.
  if (typeof body.seed === 'number') sampling.seed = body.seed
  if (typeof body.presence_penalty === 'number') sampling.presencePenalty = body.presence_penalty
  if (typeof body.frequency_penalty === 'number') sampling.frequencyPenalty = body.frequency_penalty
  return sampling
}
