// Writes the conversation as the input items of the Responses wire (bridge.md 8.9). Services refuse a result without its call and a call
// without its result, so calls and results are matched here.

import {
  type ContentPart,
  findNewestTurn,
  flattenToolName,
  invalidRequest,
  isJsonObject,
  isTextTooDeep,
  isUserTurn,
  type JsonObject,
  type NormalizedMessage,
  type ProviderState,
  type RefusalPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  tryParseJson
} from '../../../normalized/index.ts'
import type { MediaPlacer } from '../../shared/media/described-media.ts'
import { CallIndex } from '../../shared/tools/call-index.ts'
import { toShortCallId } from '../../shared/tools/tool-call-ids.ts'
import type { ToolNameMap } from '../../shared/tools/tool-names.ts'
import { isInputPart, isMedia, writeInputParts, writeOutput } from './write-content.ts'

export interface WrittenInput {
  /** The texts of the system before everything else; undefined when there are none. */
  instructions: string | undefined
  input: JsonObject[]
  /** Calls that were left out because later turns follow without their results (field-lessons.md B8). */
  droppedToolCalls: number
}

/**
 * Writes all messages. Raises `invalid_request` with the path of a tool result without a call (field-lessons.md B9), and
 * `unsupported_semantic` with the path of media of the newest turn that the model does not get.
 */
export function writeInput(
  messages: readonly NormalizedMessage[],
  names: ToolNameMap,
  placer: MediaPlacer<JsonObject>
): WrittenInput {
  const writer = new InputWriter(names, placer)
  const newestTurn = findNewestTurn(messages)
  for (const [index, message] of messages.entries()) writer.add(message, index >= newestTurn && isUserTurn(message))
  return writer.finish()
}

/** Services of this wire take this many characters. */
const CALL_ID_CHARACTERS_MAX = 64

/** The id of a call in the form that the wire takes. */
export function toWireCallId(id: string): string {
  return id.length <= CALL_ID_CHARACTERS_MAX ? id : toShortCallId(id)
}

interface WireCall {
  item: JsonObject
  wireId: string
  isAnswered: boolean
}

interface Entry {
  item: JsonObject
  /** The call that the item is. */
  call?: WireCall
}

class InputWriter {
  readonly #names: ToolNameMap
  readonly #instructions: string[] = []
  readonly #entries: Entry[] = []
  readonly #calls = new CallIndex<WireCall>(call => !call.isAnswered)
  readonly #wireIds = new Set<string>()
  /** Reasoning items that were written: a client may send the state of a message on several of its parts. */
  readonly #reasoning = new Set<string>()
  readonly #placer: MediaPlacer<JsonObject>
  /** Media of the assistant's turns, which only messages of the user hold: they move to the next one. */
  #carried: JsonObject[] = []

  constructor(names: ToolNameMap, placer: MediaPlacer<JsonObject>) {
    this.#names = names
    this.#placer = placer
  }

  /** @param isNewest the message belongs to the newest turn of the user. */
  add(message: NormalizedMessage, isNewest: boolean): void {
    const { role, content } = message
    if (role === 'assistant') this.#addAssistant(message)
    else {
      this.#calls.endTurn()
      if (role === 'system' && this.#entries.length === 0 && content.every(isText)) {
        const text = content.map(part => part.text).join('\n')
        if (text !== '') this.#instructions.push(text)
        return
      }
      for (const part of content) if (part.type === 'tool-result') this.#addResult(part)
      this.#addPrompt(message, isNewest)
    }
  }

  finish(): WrittenInput {
    if (this.#carried.length > 0) this.#push({ type: 'message', role: 'user', content: this.#carried })
    // Results of the last turn may still come; every other call without a result makes the provider refuse the history.
    const lastPrompt = this.#entries.findLastIndex(({ item }) => isLaterTurn(item))
    const kept = this.#entries.filter(({ call }, index) => call?.isAnswered !== false || index > lastPrompt)
    const droppedToolCalls = this.#entries.length - kept.length
    const input = kept.map(({ item }) => item).filter(isThoughtOfSomething)
    const instructions = this.#instructions.length === 0 ? undefined : this.#instructions.join('\n\n')
    return { instructions, input, droppedToolCalls }
  }

  #addPrompt({ role, content, form }: NormalizedMessage, isNewest: boolean): void {
    const surroundings = { placer: this.#placer, isNewest, isCut: form === 'pieces' }
    const parts = writeInputParts(content.filter(isInputPart), surroundings)
    if (parts.length === 0) return
    const isOfSystem = role === 'system' || role === 'developer'
    const carried = isOfSystem ? [] : this.#carried
    if (!isOfSystem) this.#carried = []
    this.#push({ type: 'message', role: isOfSystem ? role : 'user', content: [...carried, ...parts] })
  }

  #addAssistant({ content, state }: NormalizedMessage): void {
    this.#addReasoning(state)
    let message: JsonObject | undefined
    for (const part of content) {
      if (part.type === 'tool-call' || part.type === 'reasoning') message = undefined
      // A thought stands before what it led to.
      if (part.type !== 'tool-result') this.#addReasoning(part.state)
      if (part.type === 'tool-call') this.#addCall(part)
      else if (isSaid(part)) message = this.#addSaid(part, message)
      else if (isMedia(part)) {
        const placed = this.#placer.place(part, false)
        if (placed.type === 'block') this.#carried.push(placed.block)
        else message = this.#addSaid({ type: 'text', text: placed.text }, message)
      }
    }
  }

