// Writes a normalized request as a Responses body: the other direction of `face.ts`, for the debugging routes. Parts that the protocol has
// no place for are left out.

import {
  assertNever,
  type ContentPart,
  type FreeFormTool,
  type FunctionTool,
  type JsonObject,
  type JsonValue,
  type MediaSource,
  type NormalizedMessage,
  type NormalizedRequest,
  type NormalizedTool,
  type OutputFormat,
  type ToolChoice
} from '../../../normalized/index.ts'
import { keepDefined } from '../../shared/members/field.ts'
import { WrittenCallIds } from '../../shared/tools/written-call-ids.ts'

/** Writes a request with its members in the order of responses.md 2. Never raises an error. */
export function writeResponsesRequest(request: NormalizedRequest): JsonObject {
  const { model, isStream, messages, sampling, reasoning, output, conversation = {}, parallelToolCalls } = request
  const [first] = messages
  const instructions = first === undefined ? undefined : readInstructions(first)
  const ids = new WrittenCallIds()
  const spoken = instructions === undefined ? messages : messages.slice(1)
  const isGiven = reasoning !== undefined
  const typed = keepDefined({
    model,
    instructions,
    input: spoken.flatMap(message => writeItems(message, ids)),
    stream: isStream,
    ...writeToolUse(request),
    parallel_tool_calls: parallelToolCalls === undefined ? undefined : parallelToolCalls === 'requested',
    text: output && { format: writeFormat(output) },
    reasoning: isGiven
      ? keepDefined({
          effort: reasoning.effort,
          summary: reasoning.summary,
          generate_summary: reasoning.generateSummary,
          context: reasoning.context,
          mode: reasoning.mode
        })
      : undefined,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    max_output_tokens: sampling.maxOutputTokens,
    stop: sampling.stop,
    seed: sampling.seed,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    previous_response_id: conversation.previousResponseId,
    conversation: conversation.conversationId,
    store: conversation.store,
    background: conversation.background,
    include: conversation.include,
    user: request.user,
    metadata: request.metadata,
    extra_headers: request.extraHeaders
  })
  const given = Object.entries(request.additionalFields ?? {}).filter(([name]) => !Object.hasOwn(typed, name))
  return { ...typed, ...Object.fromEntries(given) }
}

/** The text of a leading system message; undefined for any other message. */
function readInstructions({ role, content, form }: NormalizedMessage): string | undefined {
  const [only] = content
  return role === 'system' && form === 'text' && only?.type === 'text' && content.length === 1 ? only.text : undefined
}

/** A message, and an item of its own for every call and result. */
function writeItems(message: NormalizedMessage, ids: WrittenCallIds): JsonObject[] {
  const { role, sentRole, content, form } = message
  const isAssistant = role === 'assistant'
  const parts: JsonObject[] = []
  const items: JsonObject[] = []
  const results: JsonObject[] = []
  for (const part of content) {
    if (part.type === 'tool-call') {
      const { name, namespace, argumentsText = JSON.stringify(part.arguments) } = part
      const call = { type: 'function_call', call_id: ids.ofCall(part), name, namespace, arguments: argumentsText }
      items.push(keepDefined(call))
    } else if (part.type === 'tool-result') {
      const { name } = part
      const output = writeContent(part.content, false, part.content.length === 1)
      results.push(keepDefined({ type: 'function_call_output', call_id: ids.ofResult(part), name, output }))
    } else parts.push(...writePart(part, isAssistant))
  }
  if (parts.length === 0) return [...results, ...items]
  const written = writeContent(content, isAssistant, form === 'text' || form === 'pieces')
  return [...results, { role: sentRole ?? (role === 'tool' ? 'user' : role), content: written }, ...items]
}

function writeContent(content: readonly ContentPart[], isAssistant: boolean, isText: boolean): JsonValue {
  const parts = content.flatMap(part => writePart(part, isAssistant))
  const texts = content.flatMap(part => (part.type === 'text' ? [part.text] : []))
  return isText && texts.length === parts.length ? texts.join('') : parts
}

