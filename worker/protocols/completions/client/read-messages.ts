// Reads the conversation as the client sent it: roles, content in all its forms, tool calls and their results (completions.md 4).
// Nothing is merged or renamed here, because each provider face does that for its own wire.

import {
  type ContentPart,
  createToolTurnState,
  type Diagnostics,
  findNewestEntry,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  mergeProviderState,
  type NormalizedMessage,
  type ToolCallPart,
  type ToolResultPart
} from '../../../normalized/index.ts'
import { isCustom, readFreeFormArguments, readNested } from '../../shared/completions-family/free-form-tools.ts'
import { readParts } from '../../shared/completions-family/known-parts.ts'
import { readFileData, readMediaUrl } from '../../shared/media/media-source.ts'
import {
  joinPath,
  keepDefined,
  readObject,
  readOptionalArray,
  readOptionalObject,
  readOptionalString,
  readString,
  wrongType
} from '../../shared/members/field.ts'
import { readPlainMessage } from '../../shared/plain-message.ts'
import { returnState } from '../../shared/state-signature.ts'
import { readToolArguments } from '../../shared/tools/tool-arguments.ts'
import { readResultText } from '../../shared/tools/tool-result.ts'
import { readDetails, readExtraContent } from './provider-state.ts'
import type { CompletionsRequest } from './schema.ts'

/**
 * Reads `messages`. Raises `invalid_request` with the path of the missing or wrong member.
 * @param ignored gets the types of the parts that are left out of earlier turns (decisions.md 75).
 */
export function readMessages(body: CompletionsRequest, ignored: Diagnostics): NormalizedMessage[] {
  const messages = body.messages
  if (!Array.isArray(messages)) throw wrongType('messages', 'an array', messages)
  if (messages.length === 0) throw invalidRequest('messages', `'messages' must hold at least one message.`)
  const newest = findNewestEntry(messages, message => isJsonObject(message) && message.role === 'assistant')
  return messages.map((message, index) => {
    const place = { path: `messages[${index}]`, ignored, isNewest: index >= newest }
    return readPlainMessage(message) ?? readMessage(message, place)
  })
}

interface MessagePlace {
  path: string
  ignored: Diagnostics
  /** The message stands behind the model's last turn. */
  isNewest: boolean
}

function readMessage(message: JsonValue, place: MessagePlace): NormalizedMessage {
  const { path } = place
  if (!isJsonObject(message)) throw wrongType(path, 'an object', message)
  const role = readString(message, 'role', path)
  switch (role) {
    case 'tool':
    case 'function':
      return readToolResult(message, role, place)
    case 'assistant':
      return readAssistantMessage(message, place)
    case 'system':
    case 'developer':
    case 'user':
      return readPromptMessage(message, { role }, place)
    default:
      return readPromptMessage(message, { role: 'user', sentRole: role }, place)
  }
}

/**
 * Adds the files that the client uploaded before: `attachments` holds their ids (decisions.md 64).
 */
function addAttachments(read: NormalizedMessage, message: JsonObject, path: string): NormalizedMessage {
  const ids = readOptionalArray(message, 'attachments', path)
  if (ids === undefined || ids.length === 0) return read
  const at = `${path}.attachments`
  const fileIds = ids.map((id, index) => {
    if (typeof id !== 'string' || id === '') throw wrongType(`${at}[${index}]`, 'the id of a file', id)
    return id
  })
  read.uploadedFiles = { fileIds, path: at }
  return read
}

type MessageHead = Pick<NormalizedMessage, 'role' | 'sentRole'>

function readPromptMessage(message: JsonObject, head: MessageHead, place: MessagePlace): NormalizedMessage {
  const { path, ignored, isNewest } = place
  refuseCalls(message, 'tool_calls', path)
  refuseCalls(message, 'function_call', path)
  const { content, form } = readContent(message, path, isNewest ? undefined : ignored)
  const callAt = content.findIndex(part => part.type === 'tool-call')
  if (callAt >= 0) throw invalidRequest(`${path}.content[${callAt}]`, 'Only an assistant message can hold a call.')
  const read: NormalizedMessage = { role: head.role, content }
  if (form !== undefined) read.form = form
  if (head.sentRole !== undefined) read.sentRole = head.sentRole
  return addName(read, message, path)
}

function refuseCalls(message: JsonObject, member: 'tool_calls' | 'function_call', path: string): void {
  if (!hasCalls(message[member])) return
  throw invalidRequest(joinPath(path, member), `Only an assistant message can have '${member}'.`)
}

