// Reads the conversation: the instructions, then the items of the input in their order (responses.md 3). A tool call is a separate
// item in this protocol; the calls of one turn become one assistant message with the text before them.

import {
  createToolTurnState,
  flattenToolName,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedMessage,
  type NormalizedTool,
  readToolCallId,
  type ToolCallPart,
  type ToolResultPart
} from '../../../normalized/index.ts'
import { keepDefined, readOptionalString, readString, wrongType } from '../../shared/field.ts'
import { readPlainMessage } from '../../shared/plain-message.ts'
import { readToolArguments } from '../../shared/tool-arguments.ts'
import { readResultText } from '../../shared/tool-result.ts'
import { readContent } from './read-content.ts'
import type { ResponsesRequest } from './schema.ts'

export interface ReadInput {
  messages: NormalizedMessage[]
  /** Types of the items that were skipped, because the upstream has no use for them. */
  skipped: string[]
}

/**
 * Reads `instructions` and `input`. Raises `invalid_request` with the path of the missing or wrong member, and for an empty input
 * without instructions and without a stored conversation.
 * @param tools the tools of the request: if there is exactly one function, a result without a name belongs to it.
 */
export function readInput(body: ResponsesRequest, tools: readonly NormalizedTool[]): ReadInput {
  const messages: NormalizedMessage[] = []
  const instructions = readOptionalString(body, 'instructions')
  if (instructions !== undefined && instructions !== '') messages.push(writeTextMessage('system', instructions))
  const { input } = body
  if (typeof input === 'string') return { messages: [...messages, writeTextMessage('user', input)], skipped: [] }
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array', input ?? undefined)
  const reader = new ItemReader(tools)
  for (const [index, item] of input.entries()) reader.read(item, index)
  messages.push(...reader.messages)
  if (messages.length === 0 && (body.previous_response_id ?? undefined) === undefined) {
    throw invalidRequest('input', `'input' must hold at least one message.`)
  }
  return { messages, skipped: reader.skipped }
}

function writeTextMessage(role: 'system' | 'user', text: string): NormalizedMessage {
  return { role, content: [{ type: 'text', text }], form: 'text' }
}

class ItemReader {
  readonly messages: NormalizedMessage[] = []
  readonly skipped: string[] = []
  readonly #onlyFunction: string | undefined
  readonly #callIds = new Set<string>()
  #openCalls = 0

  constructor(tools: readonly NormalizedTool[]) {
    const functions = tools.filter(tool => tool.type === 'function')
    const [only] = functions
    this.#onlyFunction = only !== undefined && functions.length === 1 ? flattenToolName(only) : undefined
  }

  read(item: JsonValue, index: number): void {
    const plain = readPlainMessage(item)
    if (plain !== undefined) this.messages.push(plain)
    else this.#readItem(item, `input[${index}]`)
  }

  #readItem(item: JsonValue, path: string): void {
    if (!isJsonObject(item)) throw wrongType(path, 'an object', item)
    const type = readOptionalString(item, 'type', path)
    switch (type) {
      case 'function_call':
        this.#addCall(readCall(item, path))
        return
      case 'function_call_output':
        this.#addResult(readResult(item, item.output, path))
        return
    }
    if (isMessage(item, type)) this.#readMessage(item, path)
    // The upstream cannot read reasoning, references, hosted tool runs and items of other services.
    else this.skipped.push(type ?? 'item_reference')
  }

  #readMessage(item: JsonObject, path: string): void {
    const role = readString(item, 'role', path)
    switch (role) {
      case 'tool':
      case 'function':
        this.#addResult(readResult(item, item.content, path))
        return
      case 'system':
      case 'developer':
      case 'user':
      case 'assistant':
        this.messages.push({ role, ...readContent(item.content, `${path}.content`) })
        return
      default:
        this.messages.push({ role: 'user', sentRole: role, ...readContent(item.content, `${path}.content`) })
    }
  }

  #addCall(call: ToolCallPart): void {
    this.#openCalls += 1
    if (call.id !== null) this.#callIds.add(call.id)
    const last = this.messages.at(-1)
    if (last?.role === 'assistant') last.content.push(call)
    else this.messages.push({ role: 'assistant', content: [call] })
  }

  #addResult(result: ToolResultPart): void {
    const isOfKnownCall = result.callId !== null && this.#callIds.has(result.callId)
    // A client with a stored conversation sends only the result, and an id that the gateway did not issue holds no function name.
    if (result.name === undefined && !isOfKnownCall && this.#openCalls === 0 && this.#onlyFunction !== undefined) {
      result.name = this.#onlyFunction
    }
    this.#openCalls = Math.max(0, this.#openCalls - 1)
    this.messages.push({ role: 'tool', content: [result] })
  }
}

/** An item without a type is a message if it has a role or a content, and otherwise a reference to an item. */
function isMessage(item: JsonObject, type: string | undefined): boolean {
  if (type === 'message') return true
  return type === undefined ? 'role' in item || 'content' in item : 'role' in item && 'content' in item
}

const STATE_ID_MEMBERS = ['tools_state_id', 'tool_state_id', 'functions_state_id', 'function_state_id', 'tool_call_id']

function readCall(item: JsonObject, path: string): ToolCallPart {
  const call: ToolCallPart = {
    type: 'tool-call',
    id: findText(item, ['call_id', ...STATE_ID_MEMBERS, 'id']),
    name: readString(item, 'name', path),
    ...readToolArguments(item.arguments, `${path}.arguments`),
    ...keepDefined({ namespace: readOptionalString(item, 'namespace', path) })
  }
  const toolStateId = findStateId(item, [...STATE_ID_MEMBERS, 'id', 'call_id'])
  if (toolStateId !== undefined) call.state = createToolTurnState(toolStateId)
  return call
}

/** Reads the result of a call. Without a `call_id` other members are read; without any id the order of the items decides. */
function readResult(item: JsonObject, output: JsonValue | undefined, path: string): ToolResultPart {
  const isItem = item.type === 'function_call_output'
  const outputPath = `${path}.${isItem ? 'output' : 'content'}`
  const members = isItem ? ['call_id', ...STATE_ID_MEMBERS] : ['tool_call_id', ...STATE_ID_MEMBERS, 'call_id']
  const result: ToolResultPart = {
    type: 'tool-result',
    callId: findText(item, members),
    content: (readResultText(output) ?? readContent(output, outputPath)).content,
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

function findText(item: JsonObject, members: readonly string[]): string | null {
  for (const member of members) {
    const value = item[member]
    if (typeof value === 'string' && value !== '') return value
  }
  return null
}

/** The upstream's state id of a call, from the first member whose id holds one. */
function findStateId(item: JsonObject, members: readonly string[]): string | undefined {
  for (const member of members) {
    const value = item[member]
    const stateId = typeof value === 'string' ? readToolCallId(value).stateId : undefined
    if (stateId !== undefined) return stateId
  }
  return undefined
}
