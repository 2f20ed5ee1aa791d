// Writes the conversation on the chat completions wire (bridge.md 8.1). Strict servers refuse a result that does not follow its call, a
// call without a result and a call of a turn in a message of its own, so calls and results are matched and ordered here.

import {
  type ContentPart,
  findNewestTurn,
  flattenToolName,
  invalidRequest,
  isJsonObject,
  isTextTooDeep,
  isUserTurn,
  type JsonObject,
  type JsonValue,
  type NormalizedMessage,
  type ProviderState,
  type ToolCallPart,
  type ToolResultPart,
  tryParseJson
} from '../../../normalized/index.ts'
import type { MediaPlacer } from '../../shared/media/described-media.ts'
import { CallIndex } from '../../shared/tools/call-index.ts'
import { toShortCallId } from '../../shared/tools/tool-call-ids.ts'
import type { ToolNameMap } from '../../shared/tools/tool-names.ts'
import { PartList, writeText } from './part-list.ts'
import { writeReasoning, writeThinkingParts } from './write-reasoning.ts'

export interface WrittenMessages {
  messages: JsonObject[]
  /**
   * Calls that were left out because later turns follow without their results
   * (field-lessons.md B8).
   */
  droppedToolCalls: number
}

/**
 * Writes all messages. Raises `invalid_request` with the path of a tool result without a call
 * (field-lessons.md B9), and `unsupported_semantic` with the path of media in the newest turn of
 * the user that the model does not get.
 */
export function writeMessages(
  messages: readonly NormalizedMessage[],
  names: ToolNameMap,
  placer: MediaPlacer<JsonObject>
): WrittenMessages {
  const writer = new ConversationWriter(names, placer)
  const newestTurn = findNewestTurn(messages)
  for (const [index, message] of messages.entries()) {
    writer.add(message, index >= newestTurn && isUserTurn(message))
  }
  return writer.finish()
}

interface WireCall {
  wireId: string
  /** The client's name of the function, flattened. */
  name: string
  body: JsonObject
  isAnswered: boolean
}

/** A message of the body; one of the assistant may have calls, and then the results that follow it. */
interface Entry {
  message: JsonObject
  calls: WireCall[]
  results: JsonObject[]
  /** The members for the reasoning, of a message that has nothing else yet. */
  reasoning?: JsonObject
}

const NO_CALLS: WireCall[] = []
const NO_RESULTS: JsonObject[] = []

class ConversationWriter {
  readonly #names: ToolNameMap
  readonly #entries: Entry[] = []
  /** The ids of the calls of the last turn with calls. */
  readonly #turnIds = new Set<string>()
  /** Created for the first call: most conversations have none. */
  #openedCalls: WrittenCalls | undefined
  readonly #placer: MediaPlacer<JsonObject>
  /** Media of results and of the model: their messages have only text on this wire, so they move to the next message of the user. */
  #carried: JsonObject[] = []

  constructor(names: ToolNameMap, placer: MediaPlacer<JsonObject>) {
    this.#names = names
    this.#placer = placer
  }

