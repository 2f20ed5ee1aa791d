// The client face of the messages protocol. This file reads a message request into the normalized form; `write-response.ts`,
// `stream.ts` and `errors.ts` write the response.

import {
  GatewayError,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  NORMALIZED_VERSION,
  type NormalizedRequest,
  type Reasoning,
  type Sampling
} from '../../../normalized/index.ts'
import type { ChatClientFace, ReadContext } from '../../client-face.ts'
import { readExtraHeaders } from '../../shared/extra-headers.ts'
import { SentNumbers } from '../../shared/json/sent-numbers.ts'
import { dropReasoningFields, readAdditionalFields } from '../../shared/members/additional-fields.ts'
import { dropReplayMark } from '../../shared/members/common-parameters.ts'
import {
  keepDefined,
  readOptionalArray,
  readOptionalBoolean,
  readOptionalNumber,
  readOptionalPositiveInteger,
  wrongType
} from '../../shared/members/field.ts'
import { type SortedParameters, sortParameters } from '../../shared/members/parameters.ts'
import { readModel } from '../../shared/model.ts'
import { keepSchemaDigits } from '../../shared/tools/tool-schema.ts'
import { messagesMembers, messagesParameters } from '../members.ts'
import { refuseCallsWithoutResult } from './calls-without-result.ts'
import { writeMessagesError } from './errors.ts'
import { messagesFieldPaths } from './field-paths.ts'
import { assertValid, noteParts, spellField } from './note-parts.ts'
import { readMessages, readSystem } from './read-messages.ts'
import { readOutputFormat } from './read-output.ts'
import { readReasoning } from './read-reasoning.ts'
import { readToolUse } from './read-tools.ts'
import type { MessagesRequest } from './schema.ts'
import { createMessagesStreamWriter } from './stream.ts'
import { writeMessagesResponse } from './write-response.ts'

const traits = { fieldPaths: messagesFieldPaths, carriesFileBytes: false } as const

export const messagesFace: ChatClientFace = {
  traits,
  readRequest: readMessagesRequest,
  members: messagesMembers,
  assertValid,
  noteParts,
  spellField,
  writeResponse: writeMessagesResponse,
  createStreamWriter: createMessagesStreamWriter,
  writeError: writeMessagesError
}

/**
 * Reads the parsed body of a message request (messages.md 2 to 6).
 * Raises `GatewayError` with the path of the wrong member: `invalid_request`, `unsupported_parameter`,
 * `unsupported_response_format`, `unsupported_semantic`.
 */
export function readMessagesRequest(body: MessagesRequest, context: ReadContext): NormalizedRequest {
  refuseThread(body)
  const parameters = sortParameters(body, messagesParameters)
  const { ignored } = parameters
  const notes = { ignored, numbers: new SentNumbers(body, context.bytes) }
  const messages = readMessages(body, notes)
  if (messages.length === 0) throw invalidRequest('messages', `'messages' must hold at least one message.`)
  refuseCallsWithoutResult(messages)
  const reasoning = readReasoning(body)
  const toolUse = readToolUse(body)
  keepSchemaDigits(toolUse.tools, notes.numbers)
  return {
    version: NORMALIZED_VERSION,
    requestId: context.requestId,
    fieldPaths: messagesFieldPaths,
    isStream: readOptionalBoolean(body, 'stream') ?? false,
    wantsStreamUsage: false,
    carriesFileBytes: traits.carriesFileBytes,
    messages: [...readSystem(body, notes), ...messages],
    ...toolUse,
    sampling: readSampling(body),
    ignored,
    ...keepDefined({
      model: readModel(body),
      output: readOutputFormat(body),
      reasoning,
      additionalFields: readExtraFields(body, parameters, reasoning),
      extraHeaders: readExtraHeaders(body),
      user: readUser(body),
      metadata: isJsonObject(body.metadata) ? dropReplayMark(body.metadata) : undefined
    })
  }
}

/**
 * Refuses a thread with the reason that makes the SDK's tool runner send the whole conversation in later requests. Ignoring the
 * thread would lose the conversation.
 */
function refuseThread({ thread }: MessagesRequest): void {
  if (thread === null || thread === undefined) return
  throw new GatewayError('unsupported_semantic', {
    param: 'thread',
    message: 'Conversations are not stored here: send all messages, without a thread.',
    reason: 'thread_unsupported_request'
  })
}

function readSampling(body: MessagesRequest): Sampling {
  return keepDefined({
    temperature: readOptionalNumber(body, 'temperature'),
    topP: dropUnset(readOptionalNumber(body, 'top_p')),
    // A wrong type is ignored, because not every provider has this parameter.
    topK: dropUnset(typeof body.top_k === 'number' ? body.top_k : undefined),
    maxOutputTokens: readOptionalPositiveInteger(body, 'max_tokens'),
    stop: readStopSequences(body)
  })
}

/** Clients send -1 for a parameter that their caller has not set (decisions.md 56). */
function dropUnset(value: number | undefined): number | undefined {
  return value === -1 ? undefined : value
}

/** Refuses an empty string, because it would match at the start of every response. */
function readStopSequences(body: MessagesRequest): string[] | undefined {
  const sent = readOptionalArray(body, 'stop_sequences')
  if (sent === undefined || sent.length === 0) return undefined
  return sent.map((stop, index) => {
    const path = `stop_sequences[${index}]`
    if (typeof stop !== 'string') throw wrongType(path, 'a string', stop)
    if (stop === '') throw invalidRequest(path, `'${path}' must not be empty.`)
    return stop
  })
}

/** The additional fields of the body, without the reasoning fields when `thinking` disables reasoning. */
function readExtraFields(
  body: MessagesRequest,
  parameters: SortedParameters,
  reasoning: Reasoning | undefined
): JsonObject | undefined {
  const fields = readAdditionalFields(body, parameters.additional)
  return fields !== undefined && reasoning?.effort === 'none' ? dropReasoningFields(fields) : fields
}

/** The messages protocol names the end user only here. */
function readUser({ metadata }: MessagesRequest): string | undefined {
  return isJsonObject(metadata) && typeof metadata.user_id === 'string' ? metadata.user_id : undefined
}
