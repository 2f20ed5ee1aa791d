// Describes for observers what a request asks for. Pure; it runs where the request is translated, because the messages do not come back
// from a thread.

import {
  type ClientProtocol,
  type ContentPart,
  flattenToolName,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaSource,
  type NormalizedMessage,
  type NormalizedRequest,
  type NormalizedTool,
  type ToolChoice
} from '../normalized/index.ts'
import type { ModelRequest, ReadEmbeddings } from '../protocols/client-face.ts'
import type { TokenCountProtocol } from '../protocols/registry.ts'
import type { CallDescription, ChatDescription, DescriptionOptions, EmbeddingsDescription } from './call-description.ts'
import { captureList, captureValue } from './capture.ts'

/** Longest name of a model, a tool or a user, and longest id, in a description. */
const NAME_CHARACTERS_MAX = 256

/** The most tools that a description names; the others are counted. */
const TOOL_NAMES_MAX = 128

/** Describes a chat that was read from a client's body. */
export function describeChat(
  request: NormalizedRequest,
  protocol: ClientProtocol,
  options: DescriptionOptions
): ChatDescription {
  const { messages, tools, conversation, additionalFields } = request
  const { charactersMax } = options
  return {
    type: 'chat',
    protocol,
    requestedModel: shorten(request.model),
    isStream: request.isStream,
    messageCount: messages.length,
    toolCount: tools.length,
    toolNames: tools.slice(0, TOOL_NAMES_MAX).map(tool => nameTool(tool).slice(0, NAME_CHARACTERS_MAX)),
    toolChoice: describeToolChoice(request.toolChoice),
    parameters: describeParameters(request),
    responseFormat: request.output?.type.replace('-', '_'),
    previousResponseId: shorten(conversation?.previousResponseId),
    threadId: shorten(findThread(request)),
    ...(options.messages && { messages: captureList(describeMessages(messages, options), charactersMax) }),
    ...(options.tools && tools.length > 0 && { tools: captureList(describeTools(tools), charactersMax) }),
    ...(options.extensions &&
      additionalFields !== undefined && { extensions: captureValue(additionalFields, charactersMax) })
  }
}

/** Describes a request for embeddings, with its token ids decoded. */
export function describeEmbeddings(
  read: ReadEmbeddings,
  texts: readonly string[],
  { user, options }: { user: JsonValue | undefined; options: DescriptionOptions }
): EmbeddingsDescription {
  return {
    type: 'embeddings',
    requestedModel: shorten(read.requestedModel ?? read.model),
    inputCount: texts.length,
    encodingFormat: read.encoding,
    dimensions: read.dimensions,
    user: typeof user === 'string' ? shorten(user) : undefined,
    ...(options.messages && { messages: captureList(texts, options.charactersMax) })
  }
}

/** Describes a request for a token count. */
export function describeTokenCount(
  { model }: ModelRequest,
  protocol: TokenCountProtocol,
  texts: readonly string[]
): CallDescription {
  return { type: 'token-count', protocol, requestedModel: shorten(model), inputCount: texts.length }
}

function shorten(text: string | undefined): string | undefined {
  return text?.slice(0, NAME_CHARACTERS_MAX)
}

function nameTool(tool: NormalizedTool): string {
  return tool.type === 'function' ? flattenToolName(tool) : tool.sentType
}

/** In the words that the SDKs share. */
function describeToolChoice(choice: ToolChoice | undefined): JsonValue | undefined {
  if (choice === undefined) return undefined
  switch (choice.type) {
    case 'auto':
    case 'none':
    case 'required':
      return choice.type
    case 'function':
      return { type: 'function', name: choice.name.slice(0, NAME_CHARACTERS_MAX) }
    case 'hosted':
      return { type: choice.kind }
    case 'allowed': {
      const names = choice.names.slice(0, TOOL_NAMES_MAX).map(name => name.slice(0, NAME_CHARACTERS_MAX))
      return { type: 'allowed_tools', mode: choice.mode, names }
    }
  }
}

/** The generation settings that the client sent. Stop strings are text of the client, so only their number is named. */
function describeParameters({ sampling, reasoning, parallelToolCalls }: NormalizedRequest): JsonObject {
  const parameters: JsonObject = {
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    max_tokens: sampling.maxOutputTokens,
    stop_count: sampling.stop?.length,
    seed: sampling.seed,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    reasoning_effort: shorten(reasoning?.effort),
    parallel_tool_calls: parallelToolCalls === undefined ? undefined : parallelToolCalls === 'requested'
  }
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined))
}

/** The stored conversation that the request continues. An additional field wins over the members of the protocol, as it does upstream. */
function findThread({ additionalFields, conversation }: NormalizedRequest): string | undefined {
  const storage = additionalFields?.storage
  const given = isJsonObject(storage) ? storage.thread_id : undefined
  return typeof given === 'string' && given !== '' ? given : conversation?.storedConversationId
}

function* describeMessages(
  messages: readonly NormalizedMessage[],
  options: DescriptionOptions
): Generator<Record<string, unknown>> {
  for (const { role, sentRole, name, content, form } of messages) {
    const [only] = content
    const isText = form === 'text' && content.length === 1 && only?.type === 'text'
    const described = isText ? only.text : content.map(part => describePart(part, options))
    yield { role: sentRole ?? role, name, content: described }
  }
}

function describePart(part: ContentPart, options: DescriptionOptions): Record<string, unknown> {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return { type: part.type, text: part.text }
    case 'image':
      return { type: 'image', source: describeSource(part.source) }
    case 'file':
      return { type: 'file', filename: part.filename, source: describeSource(part.source) }
    case 'tool-call':
      return {
        type: 'tool_call',
        id: part.id ?? undefined,
        name: flattenToolName(part),
        arguments: options.tools ? (part.argumentsText ?? part.arguments) : undefined
      }
    case 'tool-result': {
      const { callId, name, isError, content } = part
      const described = content.map(item => describePart(item, options))
      return { type: 'tool_result', id: callId ?? undefined, name, is_error: isError, content: described }
    }
  }
}

/** The bytes of a file stand for themselves by their size only (operations.md 8.2). */
function describeSource(source: MediaSource): string {
  switch (source.kind) {
    case 'url':
      return source.url
    case 'file-id':
      return source.fileId
    case 'bytes':
      return `[${source.mediaType};base64 ${Math.floor((source.base64.length * 3) / 4)} bytes]`
  }
}

function* describeTools(tools: readonly NormalizedTool[]): Generator<Record<string, unknown>> {
  for (const tool of tools) {
    switch (tool.type) {
      case 'function': {
        const { description, parameters, strict } = tool
        yield { type: 'function', name: flattenToolName(tool), description, parameters, strict }
        break
      }
      case 'hosted':
        yield { type: tool.sentType, config: tool.config }
        break
      case 'unsupported':
        yield { type: tool.sentType, definition: tool.definition }
        break
    }
  }
}