function readAssistantMessage(message: JsonObject, { path, ignored }: MessagePlace): NormalizedMessage {
  const { content, form } = readContent(message, path, ignored)
  const read: NormalizedMessage = { role: 'assistant', content }
  if (form !== undefined) read.form = form
  const { state, reasoning: signed, ofText } = readDetails(message.reasoning_details)
  if (state !== undefined) read.state = state
  if (ofText !== undefined) returnState(read.content, ofText)
  const reasoning = message.reasoning_content
  // Signed reasoning repeats the visible text.
  const hasUnsigned = typeof reasoning === 'string' && reasoning !== '' && !signed.some(({ part }) => part.text !== '')
  if (hasUnsigned) read.content.unshift({ type: 'reasoning', text: reasoning })
  const thoughtsBefore = (calls: number) => signed.flatMap(one => (one.callsBefore === calls ? [one.part] : []))
  if (signed.length > 0) read.content = [...thoughtsBefore(0), ...read.content]
  const refusal = readOptionalString(message, 'refusal', path)
  if (refusal !== undefined && refusal !== '') read.content.push({ type: 'refusal', text: refusal })
  const calls = readOptionalArray(message, 'tool_calls', path) ?? []
  for (const [index, call] of calls.entries()) {
    // Thinking that stood between calls stands there again (decisions.md 82).
    if (index > 0 && signed.length > 0) read.content.push(...thoughtsBefore(index))
    read.content.push(readToolCall(call, `${path}.tool_calls[${index}]`))
  }
  const last = Math.max(calls.length, 1)
  for (const { part, callsBefore } of signed) if (callsBefore >= last) read.content.push(part)
  // A message with both forms repeats the same call; the newer form is read, because it has the id.
  const legacy = calls.length === 0 ? readOptionalObject(message, 'function_call', path) : undefined
  if (legacy !== undefined) {
    read.content.push(readLegacyCall(legacy, message, `${path}.function_call`))
  }
  return addName(read, message, path)
}

function readToolResult(
  message: JsonObject,
  role: 'tool' | 'function',
  { path, ignored }: MessagePlace
): NormalizedMessage {
  const { content, form } = readResultText(message.content) ?? readContent(message, path, ignored)
  const result: ToolResultPart = {
    type: 'tool-result',
    callId: readCallId(message),
    content,
    isError: false,
    path: `${path}.tool_call_id`
  }
  const name = readOptionalString(message, 'name', path)
  if (name !== undefined && name !== '') result.name = name
  const toolStateId = readStateId(message)
  if (toolStateId !== null) result.state = createToolTurnState(toolStateId)
  const sentRole = role === 'function' ? role : undefined
  return addAttachments({ role: 'tool', content: [result], ...keepDefined({ sentRole, form }) }, message, path)
}

function addName(read: NormalizedMessage, message: JsonObject, path: string): NormalizedMessage {
  const name = readOptionalString(message, 'name', path)
  if (name !== undefined) read.name = name
  return addAttachments(read, message, path)
}

/** @param ignored given where parts of an unknown type are left out; undefined where they are refused. */
function readContent(
  message: JsonObject,
  path: string,
  ignored: Diagnostics | undefined
): Pick<NormalizedMessage, 'content' | 'form'> {
  const content = message.content
  if (typeof content === 'string') return { content: [{ type: 'text', text: content }], form: 'text' }
  if (content === undefined) return { content: [], form: 'absent' }
  if (content === null) return { content: [], form: 'null' }
  if (!Array.isArray(content)) throw wrongType(`${path}.content`, 'a string or an array', content)
  return { content: readParts(content, { path: `${path}.content`, ignored }, partReader) }
}

const PART_TYPES: ReadonlySet<unknown> = new Set(['text', 'refusal', 'image_url', 'input_audio', 'file'])

function isKnownPart(part: JsonValue): boolean {
  return !isJsonObject(part) || isJsonObject(part.function_call) || PART_TYPES.has(part.type)
}

const partReader = { isKnown: isKnownPart, read: readPart }

function readPart(part: JsonValue, path: string): ContentPart {
  if (!isJsonObject(part)) throw wrongType(path, 'an object', part)
  const call = part.function_call
  if (isJsonObject(call)) return readLegacyCall(call, part, `${path}.function_call`)
  switch (part.type) {
    case 'text':
      return { type: 'text', text: readText(part, 'text', path) }
    case 'refusal':
      return { type: 'refusal', text: readText(part, 'refusal', path) }
    case 'image_url':
      return readImage(part, path)
    case 'input_audio':
      return readAudio(part, path)
    case 'file':
      return readFile(part, path)
    default:
      throw invalidRequest(
        `${path}.type`,
        `'${path}.type' must be one of text, image_url, input_audio, file and refusal.`
      )
  }
}

