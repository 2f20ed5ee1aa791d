// Writes a normalized request as a chat completion body: the other direction of `face.ts`, for the debugging routes. Parts that the protocol
// has no place for are left out; nothing is repaired for a provider.

import {
  assertNever,
  type ContentPart,
  type FreeFormTool,
  type FunctionTool,
  flattenToolName,
  type ImagePart,
  type JsonObject,
  type JsonValue,
  type NormalizedMessage,
  type NormalizedRequest,
  type NormalizedTool,
  type OutputFormat,
  type Reasoning,
  type ToolCallPart,
  type ToolChoice,
  type ToolResultPart
} from '../../../normalized/index.ts'
import { keepDefined } from '../../shared/members/field.ts'
import { type StateCarrier, writeDetails, writeExtraContent } from './provider-state.ts'

/** Writes a request with its members in the order of completions.md 2. Never raises an error. */
export function writeCompletionsRequest(request: NormalizedRequest): JsonObject {
  const { model, isStream, wantsStreamUsage, sampling, reasoning, output, parallelToolCalls } = request
  const typed = keepDefined({
    model,
    messages: request.messages.flatMap(writeMessage),
    stream: isStream,
    stream_options: wantsStreamUsage ? { include_usage: true } : undefined,
    ...writeToolUse(request),
    parallel_tool_calls: parallelToolCalls === undefined ? undefined : parallelToolCalls === 'requested',
    response_format: output && writeFormat(output),
    ...(reasoning && writeReasoning(reasoning)),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    max_tokens: sampling.maxOutputTokens,
    stop: sampling.stop,
    seed: sampling.seed,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    user: request.user,
    metadata: request.metadata,
    extra_headers: request.extraHeaders
  })
  return { ...typed, ...withoutNames(request.additionalFields ?? {}, typed) }
}

function withoutNames(fields: JsonObject, taken: object): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(taken, name)))
}

/** Results are messages of their own; what a message has besides them follows. */
function writeMessage(message: NormalizedMessage): JsonObject[] {
  const results = message.content.filter(part => part.type === 'tool-result')
  const rest = message.content.filter(part => part.type !== 'tool-result')
  const written = results.map(part => writeResult(part, message))
  const isOnlyResults = results.length > 0 && rest.length === 0
  return isOnlyResults ? written : [...written, writeSpoken({ ...message, content: rest })]
}

function writeResult(part: ToolResultPart, { sentRole, uploadedFiles }: NormalizedMessage): JsonObject {
  const { callId, name, content } = part
  return keepDefined({
    role: sentRole === 'function' ? sentRole : 'tool',
    tool_call_id: callId ?? part.state?.native?.toolStateId,
    name,
    content: content.length === 0 ? '' : writeContent({ content }),
    attachments: uploadedFiles?.fileIds
  })
}

function writeSpoken(message: NormalizedMessage): JsonObject {
  const { role, sentRole, name, content, state, uploadedFiles } = message
  const calls = content.filter(part => part.type === 'tool-call')
  const reasoning = content.flatMap(part => (part.type === 'reasoning' ? [part.text] : [])).join('')
  const refusals = role === 'assistant' ? content.filter(part => part.type === 'refusal') : []
  const spoken = content.filter(part => !refusals.some(one => one === part))
  const [first] = calls
  const isLegacy = calls.length === 1 && first?.id === null
  return keepDefined({
    role: sentRole ?? (role === 'tool' ? 'user' : role),
    name,
    content: writeContent({ ...message, content: spoken }),
    reasoning_content: reasoning === '' ? undefined : reasoning,
    reasoning_details: writeDetails([...content.map(writeCarrier), { state }]),
    refusal: refusals.length === 0 ? undefined : refusals.map(({ text }) => text).join('\n'),
    tool_calls: calls.length === 0 || isLegacy ? undefined : calls.map(writeCall),
    function_call: isLegacy ? writeFunctionCall(first) : undefined,
    attachments: uploadedFiles?.fileIds
  })
}

function writeCarrier(part: ContentPart): StateCarrier {
  if (part.type === 'reasoning') return { reasoning: part.text, state: part.state }
  return part.type === 'text' ? { state: part.state, owner: 'previous-text' } : { state: undefined }
}

/** One text as text; null or nothing where the client wrote that. */
function writeContent({
  content,
  form
}: Pick<NormalizedMessage, 'content'> & { form?: NormalizedMessage['form'] }): JsonValue | undefined {
  const parts = content.flatMap<JsonObject>(part => writePart(part) ?? [])
  const texts = content.flatMap(part => (part.type === 'text' ? [part.text] : []))
  const isText = texts.length === parts.length && texts.length > 0
  if (isText && (texts.length === 1 || form === 'pieces')) return texts.join('')
  if (parts.length > 0) return parts
  switch (form) {
    case 'absent':
      return undefined
    case 'text':
      return ''
    default:
      return content.length === 0 && form === undefined ? [] : null
  }
}

