// Writes a chat request on the Responses wire (bridge.md 8.9).

import {
  invalidRequest,
  type JsonObject,
  type NormalizedRequest,
  type OutputFormat,
  type Reasoning
} from '../../../normalized/index.ts'
import type { ChatTarget, WrittenChat } from '../../provider-face.ts'
import { refuseJsonWithoutSchema } from '../../shared/json-object-format.ts'
import { listMemberPaths } from '../../shared/members/member-paths.ts'
import { cleanToolName, mapToolNames } from '../../shared/tools/tool-names.ts'
import { STREAM_HEADERS, WIRE_HEADERS } from '../../shared/wire-headers.ts'
import type { ResponsesCompatibleOptions } from './options.ts'
import type { ResponsesCompatibleReading } from './reading.ts'
import { createMediaPlacer } from './write-content.ts'
import { writeInput } from './write-input.ts'
import { writeTools } from './write-tools.ts'

/** The effort word that switches reasoning off. */
const NO_REASONING = 'none'

/** The lowest output limit that the service accepts. */
const OUTPUT_TOKENS_MIN = 16

const DEFAULT_FORMAT_NAME = 'response'

/** Asks for reasoning in a form that goes back with the next turn, which is the only one of a response that is not stored. */
const ENCRYPTED_REASONING = 'reasoning.encrypted_content'

/**
 * Writes the body of a chat request, with its members in the order of bridge.md 8.9. Raises `GatewayError` with the client's own field:
 * `invalid_request` for a tool result without a call, an undeclared tool choice and a conversation without content, `unsupported_semantic`
 * for media of the newest turn that the model does not get and for hosted tools that the wire does not have, `unsupported_response_format` for
 * JSON without a schema on an alias that does not declare it.
 */
export function writeChat(
  request: NormalizedRequest,
  target: ChatTarget,
  { responsesPath }: ResponsesCompatibleOptions
): WrittenChat<ResponsesCompatibleReading> {
  const { upstreamModel, features } = target
  const { conversation, isStream, metadata, output, sampling, user } = request
  const hasFeature = (name: string) => features?.includes(name) !== false
  const names = mapToolNames(request, cleanToolName)
  const placer = createMediaPlacer(target)
  const { instructions, input, droppedToolCalls } = writeInput(request.messages, names, placer)
  const previousResponseId = conversation?.previousResponseId
  const isContinued = (previousResponseId ?? conversation?.conversationId) !== undefined
  if (input.length === 0 && instructions === undefined && !isContinued) {
    const { messages: path } = request.fieldPaths
    throw invalidRequest(path, `'${path}' holds nothing that can be sent to the model.`)
  }
  const tools = writeTools(request, names)
  const isStored = conversation?.store === true
  const members = listMemberPaths(request, ['fewShotExamples', 'returnParameters'])
  const leftOut = [...tools.leftOut, ...members, ...placer.leftOut]
  const body: JsonObject = {}
  if (upstreamModel !== undefined) body.model = upstreamModel
  if (instructions !== undefined) body.instructions = instructions
  body.input = input
  if (isStream) body.stream = true
  body.store = isStored
  if (previousResponseId !== undefined) body.previous_response_id = previousResponseId
  if (conversation?.conversationId !== undefined) body.conversation = conversation.conversationId
  // Services refuse the member for models that do not reason.
  const reasons = hasFeature('reasoning_effort')
  if (reasons && !isStored) body.include = [ENCRYPTED_REASONING]
  Object.assign(body, tools.members)
  const format = writeFormat(output, hasFeature('json_object_output'))
  if (format !== undefined) body.text = { format }
  const reasoning = reasons ? writeReasoning(request.reasoning) : undefined
  if (reasoning !== undefined) body.reasoning = reasoning
  const { temperature, topP, maxOutputTokens } = sampling
  if (temperature !== undefined) body.temperature = temperature
  if (topP !== undefined) body.top_p = topP
  if (maxOutputTokens !== undefined) {
    body.max_output_tokens = Math.max(maxOutputTokens, OUTPUT_TOKENS_MIN)
    const { maxOutputTokens: path } = request.fieldPaths
    if (maxOutputTokens < OUTPUT_TOKENS_MIN && path !== undefined) leftOut.push(path)
  }
  // The messages protocol names the user within its metadata (bridge.md 8.9).
  if (user !== undefined && metadata?.user_id !== user) body.user = user
  const written: WrittenChat<ResponsesCompatibleReading> = {
    method: 'POST',
    path: responsesPath,
    headers: isStream ? STREAM_HEADERS : WIRE_HEADERS,
    body,
    attachments: [],
    reading: { toolNames: names.byWireName, droppedToolCalls }
  }
  if (leftOut.length > 0) written.leftOut = leftOut
  return written
}

/** Words of effort are the client's own: the provider decides on them (decisions.md 37). Undefined where the client asked for nothing. */
function writeReasoning(reasoning: Reasoning = {}): JsonObject | undefined {
  const { effort, summary = reasoning.generateSummary, isVisible } = reasoning
  const written: JsonObject = {}
  if (effort !== undefined) written.effort = effort
  if (summary !== undefined) written.summary = summary
  else if (showsReasoning({ effort, isVisible })) written.summary = 'auto'
  return Object.keys(written).length === 0 ? undefined : written
}

/** A client that asks for reasoning wants to see it, unless it says that itself (bridge.md 8.9). */
function showsReasoning({
  effort,
  isVisible
}: {
  effort: string | undefined
  isVisible: boolean | undefined
}): boolean {
  if (effort === NO_REASONING) return false
  return isVisible ?? effort !== undefined
}

/** Writes `text.format`, whose name is mandatory on this wire; undefined for plain text. */
function writeFormat(output: OutputFormat | undefined, hasJsonObject: boolean): JsonObject | undefined {
  switch (output?.type) {
    case undefined:
    case 'text':
      return undefined
    case 'json-object':
      if (!hasJsonObject) throw refuseJsonWithoutSchema(output.path)
      return { type: 'json_object' }
    case 'json-schema': {
      const { name = DEFAULT_FORMAT_NAME, description, schema, strict } = output
      const format: JsonObject = { type: 'json_schema', name }
      if (description !== undefined) format.description = description
      format.schema = schema
      if (strict !== undefined) format.strict = strict
      return format
    }
  }
}