/** Reads a text that may be empty, because clients send empty parts. */
function readText(part: JsonObject, member: string, path: string): string {
  const text = part[member]
  if (typeof text !== 'string') throw wrongType(joinPath(path, member), 'a string', text)
  return text
}

function readImage(part: JsonObject, path: string): ContentPart {
  // Some clients send the URL itself instead of an object with a `url`.
  if (typeof part.image_url === 'string') {
    return { type: 'image', source: readMediaUrl(readString(part, 'image_url', path)), path }
  }
  const image = readObject(part, 'image_url', path)
  const source = readMediaUrl(readString(image, 'url', `${path}.image_url`))
  const detail = readOptionalString(image, 'detail', `${path}.image_url`)
  return { type: 'image', source, path, ...keepDefined({ detail }) }
}

function readAudio(part: JsonObject, path: string): ContentPart {
  const audio = readObject(part, 'input_audio', path)
  const format = readString(audio, 'format', `${path}.input_audio`)
  const base64 = readString(audio, 'data', `${path}.input_audio`)
  return { type: 'file', source: { kind: 'bytes', mediaType: `audio/${format.toLowerCase()}`, base64 }, path }
}

function readFile(part: JsonObject, path: string): ContentPart {
  const file = readObject(part, 'file', path)
  const filename = readOptionalString(file, 'filename', `${path}.file`)
  const fileId = readOptionalString(file, 'file_id', `${path}.file`)
  const source =
    fileId === undefined || fileId === ''
      ? readFileData(readString(file, 'file_data', `${path}.file`))
      : ({ kind: 'file-id', fileId } as const)
  return { type: 'file', source, path, ...keepDefined({ filename }) }
}

function readToolCall(call: JsonValue, path: string): ToolCallPart {
  if (!isJsonObject(call)) throw wrongType(path, 'an object', call)
  if (isCustom(call)) return withState(readCustomCall(call, path), call)
  const read = readFunctionCall(readObject(call, 'function', path), { id: readCallId(call), path: `${path}.function` })
  return withState(read, call)
}

function withState(read: ToolCallPart, call: JsonObject): ToolCallPart {
  const extra = readExtraContent(call.extra_content)
  const stateId = readStateId(call)
  const state = stateId === null ? extra : mergeProviderState(extra, createToolTurnState(stateId))
  if (state !== undefined) read.state = state
  return read
}

/** The call of a legacy member, whose id is the state id beside it (decisions.md 85). */
function readLegacyCall(call: JsonObject, holder: JsonObject, path: string): ToolCallPart {
  const id = readStateId(holder)
  const read = readFunctionCall(call, { id, path })
  return id === null ? read : { ...read, state: createToolTurnState(id) }
}

/** The call of a custom tool is that of the function that stands for it (decisions.md 77). */
function readCustomCall(call: JsonObject, path: string): ToolCallPart {
  const { definition, path: at } = readNested(call, path)
  const name = readString(definition, 'name', at)
  return { type: 'tool-call', id: readCallId(call), name, ...readFreeFormArguments(definition.input, `${at}.input`) }
}

/** Reads `{name, arguments}`, whose path in the body is `place.path`. */
function readFunctionCall(call: JsonObject, place: { id: string | null; path: string }): ToolCallPart {
  const name = readString(call, 'name', place.path)
  return { type: 'tool-call', id: place.id, name, ...readToolArguments(call.arguments, `${place.path}.arguments`) }
}

function hasCalls(value: JsonValue | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : isJsonObject(value)
}

const STATE_ID_MEMBERS = ['tools_state_id', 'tool_state_id', 'functions_state_id', 'function_state_id']
/** The members in which clients send the id of a call; the first one with a text is used (completions.md 4.5). */
const CALL_ID_MEMBERS = ['tool_call_id', ...STATE_ID_MEMBERS, 'call_id', 'id']

/** Reads the id of a call, or of the call that a result belongs to; null when there is none. */
function readCallId(source: JsonObject): string | null {
  return findText(source, CALL_ID_MEMBERS)
}

/** Reads the id of a legacy call, which is the state id next to it or null: the member `id` there is the id of the message. */
function readStateId(source: JsonObject): string | null {
  return findText(source, STATE_ID_MEMBERS)
}

function findText(source: JsonObject, members: readonly string[]): string | null {
  for (const member of members) {
    const value = source[member]
    if (typeof value === 'string' && value !== '') return value
  }
  return null
}
