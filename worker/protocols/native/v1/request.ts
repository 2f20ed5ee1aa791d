// Writes a request on the v1 wire of the native upstream: string contents, one call per message, functions at the top level.

import { assertNever, type JsonObject, type NormalizedRequest } from '../../../normalized/index.ts'
import type { ChatTarget, WrittenChat } from '../../provider-face.ts'
import { writeArgumentsObject } from '../../shared/tools/tool-arguments.ts'
import { mergeV1Fields } from '../additional-fields.ts'
import { selectEffort, writeResponseFormat, writeSampling } from '../generation.ts'
import type { NativeOptions } from '../options.ts'
import { finishChat, type PreparedRequest, prepareRequest } from '../prepare.ts'
import type { NativeReading } from '../reading.ts'
import type { ToolNameMap } from '../tool-names.ts'
import { writeFunction } from '../tools.ts'
import type { CallTurn } from '../turns.ts'

/**
 * Writes the body of `POST <base>/chat/completions` (upstream.md 3.1).
 * Raises `GatewayError` with the client's own field: `invalid_request` for a tool result without a call and a name or an undeclared
 * tool, `unsupported_semantic` for what v1 cannot express, `unsupported_parameter` for refused additional fields, and
 * `request_entity_too_large` or `unsupported_media_type` for attachments.
 */
export function writeNativeV1Chat(
  request: NormalizedRequest,
  target: ChatTarget,
  options: NativeOptions
): WrittenChat<NativeReading> {
  const prepared = prepareRequest(request, options, { hasHostedTools: false, canRequireAnyTool: false })
  const typed: JsonObject = {}
  if (target.upstreamModel !== undefined) typed.model = target.upstreamModel
  typed.messages = writeMessages(prepared)
  Object.assign(typed, writeTools(request, prepared), writeSampling(request.sampling))
  const format = writeResponseFormat(request.output, options)
  if (format !== undefined) typed.response_format = format
  const effort = selectEffort(request)
  if (effort !== undefined) typed.reasoning_effort = effort
  if (request.isStream) typed.stream = true
  const body = mergeV1Fields(typed, prepared.fields)
  if (options.defaultMaxTokens !== undefined) body.max_tokens ??= options.defaultMaxTokens
  if (options.profanityCheck !== undefined) body.profanity_check ??= options.profanityCheck
  if (options.flags !== undefined) body.flags ??= options.flags
  return finishChat(body, prepared, {
    base: options.v1Base,
    responseFormat: body.response_format,
    buffersToolCalls: false
  })
}

function writeTools(request: NormalizedRequest, prepared: PreparedRequest): JsonObject {
  const { functions, choice } = prepared.tools
  if (functions.length === 0) return {}
  const written: JsonObject = { functions: functions.map(tool => writeFunction(tool, prepared.names)) }
  if (choice?.type === 'function') written.function_call = { name: choice.wireName }
  // Only a client's legacy form sends the word `auto`; the upstream behaves the same without it.
  else if (request.usesLegacyFunctions && request.toolChoice?.type === 'auto') written.function_call = 'auto'
  return written
}

function writeMessages({ turns, names }: PreparedRequest): JsonObject[] {
  const messages: JsonObject[] = []
  for (const { turn, fileIds } of turns) {
    switch (turn.type) {
      case 'text':
        messages.push(withAttachments({ role: turn.role, content: turn.text }, fileIds))
        break
      case 'calls':
        for (const message of writeCalls(turn, fileIds, names)) messages.push(message)
        break
      case 'result':
        messages.push(writeResult(turn.result, names))
        break
      default:
        assertNever(turn)
    }
  }
  return messages
}

/** A v1 message holds one call, so several calls become pairs of a call and its result. State ids are not sent on v1. */
function writeCalls(turn: CallTurn, fileIds: string[], names: ToolNameMap): JsonObject[] {
  const messages: JsonObject[] = []
  for (const { name, part, results } of turn.groups.flatMap(group => group.calls)) {
    const isFirst = messages.length === 0
    const call = { name: names.toWire(name), arguments: writeArgumentsObject(part) }
    const message = { role: 'assistant', content: isFirst ? turn.text : '', function_call: call }
    messages.push(isFirst ? withAttachments(message, fileIds) : message)
    for (const result of results) messages.push(writeResult(result, names))
  }
  return messages
}

function writeResult(result: { name: string; text: string }, names: ToolNameMap): JsonObject {
  return { role: 'function', name: names.toWire(result.name), content: result.text }
}

function withAttachments(message: JsonObject, fileIds: string[]): JsonObject {
  return fileIds.length === 0 ? message : { ...message, attachments: fileIds }
}
