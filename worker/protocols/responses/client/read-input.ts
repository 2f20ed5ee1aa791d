// Reads the conversation: the instructions, then the items of the input in their order (responses.md 3). A tool call is a separate
// item in this protocol; the calls of one turn become one assistant message with the text before them. Messages in the form of chat
// completions are accepted as well.

import {
  type ContentPart,
  type Diagnostics,
  findNewestEntry,
  flattenToolName,
  type GatewayError,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  mergeProviderState,
  type NormalizedMessage,
  type NormalizedTool,
  type ProviderState,
  type ReasoningPart,
  type ToolResultPart,
  unsupportedSemantic
} from '../../../normalized/index.ts'
import { readTools } from '../../shared/completions-family/tool-use.ts'
import {
  readOptionalArray,
  readOptionalObject,
  readOptionalString,
  readString,
  wrongType
} from '../../shared/members/field.ts'
import { readPlainMessage } from '../../shared/plain-message.ts'
import { readStateSignature, returnState } from '../../shared/state-signature.ts'
import { readClientToolCall, readClientToolResult } from './client-tools.ts'
import { COMPACTION_TRIGGER, introduceSummary, isSealedSummary, openSummary, unopened } from './compaction.ts'
import { InputCalls, type ReadCall } from './input-calls.ts'
import {
  CHAT_RESULT_ID_MEMBERS,
  CUSTOM_CALL,
  CUSTOM_RESULT,
  findText,
  readCall,
  readChatCall,
  readItemCallId,
  readLegacyCall,
  readResult
} from './read-calls.ts'
import { readContent } from './read-content.ts'
import type { ResponsesRequest } from './schema.ts'
import { SkippedCalls } from './skipped-calls.ts'

export interface ReadInput {
  messages: NormalizedMessage[]
  /** Types of the items that were skipped, because the upstream has no use for them. */
  skipped: string[]
  /** The last item asks for a summary of the others. */
  wantsSummary?: true
}

/** Reads the tools that items of the input declare. Raises `invalid_request` with the path of the wrong member. */
export function readAdditionalTools({ input }: ResponsesRequest): NormalizedTool[] {
  const tools: NormalizedTool[] = []
  if (!Array.isArray(input) || !input.some(declaresTools)) return tools
  for (const [index, item] of input.entries()) {
    if (!declaresTools(item)) continue
    const path = `input[${index}]`
    for (const tool of readTools(readOptionalArray(item, 'tools', path) ?? [], `${path}.tools`)) tools.push(tool)
  }
  return tools
}

export const ADDITIONAL_TOOLS = 'additional_tools'
function declaresTools(item: JsonValue): item is JsonObject {
  return isJsonObject(item) && item.type === ADDITIONAL_TOOLS
}

/**
 * Reads `instructions` and `input`. Raises `invalid_request` with the path of the missing or wrong member, for a reference to an
 * item, and for an empty input without instructions and without a stored conversation.
 * @param tools the tools of the request: if there is exactly one function, a result without a name belongs to it.
 * @param notes.ignored gets the types of the parts that are left out of earlier turns (decisions.md 75).
 * @param notes.compactionKey opens summaries of conversations.
 */
export function readInput(
  body: ResponsesRequest,
  tools: readonly NormalizedTool[],
  { ignored, compactionKey }: { ignored: Diagnostics; compactionKey?: Uint8Array | undefined }
): ReadInput {
  const messages: NormalizedMessage[] = []
  const instructions = readOptionalString(body, 'instructions')
  if (instructions !== undefined && instructions !== '') messages.push(writeTextMessage('system', instructions))
  const { input } = body
  if (typeof input === 'string') return { messages: [...messages, writeTextMessage('user', input)], skipped: [] }
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array', input ?? undefined)
  const reader = new ItemReader(tools, { ignored, newest: findNewestEntry(input, isOfModel), compactionKey })
  for (const [index, item] of input.entries()) reader.read(item, index)
  const read = messages.concat(reader.finish())
  const continuesConversation = (body.previous_response_id ?? body.conversation ?? undefined) !== undefined
  if (read.length === 0 && !continuesConversation) {
    throw invalidRequest('input', `'input' must hold at least one message.`)
  }
  const { skipped, triggerPath } = reader
  if (triggerPath === undefined) return { messages: read, skipped }
  if (triggerPath !== `input[${input.length - 1}]`) {
    throw invalidRequest(`${triggerPath}.type`, `A '${COMPACTION_TRIGGER}' must be the last item of 'input'.`)
  }
  return { messages: read, skipped, wantsSummary: true }
}

function writeTextMessage(role: 'system' | 'user', text: string): NormalizedMessage {
  return { role, content: [{ type: 'text', text }], form: 'text' }
}

const OWN_ITEMS = /^(?:reasoning|.*_call)$/

