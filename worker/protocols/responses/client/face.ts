// The client face of the Responses operation. This file reads a body into the normalized form; `write-response.ts`, `stream.ts` and
// `errors.ts` write the response.

import {
  type Conversation,
  type Diagnostics,
  type FieldPaths,
  isJsonObject,
  NORMALIZED_VERSION,
  type NormalizedRequest,
  type OutputFormat,
  type Sampling
} from '../../../normalized/index.ts'
import type { ChatClientFace, ReadContext } from '../../client-face.ts'
import { readExtraFields, readReasoning, readStop } from '../../shared/completions-family/members.ts'
import { readOutputFormat } from '../../shared/completions-family/output-format.ts'
import { readToolUse } from '../../shared/completions-family/tool-use.ts'
import { readExtraHeaders } from '../../shared/extra-headers.ts'
import { SentNumbers } from '../../shared/json/sent-numbers.ts'
import {
  keepDefined,
  readOptionalBoolean,
  readOptionalNumber,
  readOptionalObject,
  readOptionalPositiveInteger,
  readOptionalString,
  readString,
  wrongType
} from '../../shared/members/field.ts'
import { sortParameters } from '../../shared/members/parameters.ts'
import { readModel } from '../../shared/model.ts'
import { keepSchemaDigits } from '../../shared/tools/tool-schema.ts'
import { responsesMembers, responsesParameters } from '../members.ts'
import { ATTACHMENT_IDS_HEADER, readAttachmentIds } from './attachment-ids.ts'
import { askForSummary } from './compaction.ts'
import { readEcho, writeEchoText } from './echo.ts'
import { refineResponsesError, writeResponsesError } from './errors.ts'
import { assertValid, noteParts, spellField } from './note-parts.ts'
import { readAdditionalTools, readInput } from './read-input.ts'
import type { ResponsesRequest } from './schema.ts'
import { readResponseId } from './stored-conversation.ts'
import { createResponsesStreamWriter } from './stream.ts'
import { passResponsesResponse, writeCompactedResponse, writeResponsesResponse } from './write-response.ts'

const fieldPaths: FieldPaths = Object.freeze({
  model: 'model',
  stream: 'stream',
  messages: 'input',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  output: 'text.format',
  reasoning: 'reasoning',
  attachments: 'attachments',
  uploadedFiles: ATTACHMENT_IDS_HEADER,
  previousResponse: 'previous_response_id',
  conversation: 'conversation',
  store: 'store',
  background: 'background',
  include: 'include',
  user: 'user',
  metadata: 'metadata',
  additionalFields: 'extra_body',
  temperature: 'temperature',
  topP: 'top_p',
  maxOutputTokens: 'max_output_tokens',
  stop: 'stop',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty'
})

const traits = { fieldPaths, carriesFileBytes: true }

export const responsesFace: ChatClientFace = {
  traits,
  readRequest: readResponsesRequest,
  members: responsesMembers,
  assertValid,
  noteParts,
  spellField,
  writeEchoText,
  writeResponse: (response, context) =>
    context.request.compacts === 'object'
      ? writeCompactedResponse(response, context)
      : writeResponsesResponse(response, context),
  passResponse: passResponsesResponse,
  createStreamWriter: createResponsesStreamWriter,
  writeError: writeResponsesError,
  refineError: refineResponsesError
}

/**
 * Reads the parsed body of the Responses operation (responses.md 2, 3 and 6).
 * Raises `GatewayError` with the path of the wrong member: `invalid_request`, `unsupported_parameter`,
 * `unsupported_response_format`, `unsupported_semantic` for a stored prompt, and `invalid_attachment_ids` for the header.
 * Admission checks whether the provider's wire can store or continue a conversation.
 */