  get #calls(): WrittenCalls {
    this.#openedCalls ??= new WrittenCalls()
    return this.#openedCalls
  }

  /** @param isNewest the message belongs to the newest turn of the user. */
  add(message: NormalizedMessage, isNewest: boolean): void {
    const { role, content, form } = message
    if (role !== 'assistant') this.#openedCalls?.endTurn()
    const [only] = content
    if (content.length === 1 && only?.type === 'text' && form === 'text' && role !== 'assistant' && role !== 'tool') {
      // Shortcut for a single text, the content of nearly all messages.
      if (role !== 'user' || this.#carried.length === 0) {
        this.#push(withName({ role: mapRole(role), content: only.text }, message))
        return
      }
    }
    const results = content.filter(part => part.type === 'tool-result')
    for (const part of results) this.#addResult(part)
    if (results.length > 0 && results.length === content.length) return
    if (role === 'assistant') this.#addAssistant(message)
    else this.#addPrompt(message, { hasResults: results.length > 0, isNewest })
  }

  finish(): WrittenMessages {
    this.#flushCarried()
    const messages: JsonObject[] = []
    let droppedToolCalls = 0
    for (const [index, entry] of this.#entries.entries()) {
      const { message, calls, results } = entry
      // Results of the last turn may still come; every other call without a result makes the provider refuse the history.
      const isLast = index === this.#entries.length - 1 && results.length === 0
      const kept = isLast ? calls : calls.filter(call => call.isAnswered)
      droppedToolCalls += calls.length - kept.length
      if (kept.length > 0) messages.push({ ...message, tool_calls: kept.map(call => call.body) })
      else if (calls.length === 0 || message.content !== null) messages.push(message)
      for (const result of results) messages.push(result)
    }
    return { messages, droppedToolCalls }
  }

  #push(message: JsonObject): void {
    this.#entries.push({ message, calls: NO_CALLS, results: NO_RESULTS })
  }

  /** Adds what the client put beside the tool results of the message, or a message without results. */
  #addPrompt(message: NormalizedMessage, { hasResults, isNewest }: { hasResults: boolean; isNewest: boolean }): void {
    const role = mapRole(message.role)
    const { written, media } = this.#writeContent(message, isNewest)
    if (role !== 'user') for (const part of media) this.#carried.push(part)
    if (written === undefined && (hasResults || message.form === 'pieces')) return
    if (role !== 'user' || this.#carried.length === 0) {
      this.#push(withName({ role, content: written ?? '' }, message))
      return
    }
    const parts = typeof written === 'string' ? [writeText(written)] : (written ?? [])
    this.#push(withName({ role, content: [...this.#carried, ...parts] }, message))
    this.#carried = []
  }

  #addAssistant(message: NormalizedMessage): void {
    this.#flushCarried()
    const parts = message.content.filter(part => part.type === 'tool-call')
    const { written: plain, media } = this.#writeContent(message, false)
    const content = writeThinkingParts(message, plain) ?? plain
    const hasText = content !== undefined && content !== ''
    const ownState = writeMessageState(message)
    const state = hasText && ownState === undefined ? this.#takeReasoning() : ownState
    for (const part of media) this.#carried.push(part)
    if (parts.length === 0) {
      if (hasText || state !== undefined || message.form === 'text') {
        const isReasoning = !hasText && state !== undefined
        const written = withName({ role: 'assistant', content: content ?? '', ...state }, message)
        this.#entries.push({
          message: written,
          calls: NO_CALLS,
          results: NO_RESULTS,
          ...(isReasoning && { reasoning: state })
        })
      }
      return
    }
    const last = this.#entries.at(-1)
    const isSameTurn =
      !hasText && state === undefined && last?.message.role === 'assistant' && last.results.length === 0
    if (!isSameTurn) this.#turnIds.clear()
    const calls = parts.map(part => this.#writeCall(part))
    // Some protocols send each call as an item of its own: calls without a result between them are one turn.
    if (isSameTurn) {
      if (last.calls === NO_CALLS) last.calls = []
      for (const call of calls) last.calls.push(call)
      if (last.message.content === '') last.message.content = null
      this.#calls.add(calls, parts, last)
      return
    }
    const written = withName({ role: 'assistant', content: hasText ? content : null, ...state }, message)
    const entry: Entry = { message: written, calls, results: [] }
    this.#entries.push(entry)
    this.#calls.add(calls, parts, entry)
  }

  /** Some protocols send the reasoning of a turn as an item of its own, in front of its text: on this wire both are one message. */
  #takeReasoning(): JsonObject | undefined {
    const last = this.#entries.at(-1)
    if (last?.reasoning === undefined || last.calls.length > 0) return undefined
    this.#entries.pop()
    return last.reasoning
  }

  #writeCall(part: ToolCallPart): WireCall {
    const name = flattenToolName(part)
    const wireId = this.#writeId(part.id)
    const body: JsonObject = {
      id: wireId,
      type: 'function',
      function: { name: this.#names.toWire(name), arguments: part.argumentsText ?? JSON.stringify(part.arguments) }
    }
    const extra = parseState(part.state?.chat_compatible?.extraContent)
    if (isJsonObject(extra)) body.extra_content = extra
    this.#calls.size++
    return { wireId, name, body, isAnswered: false }
  }

  /** The id of a call, which no other call of its turn has: its result must be placed. */
  #writeId(id: string | null): string {
    let wireId = id === null || id === '' ? this.#calls.generateId() : toShortCallId(id)
    if (this.#turnIds.has(wireId)) wireId = toShortCallId(`${wireId} ${this.#calls.size}`)
    this.#turnIds.add(wireId)
    return wireId
  }

  #addResult(part: ToolResultPart): void {
    const found = this.#openedCalls?.find(part)
    if (found === undefined) {
      throw invalidRequest(part.path, 'The tool result belongs to no tool call of this request.')
    }
    const { call, entry } = found
    // An agent that resumes may send a result twice; the wire has room for one.
    if (call.isAnswered) return
    call.isAnswered = true
    const result: JsonObject = { role: 'tool', content: this.#writeResult(part), tool_call_id: call.wireId }
    const name = part.name ?? (part.hasErrorFlag === true ? call.name : undefined)
    if (name !== undefined) result.name = this.#names.toWire(name)
    entry.results.push(result)
  }

  /**
   * The text of a result; its media move to the next message of the user. The wire has no mark of
   * errors, so the text says it (decisions.md 76).
   */
  #writeResult({ content, isError }: ToolResultPart): string {
    const texts: string[] = []
    for (const part of content) {
      if (part.type === 'text' || part.type === 'refusal') texts.push(part.text)
      else if (part.type === 'image' || part.type === 'file') {
        const placed = this.#placer.place(part, false)
        if (placed.type === 'text') texts.push(placed.text)
        else this.#carried.push(placed.block)
      }
    }
    const text = texts.join('\n')
    return isError && !text.startsWith(ERROR_MARK) ? `${ERROR_MARK} ${text}`.trimEnd() : text
  }

  /**
   * The content as the client wrote it, text or parts; undefined when nothing of it can be sent. `media` is what a message of another role
   * than the user's cannot hold.
   */
  #writeContent(
    { role, content, form }: NormalizedMessage,
    isNewest: boolean
  ): { written: string | JsonObject[] | undefined; media: JsonObject[] } {
    const writer = new PartList(form === 'pieces')
    const media: JsonObject[] = []
    const isOfUser = role === 'user' || role === 'tool'
    for (const part of content) {
      if (part.type === 'text' || part.type === 'refusal') writer.addText(part.text)
      else if (part.type === 'image' || part.type === 'file') {
        const placed = this.#placer.place(part, isNewest && isOfUser)
        if (placed.type === 'text') writer.addWhole(writeText(placed.text))
        else if (isOfUser) writer.addWhole(placed.block)
        else media.push(placed.block)
      }
    }
    return { written: writer.finish(form), media }
  }

  #flushCarried(): void {
    if (this.#carried.length > 0) this.#push({ role: 'user', content: this.#carried })
    this.#carried = []
  }
}