/** Whether an item is of a turn of the model. */
function isOfModel(item: JsonValue): boolean {
  if (!isJsonObject(item)) return false
  return item.role === 'assistant' || (typeof item.type === 'string' && OWN_ITEMS.test(item.type))
}

/** Where the newest turn of the user begins, and where the parts that earlier turns lose are noted. */
interface History {
  ignored: Diagnostics
  newest: number
  compactionKey: Uint8Array | undefined
}

class ItemReader {
  readonly skipped: string[] = []
  /** The first item that asks for a summary. */
  triggerPath: string | undefined
  readonly #skippedCalls = new SkippedCalls(this.skipped)
  readonly #messages: NormalizedMessage[] = []
  readonly #onlyFunction: string | undefined
  readonly #history: History
  #openedCalls: InputCalls | undefined
  /** Reasoning whose turn goes on with the next item. */
  #reasoning: ReasoningPart[] = []
  /** State for a call that the next item holds. */
  #callState: ProviderState | undefined

  constructor(tools: readonly NormalizedTool[], history: History) {
    this.#history = history
    const functions = tools.filter(tool => tool.type === 'function')
    const [only] = functions
    this.#onlyFunction = only !== undefined && functions.length === 1 ? flattenToolName(only) : undefined
  }

  /** Created for the first call: most conversations have none. */
  get #calls(): InputCalls {
    this.#openedCalls ??= new InputCalls()
    return this.#openedCalls
  }

  read(item: JsonValue, index: number): void {
    const plain = readPlainMessage(item)
    if (plain !== undefined) this.#addMessage(plain)
    else this.#readItem(item, `input[${index}]`, index >= this.#history.newest)
  }

  /**
   * The messages of all items. A cut call without a result is left out, because the client never
   * ran it; with a result it stays, with the text that
   * it has (decisions.md 51 and 113).
   */
  finish(): NormalizedMessage[] {
    this.#settleReasoning()
    const cut: ReadonlySet<ContentPart> | undefined = this.#openedCalls?.listCut()
    if (cut === undefined || cut.size === 0) return this.#messages
    for (let count = 0; count < cut.size; count++) this.skipped.push('function_call')
    return this.#messages.flatMap(message => {
      const content = message.content.filter(part => !cut.has(part))
      const isEmptied = content.length === 0 && message.content.length > 0
      return isEmptied ? [] : [{ ...message, content }]
    })
  }

  #readItem(item: JsonValue, path: string, isNewest: boolean): void {
    if (!isJsonObject(item)) throw wrongType(path, 'an object', item)
    const type = readOptionalString(item, 'type', path)
    switch (type) {
      case 'function_call':
      case CUSTOM_CALL:
        this.#skippedCalls.addFunction(readItemCallId(item))
        this.#addCall(readCall(item, path))
        return
      case 'function_call_output':
      case CUSTOM_RESULT:
        if (this.#skippedCalls.skipsResult(findText(item, ['call_id']), type)) return
        this.#addResult(readResult(item, item.output, { path, ignored: this.#history.ignored }))
        return
      case ADDITIONAL_TOOLS:
        return
      case 'local_shell_call':
      case 'shell_call':
      case 'apply_patch_call':
        this.#skippedCalls.addFunction(readItemCallId(item))
        this.#addCall(readClientToolCall(item, type))
        return
      case 'local_shell_call_output':
      case 'shell_call_output':
      case 'apply_patch_call_output':
        this.#addResult(readClientToolResult(item, { type, path }))
        return
      case 'reasoning':
        if (this.#readReasoning(item)) return
        break
      case 'item_reference':
        throw unknownItem(item, path)
      case COMPACTION_TRIGGER:
        this.triggerPath ??= path
        return
      case 'compaction':
      case 'compaction_summary':
        if (isSealedSummary(item.encrypted_content)) {
          this.#addMessage(readSummaryMessage(item.encrypted_content, this.#history.compactionKey, path))
          return
        }
        // Only the service that wrote it can read the conversation in it (decisions.md 69).
        if (typeof item.encrypted_content === 'string') throw unsupportedSemantic(`${path}.type`)
    }
    if (isMessage(item, type)) this.#readMessage(item, path, isNewest)
    else if (type === undefined) throw unknownItem(item, path)
    // The upstream cannot read reasoning, hosted tool runs and items of other services.
    else {
      this.skipped.push(type)
      const callId = findText(item, ['call_id'])
      if (callId !== null && type.endsWith('_call')) this.#skippedCalls.addSkipped(callId)
    }
  }

  #readMessage(item: JsonObject, path: string, isNewest: boolean): void {
    const { ignored } = this.#history
    const inPrompt = isNewest ? undefined : ignored
    const role = readString(item, 'role', path)
    switch (role) {
      case 'tool':
      case 'function':
        if (this.#skippedCalls.skipsResult(findText(item, CHAT_RESULT_ID_MEMBERS))) return
        this.#addResult(readResult(item, item.content, { path, ignored }))
        return
      case 'assistant': {
        this.#addMessage({ role, ...readContent(item.content, `${path}.content`, ignored) })
        this.#readChatCalls(item, path)
        return
      }
      case 'system':
      case 'developer':
      case 'user':
        this.#addMessage({ role, ...readContent(item.content, `${path}.content`, inPrompt) })
        return
      default:
        this.#addMessage({ role: 'user', sentRole: role, ...readContent(item.content, `${path}.content`, inPrompt) })
    }
  }

  /** Reads the calls of an assistant message in the form of chat completions, the old form only where the new one is absent. */
  #readChatCalls(item: JsonObject, path: string): void {
    const calls = readOptionalArray(item, 'tool_calls', path) ?? []
    for (const [index, call] of calls.entries()) {
      const read = readChatCall(call, `${path}.tool_calls[${index}]`)
      this.#skippedCalls.addFunction(read.part.id)
      this.#addCall(read)
    }
    const legacy = calls.length === 0 ? readOptionalObject(item, 'function_call', path) : undefined
    if (legacy !== undefined) this.#addCall(readLegacyCall(legacy, item, `${path}.function_call`))
  }

  #addCall(call: ReadCall): void {
    this.#calls.add(call)
    if (this.#callState !== undefined) call.part.state = mergeProviderState(call.part.state, this.#callState)
    const parts = [...this.#takeReasoning(), call.part]
    const last = this.#messages.at(-1)
    if (last?.role !== 'assistant') this.#messages.push({ role: 'assistant', content: parts })
    else for (const part of parts) last.content.push(part)
  }

  #addMessage(message: NormalizedMessage): void {
    if (message.role === 'assistant') {
      const reasoning = this.#takeReasoning()
      if (reasoning.length > 0) message.content = [...reasoning, ...message.content]
    } else this.#settleReasoning()
    this.#messages.push(message)
  }

  /** Reads an item that carries state; false for any other, whose summary no provider needs back. */
  #readReasoning(item: JsonObject): boolean {
    const signed = readStateSignature(item.encrypted_content)
    if (signed === undefined) return false
    const { state, owner } = signed
    const last = this.#messages.at(-1)
    if (owner === undefined) this.#reasoning.push({ type: 'reasoning', text: readSummary(item.summary), state })
    else if (owner === 'next-call') this.#callState = state
    else if (last?.role === 'assistant') returnState(last.content, signed)
    return true
  }

  #takeReasoning(): readonly ReasoningPart[] {
    this.#callState = undefined
    const reasoning = this.#reasoning
    if (reasoning.length > 0) this.#reasoning = []
    return reasoning
  }

  /** Reasoning at the end of a turn belongs to the items before it. */
  #settleReasoning(): void {
    const reasoning = this.#takeReasoning()
    if (reasoning.length === 0) return
    const last = this.#messages.at(-1)
    if (last?.role === 'assistant') for (const part of reasoning) last.content.push(part)
  }

  #addResult(result: ToolResultPart): void {
    // A client with a stored conversation sends only the result, and an id that the gateway did not issue holds no function name.
    const isAlone = !this.#calls.has(result.callId) && !this.#calls.hasOpen
    if (result.name === undefined && isAlone && this.#onlyFunction !== undefined) result.name = this.#onlyFunction
    this.#calls.answer(result)
    this.#addMessage({ role: 'tool', content: [result] })
  }
}

