// Writes a chat request on the Anthropic Messages wire (messages.md 2, bridge.md 8).

import {
  findFeatureUse,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type NormalizedRequest,
  type OutputFormat,
  type Reasoning
} from '../../../normalized/index.ts'
import type { ChatTarget, WrittenChat } from '../../provider-face.ts'
import { NO_REASONING, readDeclaredEffort } from '../../shared/declared-effort.ts'
import { refuseJsonWithoutSchema } from '../../shared/json-object-format.ts'
import { listMemberPaths } from '../../shared/members/member-paths.ts'
import { cleanToolName, mapToolNames } from '../../shared/tools/tool-names.ts'
import { MESSAGES_HEADERS, MESSAGES_STREAM_HEADERS } from './headers.ts'
import type { MessagesCompatibleOptions } from './options.ts'
import type { MessagesCompatibleReading } from './reading.ts'
import { AUTOMATIC_BUDGET, mayThink, planThinking } from './thinking.ts'
import { createMediaPlacer } from './write-media.ts'
import { writeMessages } from './write-messages.ts'
import { writeTools } from './write-tools.ts'

/**
 * Writes the body of a chat request. Raises `GatewayError` with the client's own field: `invalid_request` for a tool result without a call,
 * an undeclared tool choice and a conversation without content, `unsupported_semantic` for media of the newest turn that the model does not
 * get,
 * `unsupported_response_format` for JSON without a schema.
 */
export function writeChat(
  request: NormalizedRequest,
  { upstreamModel, outputTokensMax, features, isLocal }: ChatTarget,
  { messagesPath }: MessagesCompatibleOptions
): WrittenChat<MessagesCompatibleReading> {
  const { isStream, output, sampling, user } = request
  const { reasoning, leftOut: undeclared } = readDeclaredEffort(request, { features })
  const names = mapToolNames(request, cleanToolName)
  const placer = createMediaPlacer({ features, isLocal })
  const { system, messages, calledNames, droppedToolCalls, ...turn } = writeMessages(request.messages, names, placer)
  if (messages.length === 0) {
    const { messages: path } = request.fieldPaths
    throw invalidRequest(path, `'${path}' holds nothing that can be sent to the model.`)
  }
  const body: JsonObject = {}
  if (upstreamModel !== undefined) body.model = upstreamModel
  const thinking = planThinking(reasoning, { ...sampling, outputTokensMax })
  body.max_tokens = thinking.maxTokens
  if (system !== undefined) body.system = system
  body.messages = messages
  if (isStream) body.stream = true
  const tools = writeTools(request, names, calledNames)
  Object.assign(body, tools)
  const thinks = thinking.config !== undefined && mayThink(thinking.config, { ...turn, tools, sampling })
  if (thinks && thinking.config !== undefined) body.thinking = thinking.config
  const config = writeOutputConfig(output, reasoning)
  if (config !== undefined) body.output_config = config
  const leftOut = [
    ...undeclared,
    ...writeSampling(request, body),
    ...listMemberPaths(request, ['fewShotExamples', 'returnParameters']),
    ...placer.leftOut
  ]
  // A budget that the output limit leaves no room for, and thinking that the service refuses here (decisions.md 73).
  if (thinking.isDropped || (thinking.config !== undefined && !thinks)) leftOut.push(request.fieldPaths.reasoning ?? '')
  const summary = findFeatureUse(request, 'reasoningSummary')
  if (summary !== undefined && (!thinks || thinking.config?.display === undefined)) leftOut.push(summary)
  if (user !== undefined) body.metadata = { user_id: user }
  return {
    method: 'POST',
    path: messagesPath,
    headers: isStream ? MESSAGES_STREAM_HEADERS : MESSAGES_HEADERS,
    body,
    attachments: [],
    reading: {
      toolNames: names.byWireName,
      droppedToolCalls
    },
    ...(leftOut.length > 0 && { leftOut })
  }
}

/** The service's own. */
const DEFAULT_TEMPERATURE = 1

/**
 * Writes the sampling. Returns the client's fields of what the service refuses: a temperature beside `top_p`, which may go where it is the
 * default, and `top_k` beside thinking (decisions.md 78).
 */
function writeSampling({ sampling, fieldPaths }: NormalizedRequest, body: JsonObject): string[] {
  const { temperature, topP, topK, stop } = sampling
  const leftOut: string[] = []
  const isTemperatureRefused = temperature === DEFAULT_TEMPERATURE && topP !== undefined
  if (isTemperatureRefused) leftOut.push(fieldPaths.temperature ?? '')
  else if (temperature !== undefined) body.temperature = temperature
  if (topP !== undefined) body.top_p = topP
  const isTopKRefused = isJsonObject(body.thinking) && body.thinking.type !== 'disabled'
  if (topK !== undefined && isTopKRefused) leftOut.push(fieldPaths.topK ?? '')
  else if (topK !== undefined) body.top_k = topK
  // The service refuses stop strings of white space; the gateway applies all of them to the response itself.
  const stops = stop?.filter(text => text.trim() !== '')
  if (stops !== undefined && stops.length > 0) body.stop_sequences = stops
  return leftOut
}

/**
 * Words of effort are the client's own: the provider decides on them (decisions.md 37). A budget
 * goes as what it is.
 */
function writeOutputConfig(output: OutputFormat | undefined, reasoning: Reasoning = {}): JsonObject | undefined {
  const { effort, budgetTokens = AUTOMATIC_BUDGET } = reasoning
  const config: JsonObject = {}
  if (effort !== undefined && effort !== NO_REASONING && budgetTokens === AUTOMATIC_BUDGET) config.effort = effort
  const format = writeFormat(output)
  if (format !== undefined) config.format = format
  return Object.keys(config).length === 0 ? undefined : config
}

/** Writes the output format, which has no name on this wire and is always strict; undefined for plain text. */
function writeFormat(output: OutputFormat | undefined): JsonObject | undefined {
  switch (output?.type) {
    case undefined:
    case 'text':
      return undefined
    case 'json-object':
      throw refuseJsonWithoutSchema(output.path)
    case 'json-schema':
      return { type: 'json_schema', schema: output.schema }
  }
}