interface IndexedCall {
  call: WireCall
  entry: Entry
}

/** The calls of one request, and the ids that they have on the wire. */
class WrittenCalls {
  /** The number of calls so far, which names those without an id. */
  size = 0
  readonly #index = new CallIndex<IndexedCall>(isOpen)
  readonly #wireIds = new Set<string>()

  /** An id for a call that has none, which no other call of the request has so far. */
  generateId(): string {
    const wireId = `call_${this.size}`
    return this.#wireIds.has(wireId) ? `call_${this.size}_generated` : wireId
  }

  add(calls: readonly WireCall[], parts: readonly ToolCallPart[], entry: Entry): void {
    for (const [index, call] of calls.entries()) {
      if (entry.results === NO_RESULTS) entry.results = []
      this.#wireIds.add(call.wireId)
      this.#index.add({ call, entry }, { id: parts[index]?.id ?? null, name: call.name })
    }
  }

  endTurn(): void {
    this.#index.endTurn()
  }

  find(result: ToolResultPart): IndexedCall | undefined {
    return this.#index.find(result)
  }
}

function isOpen({ call }: IndexedCall): boolean {
  return !call.isAnswered
}

function mapRole(role: NormalizedMessage['role']): 'system' | 'user' | 'assistant' {
  switch (role) {
    case 'system':
    case 'developer':
      return 'system'
    case 'assistant':
      return 'assistant'
    case 'user':
    case 'tool':
      return 'user'
  }
}

function withName(written: JsonObject, { name }: NormalizedMessage): JsonObject {
  if (name !== undefined) written.name = name
  return written
}

/** How the text of a failed call begins. */
const ERROR_MARK = 'Error:'

/** The state that this kind of provider issued for a message, which may stand on any of its parts; state of other kinds is dropped. */
function writeMessageState(message: NormalizedMessage): JsonObject | undefined {
  if (message.state === undefined && message.content.every(hasNoState)) return undefined
  const details: JsonValue[] = []
  const written = writeReasoning(message)
  for (const state of [...message.content.map(findPartState), message.state]) {
    const found = parseState(state?.chat_compatible?.reasoningDetails)
    if (Array.isArray(found)) for (const entry of found) details.push(entry)
    const extra = parseState(state?.chat_compatible?.extraContent)
    if (isJsonObject(extra)) written.extra_content = extra
  }
  if (details.length > 0) written.reasoning_details = details
  return Object.keys(written).length === 0 ? undefined : written
}

function hasNoState(part: ContentPart): boolean {
  return findPartState(part) === undefined
}

/** A call has its own member for state. */
function findPartState(part: ContentPart): ProviderState | undefined {
  return part.type === 'tool-call' || part.type === 'tool-result' ? undefined : part.state
}

/** The JSON of a state; undefined when a client altered it. */
function parseState(text: string | undefined): JsonValue | undefined {
  const value = text === undefined ? undefined : tryParseJson(text)
  return value === undefined || isTextTooDeep(text ?? '', value) ? undefined : value
}
