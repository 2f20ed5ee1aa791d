// Writes a request on the v2 wire of the native upstream: contents of parts, options of the model in one object, one entry per
// tool kind, stored conversations.

import {
  assertNever,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest
} from '../../../normalized/index.ts'
import type { ChatTarget, WrittenChat } from '../../provider-face.ts'
import { writeArgumentsObject } from '../../shared/tools/tool-arguments.ts'
import { mergeV2Fields, readStorage } from '../additional-fields.ts'
import { FORCED_TOOL_MODE, isLargestV2Model, PARALLEL_TOOL_CALLS_MEMBER } from '../constants.ts'
import { selectEffort, writeResponseFormat, writeSampling } from '../generation.ts'
import { findGroupStateId } from '../history.ts'
import type { NativeOptions } from '../options.ts'
import { wantsParallelCalls, writeParallelCalls } from '../parallel-calls.ts'
import { finishChat, type PreparedRequest, prepareRequest } from '../prepare.ts'
import type { NativeReading } from '../reading.ts'
import { hasThread, planStorage } from '../stored-conversation.ts'
import type { ToolNameMap } from '../tool-names.ts'
import { type WireToolChoice, writeFunction } from '../tools.ts'
import type { CallTurn } from '../turns.ts'

/**
 * Writes the body of `POST <v2 base>/chat/completions` (upstream.md 4.1 and 4.2).
 * Raises `GatewayError` with the client's own field: `invalid_request` for a tool result without a call and a name, an undeclared
 * tool or a response id without a thread, `unsupported_semantic` for a required call without tools, `unsupported_parameter` for
 * refused additional fields, and `request_entity_too_large` or `unsupported_media_type` for attachments.
 */
export function writeNativeV2Chat(
  request: NormalizedRequest,
  target: ChatTarget,
  options: NativeOptions
): WrittenChat<NativeReading> {
  const prepared = prepareRequest(request, options, { hasHostedTools: true, canRequireAnyTool: true })
  const { storage: givenStorage, ...fields } = prepared.fields
  const storage = planStorage(request, readStorage(givenStorage))
  // A stored thread determines the model; the upstream refuses a request that names one as well.
  const model = hasThread(storage) ? undefined : target.upstreamModel
  const typed: JsonObject = {}
  if (model !== undefined) typed.model = model
  typed.messages = writeMessages(prepared)
  const modelOptions = writeModelOptions(request, options)
  if (Object.keys(modelOptions).length > 0) typed.model_options = modelOptions
  Object.assign(typed, writeTools(prepared))
  if (storage !== undefined) typed.storage = storage
  if (request.isStream) typed.stream = true
  const merged = withDefaults(mergeV2Fields(typed, fields), options)
  const timezone = findTimezone(request)
  // The client's own `user_info` wins.
  if (timezone !== undefined)
    merged.user_info = { timezone, ...(isJsonObject(merged.user_info) ? merged.user_info : {}) }
  if (hasThread(storage)) delete merged.model
  const { parallelToolCalls: policy } = options
  const isParallel = isLargestV2Model(model) && wantsParallelCalls(request, prepared.tools, policy)
  const body = writeParallelCalls(merged, isParallel, policy)
  return finishChat(body, prepared, {
    base: options.v2Base,
    responseFormat: isJsonObject(body.model_options) ? body.model_options.response_format : undefined,
    buffersToolCalls: body[PARALLEL_TOOL_CALLS_MEMBER] === true
  })
}

function writeModelOptions(request: NormalizedRequest, options: NativeOptions): JsonObject {
  const written = writeSampling(request.sampling)
  const format = writeResponseFormat(request.output, options)
  if (format !== undefined) written.response_format = format
  const effort = selectEffort(request)
  if (effort !== undefined) written.reasoning = { effort }
  return written
}

function withDefaults(body: JsonObject, { defaultMaxTokens, profanityCheck, flags }: NativeOptions): JsonObject {
  if (defaultMaxTokens !== undefined) {
    const given = isJsonObject(body.model_options) ? body.model_options : {}
    body.model_options = { max_tokens: defaultMaxTokens, ...given }
  }
  if (profanityCheck !== undefined) body.disable_filter ??= !profanityCheck
  if (flags !== undefined) body.flags ??= flags
  return body
}

