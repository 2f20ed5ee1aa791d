// Writes a normalized request as a message body: the other direction of `face.ts`, for the
// debugging routes (operations.md 10.2). Parts that the protocol has no place for are left out.

import {
  assertNever,
  type ContentPart,
  flattenToolName,
  type ImagePart,
  type JsonObject,
  type NormalizedMessage,
  type NormalizedRequest,
  type NormalizedTool,
  type ReasoningPart,
  type ToolChoice,
  type ToolResultPart
} from '../../../normalized/index.ts'
import { joinTexts } from '../../shared/json/joined-text.ts'
import { keepDefined } from '../../shared/members/field.ts'
import { writeStateSignature } from '../../shared/state-signature.ts'
import { WrittenCallIds } from '../../shared/tools/written-call-ids.ts'

/** Writes a request with its members in the order of messages.md 2. Never raises an error. */
export function writeMessagesRequest(request: NormalizedRequest): JsonObject {
  const { model, isStream, messages, sampling, user, metadata } = request
  const ids = new WrittenCallIds()
  const system = messages.filter(isInstruction).map(({ content }) => joinTexts(content))
  const typed = keepDefined({
    model,
    max_tokens: sampling.maxOutputTokens,
    system: system.length === 0 ? undefined : system.join('\n'),
    messages: messages.filter(message => !isInstruction(message)).flatMap(message => writeMessage(message, ids)),
    stream: isStream ? true : undefined,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    stop_sequences: sampling.stop,
    ...writeToolUse(request),
    ...writeThinking(request),
    output_config: writeOutputConfig(request),
    metadata: metadata ?? (user === undefined ? undefined : { user_id: user }),
    extra_headers: request.extraHeaders
  })
  const given = Object.entries(request.additionalFields ?? {}).filter(([name]) => !Object.hasOwn(typed, name))
  return { ...typed, ...Object.fromEntries(given) }
}

function isInstruction({ role }: NormalizedMessage): boolean {
  return role === 'system' || role === 'developer'
}

function writeMessage({ role, content }: NormalizedMessage, ids: WrittenCallIds): JsonObject[] {
  const isAssistant = role === 'assistant'
  const blocks = content.flatMap<JsonObject>(part => writeBlock(part, isAssistant, ids) ?? [])
  return blocks.length === 0 ? [] : [{ role: isAssistant ? 'assistant' : 'user', content: blocks }]
}

function writeBlock(part: ContentPart, isAssistant: boolean, ids: WrittenCallIds): JsonObject | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text }
    case 'image':
      return isAssistant ? undefined : writeImage(part)
    case 'reasoning':
      return isAssistant ? writeThought(part) : undefined
    case 'tool-call':
      if (!isAssistant) return undefined
      return { type: 'tool_use', id: ids.ofCall(part), name: flattenToolName(part), input: part.arguments }
    case 'tool-result':
      return isAssistant ? undefined : writeResult(part, ids)
    case 'file':
      return undefined
    default:
      return assertNever(part)
  }
}

function writeImage({ source }: ImagePart): JsonObject {
  switch (source.kind) {
    case 'bytes':
      return { type: 'image', source: { type: 'base64', media_type: source.mediaType, data: source.base64 } }
    case 'url':
      return { type: 'image', source: { type: 'url', url: source.url } }
    case 'file-id':
      return { type: 'image', source: { type: 'file', file_id: source.fileId } }
    default:
      return assertNever(source)
  }
}

/** A thought without a signature has no place in this protocol. */
function writeThought({ text, state }: ReasoningPart): JsonObject | undefined {
  if (state === undefined) return undefined
  const { redacted, signature = writeStateSignature(state) } = state.messages_compatible ?? {}
  return redacted === undefined
    ? { type: 'thinking', thinking: text, signature }
    : { type: 'redacted_thinking', data: redacted }
}

function writeResult(part: ToolResultPart, ids: WrittenCallIds): JsonObject {
  const { content, isError } = part
  const images = content.flatMap(inner => (inner.type === 'image' ? [writeImage(inner)] : []))
  const text = joinTexts(content)
  const blocks = [...(text === '' ? [] : [{ type: 'text', text }]), ...images]
  return keepDefined({
    type: 'tool_result',
    tool_use_id: ids.ofResult(part),
    content: images.length === 0 ? text : blocks,
    is_error: isError ? true : undefined
  })
}

function writeToolUse({ tools, toolChoice, parallelToolCalls }: NormalizedRequest): JsonObject {
  const written = tools.flatMap<JsonObject>(tool => writeTool(tool) ?? [])
  const parallel = parallelToolCalls && { disable_parallel_tool_use: parallelToolCalls === 'refused' }
  const choice = toolChoice === undefined ? undefined : writeChoice(toolChoice)
  return keepDefined({
    tools: written.length === 0 ? undefined : written,
    tool_choice: choice === undefined && parallel === undefined ? undefined : { type: 'auto', ...choice, ...parallel }
  })
}

function writeTool(tool: NormalizedTool): JsonObject | undefined {
  switch (tool.type) {
    case 'function': {
      const { description, parameters, strict, isDeferred } = tool
      const input = { name: flattenToolName(tool), description, input_schema: parameters, strict }
      return keepDefined({ ...input, defer_loading: isDeferred })
    }
    case 'hosted': {
      const { kind, sentType, config } = tool
      return { type: sentType, name: kind, ...(Object.keys(config).length === 0 ? {} : { [kind]: config }) }
    }
    case 'unsupported':
      return undefined
    default:
      return assertNever(tool)
  }
}

function writeChoice(choice: ToolChoice): JsonObject {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { type: choice.type }
    case 'required':
      return { type: 'any' }
    case 'function':
      return { type: 'tool', name: choice.name }
    case 'hosted':
      return { type: 'tool', name: choice.kind }
    case 'allowed':
      return { type: choice.mode === 'required' ? 'any' : 'auto' }
    default:
      return assertNever(choice)
  }
}

function writeThinking({ reasoning = {} }: NormalizedRequest): JsonObject {
  const { effort, isVisible, budgetTokens = -1 } = reasoning
  if (effort === 'none') return { thinking: { type: 'disabled' } }
  const display = isVisible === false ? { display: 'omitted' } : {}
  if (budgetTokens > 0) return { thinking: { type: 'enabled', budget_tokens: budgetTokens, ...display } }
  return isVisible === undefined ? {} : { thinking: { type: 'adaptive', ...display } }
}

function writeOutputConfig({ output, reasoning }: NormalizedRequest): JsonObject | undefined {
  const isGiven = reasoning?.effort !== 'none' && (reasoning?.budgetTokens ?? -1) < 0
  const effort = isGiven ? reasoning?.effort : undefined
  const isSchema = output?.type === 'json-schema'
  const format = isSchema
    ? keepDefined({ type: 'json_schema', schema: output.schema, name: output.name, strict: output.strict })
    : undefined
  const config = keepDefined({ effort, format })
  return Object.keys(config).length === 0 ? undefined : config
}