export function readResponsesRequest(body: ResponsesRequest, context: ReadContext): NormalizedRequest {
  const parameters = sortParameters(body, responsesParameters)
  const { ignored } = parameters
  const toolUse = readToolUse(body, ignored, readAdditionalTools(body))
  keepSchemaDigits(toolUse.tools, new SentNumbers(body, context.bytes))
  const reasoning = readReasoning(body)
  const { compactionKey } = context
  const { messages, skipped, wantsSummary } = readInput(body, toolUse.tools, { ignored, compactionKey })
  if (skipped.length > 0) ignored.input = skipped
  const request: NormalizedRequest = {
    version: NORMALIZED_VERSION,
    requestId: context.requestId,
    fieldPaths,
    isStream: readOptionalBoolean(body, 'stream') ?? false,
    // The last event of every stream has the usage, so no separate event is needed.
    wantsStreamUsage: false,
    carriesFileBytes: traits.carriesFileBytes,
    messages,
    ...toolUse,
    sampling: readSampling(body),
    ignored,
    ...keepDefined({
      model: readModel(body),
      output: readOutput(body, ignored),
      reasoning,
      conversation: readConversation(body, context, ignored),
      additionalFields: readExtraFields(body, parameters, reasoning),
      uploadedFileIds: readAttachmentIds(context.attachmentIds),
      extraHeaders: readExtraHeaders(body),
      user: typeof body.user === 'string' ? body.user : undefined,
      metadata: isJsonObject(body.metadata) ? body.metadata : undefined
    })
  }
  if (context.turn !== undefined) request.turn = context.turn
  request.echo = readEcho(body, request)
  if (wantsSummary === true) {
    request.compacts = context.isCompactOperation === true ? 'object' : 'response'
    askForSummary(request)
  }
  return request
}

function readSampling(body: ResponsesRequest): Sampling {
  return keepDefined({
    temperature: readOptionalNumber(body, 'temperature'),
    topP: readOptionalNumber(body, 'top_p'),
    maxOutputTokens: readTokenLimit(body, 'max_output_tokens') ?? readTokenLimit(body, 'max_tokens'),
    stop: readStop(body),
    // A wrong type is ignored, because not every provider has these parameters.
    seed: keepNumber(body.seed),
    presencePenalty: keepNumber(body.presence_penalty),
    frequencyPenalty: keepNumber(body.frequency_penalty)
  })
}

/** 0 counts as absent, because some clients write it for no limit. */
function readTokenLimit(body: ResponsesRequest, member: 'max_output_tokens' | 'max_tokens'): number | undefined {
  return body[member] === 0 ? undefined : readOptionalPositiveInteger(body, member)
}

function keepNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Reads `text.format`, or else `response_format`, the name of the same parameter in chat completions. */
function readOutput(body: ResponsesRequest, ignored: Diagnostics): OutputFormat | undefined {
  const text = readOptionalObject(body, 'text')
  const format = text === undefined ? undefined : readOptionalObject(text, 'format', 'text')
  const completionsFormat = readOptionalObject(body, 'response_format')
  if (format === undefined) {
    return completionsFormat === undefined
      ? undefined
      : readOutputFormat(completionsFormat, 'response_format', 'nested')
  }
  if (completionsFormat !== undefined) ignored.response_format = completionsFormat
  return readOutputFormat(format, 'text.format', 'flat')
}

function readConversation(
  body: ResponsesRequest,
  { storesByDefault }: ReadContext,
  ignored: Diagnostics
): Conversation | undefined {
  const { background, include, store } = body
  const isStoreSent = typeof store === 'boolean'
  if (store !== null && store !== undefined && !isStoreSent) ignored.store = store
  const previousResponseId = readOptionalString(body, 'previous_response_id')
  const conversationId = readConversationId(body)
  const members = keepDefined({
    previousResponseId,
    storedConversationId: previousResponseId === undefined ? undefined : readResponseId(previousResponseId),
    conversationId,
    store: isStoreSent ? store : undefined,
    storesByDefault: storesByDefault === true && !isStoreSent ? (true as const) : undefined,
    background: typeof background === 'boolean' ? background : undefined,
    include: Array.isArray(include) ? include.filter(name => typeof name === 'string') : undefined
  })
  return Object.keys(members).length === 0 ? undefined : members
}

/** Reads `conversation`, an id or an object with an id. */
function readConversationId(body: ResponsesRequest): string | undefined {
  const conversation = body.conversation ?? undefined
  if (conversation === undefined) return undefined
  if (typeof conversation === 'string') return conversation
  if (isJsonObject(conversation)) return readString(conversation, 'id', 'conversation')
  throw wrongType('conversation', 'a string or an object', conversation)
}
