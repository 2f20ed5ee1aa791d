// Reads the calls of a conversation and their results: items of the protocol, and messages in the form of chat completions
// (responses.md 3).

import {
  createToolTurnState,
  type Diagnostics,
  flattenToolName,
  isGatewayCallId,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  readToolCallId,
  type ToolCallPart,
  type ToolResultPart
} from '../../../normalized/index.ts'
import { isCustom, readFreeFormArguments, readNested } from '../../shared/completions-family/free-form-tools.ts'
import { keepDefined, readObject, readOptionalString, readString, wrongType } from '../../shared/members/field.ts'
import { areBroken, readToolArguments } from '../../shared/tools/tool-arguments.ts'
import { readResultText } from '../../shared/tools/tool-result.ts'
import type { ReadCall } from './input-calls.ts'
import { readContent } from './read-content.ts'

/** The call of a custom tool is that of the function that stands for it (decisions.md 77). */
export const CUSTOM_CALL = 'custom_tool_call'
export const CUSTOM_RESULT = 'custom_tool_call_output'
/** The items of results. */
const RESULTS: ReadonlySet<JsonValue | undefined> = new Set(['function_call_output', CUSTOM_RESULT])

/** The member of chat completions; the others are the upstream's own words for the state id. */
const CALL_ID_MEMBER = 'tool_call_id'
const STATE_ID_MEMBERS = ['tools_state_id', 'tool_state_id', 'functions_state_id', 'function_state_id', CALL_ID_MEMBER]
/** The members of a result in the form of chat completions. */
export const CHAT_RESULT_ID_MEMBERS = ['tool_call_id', ...STATE_ID_MEMBERS, 'call_id']

/** The id of an item's call; null when there is none. */
export function readItemCallId(item: JsonObject): string | null {
  return findText(item, ['call_id', ...STATE_ID_MEMBERS, 'id'])
}

/** Reads the item of a call. */
export function readCall(item: JsonObject, path: string): ReadCall {
  return readFunction(item, path, {
    id: readItemCallId(item),
    toolStateId: findCallStateId(item),
    isIncomplete: item.status === 'incomplete',
    isFreeForm: item.type === CUSTOM_CALL
  })
}

/** Reads an entry of `tool_calls`. */
export function readChatCall(call: JsonValue, path: string): ReadCall {
  if (!isJsonObject(call)) throw wrongType(path, 'an object', call)
  const place = isCustom(call)
    ? readNested(call, path)
    : { definition: readObject(call, 'function', path), path: `${path}.function` }
  return readFunction(place.definition, place.path, {
    id: findText(call, ['id', ...STATE_ID_MEMBERS, 'call_id']),
    toolStateId: findCallStateId(call),
    isFreeForm: isCustom(call)
  })
}

/** Reads the `function_call` of `message`, whose id may stand only on the message. */
export function readLegacyCall(call: JsonObject, message: JsonObject, path: string): ReadCall {
  return readFunction(call, path, {
    id: findText(message, STATE_ID_MEMBERS),
    toolStateId: findStateId(message, STATE_ID_MEMBERS)
  })
}

/** Reads `name`, `namespace` and `arguments` of a call at `path`; the call of a custom tool has an `input`. */
function readFunction(
  source: JsonObject,
  path: string,
  call: { id: string | null; toolStateId: string | undefined; isIncomplete?: boolean; isFreeForm?: boolean }
): ReadCall {
  const name = readString(source, 'name', path)
  const namespace = readOptionalString(source, 'namespace', path)
  const read =
    call.isFreeForm === true
      ? readFreeFormArguments(source.input, `${path}.input`)
      : readToolArguments(source.arguments, `${path}.arguments`)
  const isCut = call.isIncomplete === true || areBroken(read)
  const part: ToolCallPart = { type: 'tool-call', id: call.id, name, ...read, ...keepDefined({ namespace }) }
  if (call.toolStateId !== undefined) part.state = createToolTurnState(call.toolStateId)
  return { part, isCut }
}

/** Reads the result of a call. Without a `call_id` other members are read; without any id the order of the items decides. */
export function readResult(
  item: JsonObject,
  output: JsonValue | undefined,
  { path, ignored }: { path: string; ignored: Diagnostics }
): ToolResultPart {
  const isItem = RESULTS.has(item.type)
  const outputPath = `${path}.${isItem ? 'output' : 'content'}`
  const members = isItem ? ['call_id', ...STATE_ID_MEMBERS] : CHAT_RESULT_ID_MEMBERS
  const result: ToolResultPart = {
    type: 'tool-result',
    callId: findText(item, members),
    content: (readResultText(output) ?? readContent(output, outputPath, ignored)).content,
    isError: false,
    path: `${path}.${isItem ? 'call_id' : 'tool_call_id'}`
  }
  const name = readOptionalString(item, 'name', path)
  if (name !== undefined && name !== '') {
    result.name = flattenToolName({ name, ...keepDefined({ namespace: readOptionalString(item, 'namespace', path) }) })
  }
  const toolStateId = findStateId(item, STATE_ID_MEMBERS)
  if (toolStateId !== undefined) result.state = createToolTurnState(toolStateId)
  return result
}

/** The first of these members that is a text with something in it. */
export function findText(item: JsonObject, members: readonly string[]): string | null {
  for (const member of members) {
    const value = item[member]
    if (typeof value === 'string' && value !== '') return value
  }
  return null
}

/** The upstream's state id of a call: a member that is one, else what an id of the gateway carries (decisions.md 85). */
function findCallStateId(call: JsonObject): string | undefined {
  const given = findStateId(call, STATE_ID_MEMBERS)
  if (given !== undefined) return given
  for (const id of [call.id, call.call_id]) {
    const stateId = typeof id === 'string' ? readToolCallId(id).stateId : undefined
    if (stateId !== undefined) return stateId
  }
  return undefined
}

/** The upstream's state id, from the first member that is one or whose id holds one. */
function findStateId(item: JsonObject, members: readonly string[]): string | undefined {
  for (const member of members) {
    const value = item[member]
    if (typeof value !== 'string' || value === '') continue
    const isNoState = member === CALL_ID_MEMBER || isGatewayCallId(value)
    const stateId = isNoState ? readToolCallId(value).stateId : value
    if (stateId !== undefined) return stateId
  }
  return undefined
}