/**
 * Raises `invalid_request` for a summary that cannot be opened.
 * @param key absent where a request is only looked at and sent nowhere.
 */
function readSummaryMessage(sealed: string, key: Uint8Array | undefined, path: string): NormalizedMessage {
  const summary = key === undefined ? '' : openSummary(sealed, key)
  if (summary !== undefined) return writeTextMessage('user', introduceSummary(summary))
  throw unopened(path)
}

function readSummary(summary: JsonValue | undefined): string {
  if (!Array.isArray(summary)) return ''
  const texts = summary.map(part => (isJsonObject(part) && typeof part.text === 'string' ? part.text : ''))
  return texts.join('')
}

/** A longer id is cut in the error. */
const SHOWN_ID_CHARACTERS_MAX = 128

/**
 * The error for a reference to an item: skipping it would silently remove a turn of the
 * conversation (decisions.md 53).
 */
function unknownItem(item: JsonObject, path: string): GatewayError {
  const id = readString(item, 'id', path).slice(0, SHOWN_ID_CHARACTERS_MAX)
  return invalidRequest(
    `${path}.id`,
    `Item with id '${id}' not found. Items are not stored; send \`store: false\` and whole items instead of references.`
  )
}

/** An item without a type is a message if it has a role or a content, and otherwise a reference to an item. */
function isMessage(item: JsonObject, type: string | undefined): boolean {
  if (type === 'message') return true
  return type === undefined ? 'role' in item || 'content' in item : 'role' in item && 'content' in item
}