function writePart(part: ContentPart, isAssistant: boolean): JsonObject[] {
  switch (part.type) {
    case 'text':
      return [{ type: isAssistant ? 'output_text' : 'input_text', text: part.text }]
    case 'refusal':
      return [{ type: 'refusal', refusal: part.text }]
    case 'image': {
      const { detail } = part
      return [
        { type: 'input_image', ...writeSource(part.source, 'image_url', 'image_url'), ...keepDefined({ detail }) }
      ]
    }
    case 'file': {
      const { source, filename } = part
      const format = source.kind === 'bytes' ? /^audio\/(.+)$/.exec(source.mediaType)?.[1] : undefined
      if (source.kind === 'bytes' && format !== undefined) {
        return [{ type: 'input_audio', input_audio: { data: source.base64, format } }]
      }
      return [{ type: 'input_file', ...writeSource(source, 'file_url', 'file_data'), ...keepDefined({ filename }) }]
    }
    default:
      return []
  }
}

function writeSource(source: MediaSource, urlMember: string, dataMember: string): JsonObject {
  switch (source.kind) {
    case 'url':
      return { [urlMember]: source.url }
    case 'bytes':
      return { [dataMember]: `data:${source.mediaType};base64,${source.base64}` }
    case 'file-id':
      return { file_id: source.fileId }
    default:
      return assertNever(source)
  }
}

function writeToolUse({ tools, toolChoice }: NormalizedRequest): JsonObject {
  const written: JsonValue[] = []
  let namespace: { name: string; tools: JsonObject[] } | undefined
  for (const tool of tools) {
    if (tool.type !== 'function' || tool.namespace === undefined) {
      namespace = undefined
      written.push(writeTool(tool))
      continue
    }
    if (namespace?.name !== tool.namespace) {
      namespace = { name: tool.namespace, tools: [] }
      written.push({ type: 'namespace', ...namespace })
    }
    namespace.tools.push(writeFunction(tool))
  }
  return keepDefined({
    tools: written.length === 0 ? undefined : written,
    tool_choice: toolChoice && writeChoice(toolChoice)
  })
}

function writeTool(tool: NormalizedTool): JsonValue {
  switch (tool.type) {
    case 'function':
      return writeFunction(tool)
    case 'hosted':
      return { ...tool.config, type: tool.sentType }
    case 'unsupported':
      return tool.definition
    default:
      return assertNever(tool)
  }
}

function writeFunction(tool: FunctionTool): JsonObject {
  const { name, description, parameters, strict, fewShotExamples, returnParameters, freeForm } = tool
  if (freeForm !== undefined) return writeCustomTool(name, freeForm)
  const extensions = { few_shot_examples: fewShotExamples, return_parameters: returnParameters }
  return keepDefined({ type: 'function', name, description, parameters, strict, ...extensions })
}

function writeCustomTool(name: string, { description, grammar }: FreeFormTool): JsonObject {
  return keepDefined({ type: 'custom', name, description, format: grammar && { type: 'grammar', ...grammar } })
}

function writeChoice(choice: ToolChoice): JsonValue {
  switch (choice.type) {
    case 'auto':
    case 'none':
    case 'required':
      return choice.type
    case 'function':
      return { type: 'function', name: choice.name }
    case 'hosted':
      return { type: choice.kind }
    case 'allowed': {
      const { mode, names, kinds = [] } = choice
      const tools = [...names.map(name => ({ type: 'function', name })), ...kinds.map(type => ({ type }))]
      return { type: 'allowed_tools', mode, tools }
    }
    default:
      return assertNever(choice)
  }
}

const DEFAULT_FORMAT_NAME = 'response'

function writeFormat(output: OutputFormat): JsonObject {
  if (output.type === 'text') return { type: 'text' }
  if (output.type === 'json-object') return { type: 'json_object' }
  const { name = DEFAULT_FORMAT_NAME, description, schema, strict } = output
  return keepDefined({ type: 'json_schema', name, description, schema, strict })
}