function writeTools(prepared: PreparedRequest): JsonObject {
  const { functions, hosted, choice } = prepared.tools
  const tools: JsonObject[] = hosted.map(tool => ({ [tool.kind]: withoutNulls(tool.config) }))
  if (functions.length > 0) {
    tools.push({ functions: { specifications: functions.map(tool => writeFunction(tool, prepared.names)) } })
  }
  if (tools.length === 0) return {}
  return choice === undefined ? { tools } : { tools, tool_config: writeToolChoice(choice) }
}

/**
 * The time zone that a hosted tool of the client names: the upstream has one for the whole request
 * (decisions.md 64).
 */
function findTimezone({ tools }: NormalizedRequest): string | undefined {
  for (const tool of tools) if (tool.type === 'hosted' && tool.timezone !== undefined) return tool.timezone
  return undefined
}

function writeToolChoice(choice: WireToolChoice): JsonObject {
  switch (choice.type) {
    case 'function':
      return { mode: FORCED_TOOL_MODE, function_name: choice.wireName }
    case 'hosted':
      return { mode: FORCED_TOOL_MODE, tool_name: choice.kind }
    case 'any':
      return { mode: FORCED_TOOL_MODE }
    default:
      return assertNever(choice)
  }
}

/** Null means absent on this wire, at every depth: SDKs fill optional members of a configuration with it. */
function withoutNulls(config: JsonObject): JsonObject {
  const kept = Object.entries(config).flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [[name, withoutNestedNulls(value)] as const]
  )
  return Object.fromEntries(kept)
}

function withoutNestedNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.filter(item => item !== null).map(withoutNestedNulls)
  return isJsonObject(value) ? withoutNulls(value) : value
}

function writeMessages({ turns, names }: PreparedRequest): JsonObject[] {
  const messages: JsonObject[] = []
  for (const { turn, fileIds } of turns) {
    switch (turn.type) {
      case 'text':
        messages.push({ role: turn.role, content: [{ text: turn.text }, ...writeFiles(fileIds)] })
        break
      case 'calls':
        for (const message of writeCalls(turn, fileIds, names)) messages.push(message)
        break
      case 'result':
        messages.push(writeResult(turn.result, turn.result.stateId, names))
        break
      default:
        assertNever(turn)
    }
  }
  return messages
}

/** One message per state id with all its calls, then the results in the order of the calls, each under the same state id. */
function writeCalls(turn: CallTurn, fileIds: string[], names: ToolNameMap): JsonObject[] {
  const messages: JsonObject[] = []
  for (const group of turn.groups) {
    const { calls } = group
    const stateId = findGroupStateId(group)
    const isFirst = messages.length === 0
    const content: JsonObject[] = isFirst && turn.text !== '' ? [{ text: turn.text }] : []
    for (const { name, part } of calls) {
      content.push({ function_call: { name: names.toWire(name), arguments: writeArgumentsObject(part) } })
    }
    const whole = isFirst ? content.concat(writeFiles(fileIds)) : content
    messages.push(withStateId({ role: 'assistant', content: whole }, stateId))
    for (const { results } of calls) {
      for (const result of results) messages.push(writeResult(result, stateId, names))
    }
  }
  return messages
}

function writeResult(
  result: { name: string; object: JsonObject },
  stateId: string | undefined,
  names: ToolNameMap
): JsonObject {
  const content = [{ function_result: { name: names.toWire(result.name), result: result.object } }]
  return withStateId({ role: 'tool', content }, stateId)
}

function withStateId(message: JsonObject, stateId: string | undefined): JsonObject {
  return stateId === undefined ? message : { ...message, tools_state_id: stateId }
}

function writeFiles(fileIds: string[]): JsonObject[] {
  return fileIds.length === 0 ? [] : [{ files: fileIds.map(id => ({ id })) }]
}