function writePart(part: ContentPart): JsonObject | undefined {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'refusal':
      return { type: 'refusal', refusal: part.text }
    case 'image':
      return writeImage(part)
    case 'file': {
      const { source, filename } = part
      if (source.kind === 'file-id') return { type: 'file', file: keepDefined({ file_id: source.fileId, filename }) }
      if (source.kind === 'url') return { type: 'file', file: keepDefined({ file_data: source.url, filename }) }
      const { mediaType, base64 } = source
      const format = /^audio\/(.+)$/.exec(mediaType)?.[1]
      if (format !== undefined) return { type: 'input_audio', input_audio: { data: base64, format } }
      return { type: 'file', file: keepDefined({ file_data: `data:${mediaType};base64,${base64}`, filename }) }
    }
    default:
      return undefined
  }
}

/** The protocol names images by address only. */
function writeImage({ source, detail }: ImagePart): JsonObject | undefined {
  if (source.kind === 'file-id') return undefined
  const url = source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.base64}`
  return { type: 'image_url', image_url: keepDefined({ url, detail }) }
}

function writeCall(part: ToolCallPart): JsonObject {
  const extra = writeExtraContent(part.state)
  return keepDefined({
    id: part.id ?? part.state?.native?.toolStateId,
    type: 'function',
    function: writeFunctionCall(part),
    extra_content: extra
  })
}

function writeFunctionCall(part: ToolCallPart): JsonObject {
  return { name: flattenToolName(part), arguments: part.argumentsText ?? JSON.stringify(part.arguments) }
}

function writeToolUse({ tools, toolChoice, usesLegacyFunctions }: NormalizedRequest): JsonObject {
  const written = tools.map(tool => writeTool(tool, usesLegacyFunctions))
  const choice = toolChoice && writeChoice(toolChoice, usesLegacyFunctions)
  const list = written.length === 0 ? undefined : written
  return keepDefined(
    usesLegacyFunctions ? { functions: list, function_call: choice } : { tools: list, tool_choice: choice }
  )
}

function writeTool(tool: NormalizedTool, isLegacy: boolean): JsonValue {
  switch (tool.type) {
    case 'function': {
      if (tool.freeForm !== undefined) return writeCustomTool(tool, tool.freeForm)
      const definition = writeFunction(tool)
      return isLegacy ? definition : { type: 'function', function: definition }
    }
    case 'hosted':
      return { ...tool.config, type: tool.sentType }
    case 'unsupported':
      return tool.definition
    default:
      return assertNever(tool)
  }
}

function writeCustomTool(tool: FunctionTool, { description, grammar }: FreeFormTool): JsonObject {
  const format = grammar && { type: 'grammar', grammar }
  return { type: 'custom', custom: keepDefined({ name: flattenToolName(tool), description, format }) }
}

function writeFunction(tool: FunctionTool): JsonObject {
  const { description, parameters, strict, fewShotExamples, returnParameters } = tool
  return keepDefined({
    name: flattenToolName(tool),
    description,
    parameters,
    strict,
    few_shot_examples: fewShotExamples,
    return_parameters: returnParameters
  })
}

function writeChoice(choice: ToolChoice, isLegacy: boolean): JsonValue {
  switch (choice.type) {
    case 'auto':
    case 'none':
    case 'required':
      return choice.type
    case 'function':
      return isLegacy ? { name: choice.name } : writeChosen(choice.name)
    case 'hosted':
      return { type: choice.kind }
    case 'allowed': {
      const { mode, names, kinds = [] } = choice
      const tools = [...names.map(writeChosen), ...kinds.map(type => ({ type }))]
      return { type: 'allowed_tools', allowed_tools: { mode, tools } }
    }
    default:
      return assertNever(choice)
  }
}

function writeChosen(name: string): JsonObject {
  return { type: 'function', function: { name } }
}

const DEFAULT_FORMAT_NAME = 'response'

function writeFormat(output: OutputFormat): JsonObject {
  if (output.type === 'text') return { type: 'text' }
  if (output.type === 'json-object') return { type: 'json_object' }
  const { name = DEFAULT_FORMAT_NAME, description, schema, strict } = output
  return { type: 'json_schema', json_schema: keepDefined({ name, description, schema, strict }) }
}

/** The effort has a member of its own; the others are extensions. */
function writeReasoning({ effort, summary, generateSummary, context, mode }: Reasoning): JsonObject {
  const others = keepDefined({ summary, generate_summary: generateSummary, context, mode })
  if (Object.keys(others).length === 0) return keepDefined({ reasoning_effort: effort })
  return { reasoning: { ...keepDefined({ effort }), ...others } }
}
