// Writes the conversation on the Anthropic Messages wire (messages.md 3). The service refuses a result that does not follow its call, a call
// without a result, an empty text and an instruction between messages, so all of them are matched and ordered here.

import {
  assertNever,
  findNewestTurn,
  flattenToolName,
  invalidRequest,
  isUserTurn,
  type JsonObject,
  type NormalizedMessage,
  type ReasoningPart,
  type ToolCallPart,
  type ToolResultPart
} from '../../../normalized/index.ts'
import type { MediaPart, MediaPlacer } from '../../shared/media/described-media.ts'
import { CallIndex } from '../../shared/tools/call-index.ts'
import { writeArgumentsObject } from '../../shared/tools/tool-arguments.ts'
import { toShortCallId } from '../../shared/tools/tool-call-ids.ts'
import type { ToolNameMap } from '../../shared/tools/tool-names.ts'

export interface WrittenMessages {
  /** All instructions, in order; undefined without any. */
  system: string | JsonObject[] | undefined
  messages: JsonObject[]
  /** The functions that the written messages call, by their names on the wire. */
  calledNames: Set<string>
  /** The conversation ends with a text of the assistant, which the model continues. */
  isContinued: boolean
  /** The conversation ends with results of a turn whose thinking is not part of it. */
  isThoughtMissing: boolean
  /** Calls that were left out because they have no result (field-lessons.md B8). */
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
  isAnswered: boolean
}

interface Block {
  body: JsonObject
  call?: WireCall
}

/** The blocks of a message of the client; one of the assistant may have calls, and then the results that follow it. */
interface Entry {
  role: 'user' | 'assistant'
  blocks: Block[]
  results: JsonObject[]
}

/** A message of the body before it is known how its content is written. */
interface WireMessage {
  role: Entry['role']
  content: JsonObject[]
}

class ConversationWriter {
  readonly #names: ToolNameMap
  readonly #system: JsonObject[] = []
  readonly #entries: Entry[] = []
  readonly #calls = new CallIndex<{ call: WireCall; entry: Entry }>(({ call }) => !call.isAnswered)
  /** The service demands ids that are unique in the whole conversation. */
  readonly #wireIds = new Set<string>()
  readonly #placer: MediaPlacer<JsonObject>
  /** Media of the model and of instructions: only turns of the user hold them on this wire, so they move to the next one. */
  #carried: Block[] = []

  constructor(names: ToolNameMap, placer: MediaPlacer<JsonObject>) {
    this.#names = names
    this.#placer = placer
  }

