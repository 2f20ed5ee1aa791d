// The client face of the content protocol. Reads a generateContent body into the normalized form and combines this reader with the
// writers of `write-response.ts`, `stream.ts` and `errors.ts`.

import {
  type FieldPaths,
  type GatewayError,
  isJsonObject,
  NORMALIZED_VERSION,
  type NormalizedRequest
} from '../../../normalized/index.ts'
import type { ChatClientFace, ReadContext } from '../../client-face.ts'
import { readExtraHeaders } from '../../shared/extra-headers.ts'
import { SentNumbers } from '../../shared/json/sent-numbers.ts'
import { readOptionalObject } from '../../shared/members/field.ts'
import { sortParameters } from '../../shared/members/parameters.ts'
import { keepSchemaDigits } from '../../shared/tools/tool-schema.ts'
import { contentMembers, contentParameters, generationParameters } from '../members.ts'
import { writeContentError } from './errors.ts'
import { noteParts, spellField } from './note-parts.ts'
import { readConversation } from './read-contents.ts'
import { readGeneration } from './read-generation.ts'
import { readToolUse } from './read-tools.ts'
import type { ContentRequest } from './schema.ts'
import { foldNames, spell } from './spelling.ts'
import { createContentArrayWriter, createContentStreamWriter } from './stream.ts'
import { writeContentResponse } from './write-response.ts'

const fieldPaths: FieldPaths = Object.freeze({
  model: 'model',
  messages: 'contents',
  tools: 'tools',
  toolChoice: 'toolConfig.functionCallingConfig',
  output: 'generationConfig.responseSchema',
  reasoning: 'generationConfig.thinkingConfig',
  metadata: 'labels',
  temperature: 'generationConfig.temperature',
  topP: 'generationConfig.topP',
  topK: 'generationConfig.topK',
  maxOutputTokens: 'generationConfig.maxOutputTokens',
  stop: 'generationConfig.stopSequences',
  seed: 'generationConfig.seed',
  presencePenalty: 'generationConfig.presencePenalty',
  frequencyPenalty: 'generationConfig.frequencyPenalty'
})

const traits = { fieldPaths, carriesFileBytes: true }

export const contentFace: ChatClientFace = {
  traits,
  readRequest: readContentRequest,
  members: contentMembers,
  noteParts,
  spellField,
  writeResponse: writeContentResponse,
  createStreamWriter: createContentStreamWriter,
  writeError: writeContentError
}

/** The same face for a stream that the client requests as a JSON array (`alt=json`). */
export const contentArrayFace: ChatClientFace = { ...contentFace, createStreamWriter: createContentArrayWriter }

/**
 * Reads the parsed body of generateContent or streamGenerateContent (content.md 2 to 4 and 6). Model and operation come from
 * `context.path`. Raises `invalid_request` with the path of the wrong member.
 */
export function readContentRequest(body: ContentRequest, context: ReadContext): NormalizedRequest {
  const parameters = sortParameters(foldNames(body, contentParameters), contentParameters)
  // This protocol sends no body member to the provider under its own name, so unknown members have no effect.
  const { ignored } = parameters
  for (const name of Object.keys(parameters.additional)) ignored[name] = parameters.additional[name]
  readOptionalObject(body, 'extra_body')
  const configMember = spell(body, 'generationConfig')
  const config = readOptionalObject(body, configMember) ?? {}
  const unused = sortParameters(foldNames(config, generationParameters, configMember), generationParameters)
  for (const members of [unused.ignored, unused.additional]) {
    for (const name of Object.keys(members)) ignored[`generationConfig.${name}`] = members[name]
  }
  let refusal: GatewayError | undefined
  function refuse(error: GatewayError): void {
    refusal ??= error
  }
  const numbers = new SentNumbers(body, context.bytes)
  const toolUse = readToolUse(body, ignored)
  keepSchemaDigits(toolUse.tools, numbers)
  const request: NormalizedRequest = {
    version: NORMALIZED_VERSION,
    requestId: context.requestId,
    fieldPaths,
    isStream: context.path?.isStream ?? false,
    wantsStreamUsage: false,
    carriesFileBytes: traits.carriesFileBytes,
    messages: readConversation(body, { numbers, refuse }),
    ...toolUse,
    usesLegacyFunctions: false,
    ...readGeneration(config, configMember),
    ignored
  }
  if (context.path !== undefined) request.model = context.path.model
  if (isJsonObject(body.labels)) request.metadata = body.labels
  const extraHeaders = readExtraHeaders(body)
  if (extraHeaders !== undefined) request.extraHeaders = extraHeaders
  if (refusal !== undefined) request.refusal = refusal
  return request
}