  /** Adds a text to the message or begins one. Some protocols send the state of a text behind it, with an empty text. */
  #addSaid(part: SaidPart, message: JsonObject | undefined): JsonObject | undefined {
    const phase = part.state?.responses?.phase
    if (part.text === '') {
      if (message !== undefined && phase !== undefined) message.phase ??= phase
      return message
    }
    const said = writeSaid(part)
    if (message !== undefined && message.phase === phase) {
      const content = message.content as JsonObject[]
      content.push(said)
      return message
    }
    const begun: JsonObject = { type: 'message', role: 'assistant', content: [said] }
    if (phase !== undefined) begun.phase = phase
    this.#push(begun)
    return begun
  }

  /** Adds the reasoning item that this wire issued; state of other wires, and reasoning without state, is dropped (bridge.md 8.9). */
  #addReasoning(state: ProviderState | undefined): void {
    const text = state?.responses?.reasoningItem
    if (text === undefined || this.#reasoning.has(text)) return
    const item = tryParseJson(text)
    if (!isJsonObject(item) || item.type !== REASONING || isTextTooDeep(text, item)) return
    this.#reasoning.add(text)
    this.#push(item)
  }

  #addCall(part: ToolCallPart): void {
    const name = flattenToolName(part)
    const wireId = this.#createId(part.id)
    const item: JsonObject = {
      type: 'function_call',
      call_id: wireId,
      name: this.#names.toWire(name),
      arguments: part.argumentsText ?? JSON.stringify(part.arguments)
    }
    const call: WireCall = { item, wireId, isAnswered: false }
    this.#calls.add(call, { id: part.id, name })
    this.#entries.push({ item, call })
  }

  /** The id of a call, which no other call of the request has: a result is found by it. */
  #createId(id: string | null): string {
    const wanted = id === null || id === '' ? `call_${this.#wireIds.size}` : toShortCallId(id)
    const wireId = this.#wireIds.has(wanted) ? toShortCallId(`${wanted} ${this.#wireIds.size}`) : wanted
    this.#wireIds.add(wireId)
    return wireId
  }

  #addResult(part: ToolResultPart): void {
    const call = this.#calls.find(part)
    if (call === undefined) {
      throw invalidRequest(part.path, 'The tool result belongs to no tool call of this request.')
    }
    // An agent that resumes may send a result twice; the wire has room for one.
    if (call.isAnswered) return
    call.isAnswered = true
    this.#push({ type: 'function_call_output', call_id: call.wireId, output: writeOutput(part, this.#placer) })
  }

  #push(item: JsonObject): void {
    this.#entries.push({ item })
  }
}

function isLaterTurn({ type, role }: JsonObject): boolean {
  return type === 'function_call_output' || (type === 'message' && role !== 'assistant')
}

/** Services refuse reasoning that is not followed by what it led to. */
function isThoughtOfSomething({ type }: JsonObject, index: number, input: readonly JsonObject[]): boolean {
  if (type !== REASONING) return true
  const next = input.slice(index + 1).find(item => item.type !== REASONING)
  return next?.type === 'function_call' || next?.role === 'assistant'
}

const REASONING = 'reasoning'

type SaidPart = TextPart | RefusalPart

function isText(part: ContentPart): part is TextPart {
  return part.type === 'text'
}

function isSaid(part: ContentPart): part is SaidPart {
  return part.type === 'text' || part.type === 'refusal'
}

function writeSaid(part: SaidPart): JsonObject {
  return part.type === 'text' ? { type: 'output_text', text: part.text } : { type: 'refusal', refusal: part.text }
}