  /** @param isNewest the message belongs to the newest turn of the user. */
  add(message: NormalizedMessage, isNewest: boolean): void {
    if (message.role !== 'assistant') this.#calls.endTurn()
    switch (message.role) {
      case 'system':
      case 'developer':
        for (const block of this.#writeBlocks(message, { isNewest: false })) this.#system.push(block.body)
        return
      case 'assistant':
        this.#addEntry('assistant', message, false)
        return
      case 'user':
      case 'tool':
        this.#addEntry('user', message, isNewest)
        return
      default:
        assertNever(message.role)
    }
  }

  finish(): WrittenMessages {
    if (this.#carried.length > 0) this.#entries.push({ role: 'user', blocks: this.#takeCarried(), results: [] })
    const messages = new WireMessages()
    const calledNames = new Set<string>()
    let droppedToolCalls = 0
    for (const { role, blocks, results } of this.#entries) {
      const kept: JsonObject[] = []
      for (const { body, call } of blocks) {
        if (call !== undefined && !call.isAnswered) droppedToolCalls++
        else kept.push(body)
        if (call?.isAnswered === true) calledNames.add(body.name as string)
      }
      messages.add(role, kept)
      messages.add('user', results)
    }
    const written = messages.finish()
    // The wire demands a message: instructions alone are what the model is asked.
    const isPromptMissing = written.length === 0 && this.#system.length > 0
    return {
      system: isPromptMissing || this.#system.length === 0 ? undefined : writeContent(this.#system),
      messages: isPromptMissing ? [{ role: 'user', content: writeContent(this.#system) }] : written,
      calledNames,
      isContinued: written.at(-1)?.role === 'assistant',
      isThoughtMissing: messages.isThoughtMissing(),
      droppedToolCalls
    }
  }

  #takeCarried(): Block[] {
    const carried = this.#carried
    this.#carried = []
    return carried
  }

  #addEntry(role: Entry['role'], message: NormalizedMessage, isNewest: boolean): void {
    const entry: Entry = { role, blocks: [], results: [] }
    // Results belong behind their calls, also where the client's message has other content beside them.
    for (const part of message.content) if (part.type === 'tool-result') this.#addResult(part)
    const carried = role === 'user' && this.#carried.length > 0 ? this.#takeCarried() : undefined
    entry.blocks = this.#writeBlocks(message, { entry, isNewest })
    if (carried !== undefined) entry.blocks = [...carried, ...entry.blocks]
    if (entry.blocks.length > 0) this.#entries.push(entry)
  }

  /** @param place.entry the message that calls are added to. */
  #writeBlocks(
    { role, content, form }: NormalizedMessage,
    { entry, isNewest }: { entry?: Entry; isNewest: boolean }
  ): Block[] {
    const blocks: Block[] = []
    const isOfUser = role === 'user' || role === 'tool'
    /**
     * The open text of a message whose texts are one text that was cut anywhere (decisions.md 60).
     */
    let openText: { type: 'text'; text: string } | undefined
    let openThought = ''
    for (const part of content) {
      switch (part.type) {
        case 'text':
        case 'refusal':
          openThought = ''
          if (openText !== undefined) openText.text += part.text
          else {
            const body = { type: 'text' as const, text: part.text }
            blocks.push({ body })
            if (form === 'pieces') openText = body
          }
          continue
        case 'reasoning': {
          // A client that got the thinking in pieces returns its signature on the last of them.
          const text = form === 'pieces' ? openThought + part.text : part.text
          const body = role === 'assistant' ? writeThought({ ...part, text }) : undefined
          if (body !== undefined && !signEarlierThought(blocks, body)) blocks.push({ body })
          openThought = body === undefined ? text : ''
          break
        }
        case 'image':
        case 'file': {
          const body = this.#writeMedia(part, isNewest)
          if (isOfUser || body.type === 'text') blocks.push({ body })
          else this.#carried.push({ body })
          break
        }
        case 'tool-call':
          openThought = ''
          if (entry !== undefined) blocks.push(this.#writeCall(part, entry))
          break
        case 'tool-result':
          break
        default:
          assertNever(part)
      }
      openText = undefined
    }
    return blocks.filter(({ body }) => !isBlankText(body))
  }

  #writeCall(part: ToolCallPart, entry: Entry): Block {
    const name = flattenToolName(part)
    const call: WireCall = { wireId: this.#writeId(part.id), isAnswered: false }
    this.#calls.add({ call, entry }, { id: part.id, name })
    const input = writeArgumentsObject(part)
    return { body: { type: 'tool_use', id: call.wireId, name: this.#names.toWire(name), input }, call }
  }

  /** The id in the wire's characters. Some clients number the calls of every turn from 1. */
  #writeId(id: string | null): string {
    const { size } = this.#wireIds
    let wireId = id === null || id === '' ? `call_${size}` : toShortCallId(id)
    for (let attempt = size; this.#wireIds.has(wireId); attempt++) wireId = toShortCallId(`${wireId} ${attempt}`)
    this.#wireIds.add(wireId)
    return wireId
  }

  #addResult(part: ToolResultPart): void {
    const found = this.#calls.find(part)
    if (found === undefined) {
      throw invalidRequest(part.path, 'The tool result belongs to no tool call of this request.')
    }
    const { call, entry } = found
    // An agent that resumes may send a result twice; the wire has room for one.
    if (call.isAnswered) return
    call.isAnswered = true
    entry.results.push(this.#writeResult(part, call.wireId))
  }

  #writeMedia(part: MediaPart, isNewest: boolean): JsonObject {
    const placed = this.#placer.place(part, isNewest)
    return placed.type === 'text' ? { type: 'text', text: placed.text } : placed.block
  }

  #writeResult(part: ToolResultPart, toolUseId: string): JsonObject {
    const blocks: JsonObject[] = []
    for (const inner of part.content) {
      if (inner.type === 'image' || inner.type === 'file') blocks.push(this.#writeMedia(inner, false))
      else if (inner.type === 'text' || inner.type === 'refusal') {
        if (inner.text.trim() !== '') blocks.push({ type: 'text', text: inner.text })
      }
    }
    const result: JsonObject = { type: 'tool_result', tool_use_id: toolUseId }
    if (blocks.length > 0) result.content = writeContent(blocks)
    if (part.isError) result.is_error = true
    return result
  }
}

/** The messages of the body: consecutive ones of a role are one. */
class WireMessages {
  readonly #messages: WireMessage[] = []

  add(role: Entry['role'], content: readonly JsonObject[]): void {
    if (content.length === 0) return
    if (this.#messages.at(-1)?.role !== role) this.#closeTurn()
    const last = this.#messages.at(-1)
    if (last?.role !== role) this.#messages.push({ role, content: [...content] })
    else for (const block of content) last.content.push(block)
  }

  /**
   * True for results of a turn that begins without thinking: the service refuses it where thinking has a budget. To be asked after
   * `finish`, which removes what is not sent behind them.
   */
  isThoughtMissing(): boolean {
    const [turn, results] = this.#messages.slice(-2)
    if (turn?.role !== 'assistant' || results?.content[0]?.type !== 'tool_result') return false
    return !isThought(turn.content[0])
  }

  finish(): JsonObject[] {
    this.#closeTurn()
    const last = this.#messages.at(-1)
    if (last?.role === 'assistant') trimEnd(last.content)
    if (last?.content.length === 0) this.#messages.pop()
    return this.#messages.map(({ role, content }) => ({ role, content: writeContent(content) }))
  }

  /** Thinking that nothing follows cannot end a turn of the assistant. */
  #closeTurn(): void {
    const last = this.#messages.at(-1)
    if (last?.role !== 'assistant') return
    while (isThought(last.content.at(-1))) last.content.pop()
    if (last.content.length === 0) this.#messages.pop()
  }
}

/** A single text needs no list of blocks. */
function writeContent(blocks: JsonObject[]): string | JsonObject[] {
  const [only] = blocks
  return blocks.length === 1 && only?.type === 'text' ? (only.text as string) : blocks
}

/** The service refuses texts without a visible character. */
function isBlankText({ type, text }: JsonObject): boolean {
  return type === 'text' && typeof text === 'string' && text.trim() === ''
}

function isThought(block: JsonObject | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking'
}

/** The model continues a last text of the assistant, which must not end in white space. */
function trimEnd(content: JsonObject[]): void {
  const last = content.at(-1)
  if (last?.type === 'text') last.text = (last.text as string).trimEnd()
}

/**
 * Reasoning goes back only with what this kind of provider issued for it: the service refuses thinking of other providers
 * (field-lessons.md C1). Some servers sign with an empty text, and may want their thinking back (decisions.md 82).
 */
function writeThought({ text, state }: ReasoningPart): JsonObject | undefined {
  const { signature, redacted } = state?.messages_compatible ?? {}
  if (redacted !== undefined && redacted !== '') return { type: 'redacted_thinking', data: redacted }
  const isEmpty = signature === undefined || (signature === '' && text === '')
  return isEmpty ? undefined : { type: 'thinking', thinking: text, signature }
}

/** Puts a signature that came behind other blocks on its thinking. False for a thought of its own (decisions.md 82). */
function signEarlierThought(blocks: readonly Block[], { type, thinking, signature }: JsonObject): boolean {
  if (type !== 'thinking' || thinking !== '') return false
  const earlier = blocks.findLast(({ body }) => body.type === 'thinking')?.body
  if (earlier?.signature !== '') return false
  earlier.signature = signature as string
  return true
}
