// Writes the conversation on the content wire: the instructions apart, then contents in turn of the user and the model (content.md 2 and
// 3). The service refuses a turn whose calls and results differ in number and results that do not follow their calls, so they are matched
// and ordered here.

import {
  assertNever,
  type ContentPart,
  findNewestTurn,
  flattenToolName,
  invalidRequest,
  isGatewayCallId,
  isUserTurn,
  type JsonObject,
  type NormalizedMessage,
  type ProviderState,
  type ToolCallPart,
  type ToolResultPart
} from '../../../normalized/index.ts'
import { joinTexts } from '../../shared/json/joined-text.ts'
import type { MediaPart, MediaPlacer } from '../../shared/media/described-media.ts'
import { CallIndex } from '../../shared/tools/call-index.ts'
import { writeArgumentsObject } from '../../shared/tools/tool-arguments.ts'
import { toShortCallId } from '../../shared/tools/tool-call-ids.ts'
import type { ToolNameMap } from '../../shared/tools/tool-names.ts'
import { needsSignedCalls } from './generations.ts'
import { writeResult } from './write-result.ts'

export interface WrittenContents {
  systemInstruction?: JsonObject
  contents: JsonObject[]
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
export function writeContents(
  messages: readonly NormalizedMessage[],
  names: ToolNameMap,
  { upstreamModel, placer }: { upstreamModel: string | undefined; placer: MediaPlacer<JsonObject> }
): WrittenContents {
  const writer = new ConversationWriter(names, { isSigned: needsSignedCalls(upstreamModel), placer })
  const newestTurn = findNewestTurn(messages)
  for (const [index, message] of messages.entries()) {
    writer.add(message, index >= newestTurn && isUserTurn(message))
  }
  return writer.finish()
}

interface WireCall {
  turn: Turn
  part: JsonObject
  /** The client's name of the function, flattened. */
  name: string
  /** Undefined for a call that the provider gave none. */
  wireId: string | undefined
  result: JsonObject | undefined
}

interface TurnPart {
  part: JsonObject
  call?: WireCall
}

/** What one side said; one of the model may have calls, and then the results that follow it. */
interface Turn {
  role: 'user' | 'model'
  parts: TurnPart[]
  calls: WireCall[]
  hasResults: boolean
  /** Media of the results, for models that do not take them inside a result. */
  media: JsonObject[]
}

/** The text that the service documents for calls of a history that it did not make itself. */
const NO_SIGNATURE = 'skip_thought_signature_validator'

/** Between the texts of several instructions. */
const INSTRUCTION_SEPARATOR = '\n\n'

class ConversationWriter {
  readonly #names: ToolNameMap
  readonly #isSigned: boolean
  readonly #instructions: string[] = []
  readonly #turns: Turn[] = []
  readonly #calls = new CallIndex<WireCall>(call => call.result === undefined)
  /** The ids of the calls of the last turn with calls. */
  readonly #turnIds = new Set<string>()

  readonly #placer: MediaPlacer<JsonObject>

  constructor(names: ToolNameMap, { isSigned, placer }: { isSigned: boolean; placer: MediaPlacer<JsonObject> }) {
    this.#names = names
    this.#isSigned = isSigned
    this.#placer = placer
  }

  /** @param isNewest the message belongs to the newest turn of the user. */
  add(message: NormalizedMessage, isNewest: boolean): void {
    const { role, content } = message
    if (role !== 'assistant') this.#calls.endTurn()
    for (const part of content) if (part.type === 'tool-result') this.#addResult(part)
    switch (role) {
      case 'system':
      case 'developer':
        this.#addInstruction(message)
        return
      case 'assistant':
        this.#addModelTurn(message)
        return
      case 'user':
      case 'tool':
        this.#addTurn('user', listDefined(content.map(part => this.#writePart(part, isNewest))))
        return
      default:
        assertNever(role)
    }
  }

  finish(): WrittenContents {
    const contents = new ContentList()
    let droppedToolCalls = 0
    for (const [index, turn] of this.#turns.entries()) {
      // Results of the last turn may still come; every other call without a result makes the provider refuse the history.
      const isOpen = index === this.#turns.length - 1 && !turn.hasResults
      const kept = isOpen ? turn.calls : turn.calls.filter(call => call.result !== undefined)
      droppedToolCalls += turn.calls.length - kept.length
      if (this.#isSigned) signCalls(kept)
      const parts = turn.parts.filter(({ call }) => isOpen || call === undefined || call.result !== undefined)
      contents.add(
        turn.role,
        parts.map(({ part }) => part)
      )
      if (!turn.hasResults) continue
      contents.addApart('user', listDefined(kept.map(({ result }) => result)))
      contents.add('user', turn.media)
    }
    const written: WrittenContents = { contents: contents.list, droppedToolCalls }
    if (this.#instructions.length === 0) return written
    const instruction = { parts: [{ text: this.#instructions.join(INSTRUCTION_SEPARATOR) }] }
    // The wire demands a content: instructions alone are what the model is asked.
    if (written.contents.length === 0) written.contents = [{ role: 'user', ...instruction }]
    else written.systemInstruction = instruction
    return written
  }

  #addInstruction({ content, form }: NormalizedMessage): void {
    for (const part of content) {
      // An instruction is a text: its media stand before what the user says next.
      if (part.type === 'image' || part.type === 'file') this.#addTurn('user', [this.#writeMedia(part, false)])
    }
    const text = joinTexts(content, form === 'pieces' ? '' : '\n')
    if (text !== '') this.#instructions.push(text)
  }

  #addModelTurn({ content, state }: NormalizedMessage): void {
    const last = this.#turns.at(-1)
    const continues = last?.role === 'model' && !last.hasResults
    if (!continues) this.#turnIds.clear()
    const turn = this.#addTurn('model', [])
    const start = turn.parts.length
    for (const part of content) {
      if (part.type === 'tool-call') this.#addCall(part, turn)
      else {
        const written = part.type === 'reasoning' ? writeThought(part) : this.#writePart(part, false)
        if (written !== undefined) turn.parts.push({ part: written })
      }
    }
    const signature = readSignature(state)
    if (signature !== undefined) signText(turn.parts, start, signature)
    if (turn.parts.length === 0) this.#turns.pop()
  }

  /** The turn of this side that is the last one, with the parts added. */
  #addTurn(role: Turn['role'], parts: readonly JsonObject[]): Turn {
    const last = this.#turns.at(-1)
    if (last?.role === role && !last.hasResults) {
      for (const part of parts) last.parts.push({ part })
      return last
    }
    const turn: Turn = { role, parts: parts.map(part => ({ part })), calls: [], hasResults: false, media: [] }
    if (role === 'model' || parts.length > 0) this.#turns.push(turn)
    return turn
  }

  #addCall(part: ToolCallPart, turn: Turn): void {
    const name = flattenToolName(part)
    const wireId = this.#writeId(part.id, turn)
    const functionCall: JsonObject = { name: this.#names.toWire(name), args: writeArgumentsObject(part) }
    const written: JsonObject = { functionCall: wireId === undefined ? functionCall : { id: wireId, ...functionCall } }
    const signature = readSignature(part.state)
    if (signature !== undefined) written.thoughtSignature = signature
    const call: WireCall = { turn, part: written, name, wireId, result: undefined }
    turn.parts.push({ part: written, call })
    turn.calls.push(call)
    this.#calls.add(call, { id: part.id, name })
  }

  /** The id of a call, which no other call of its turn has. An id that the gateway made stands for one that the provider did not give. */
  #writeId(id: string | null, turn: Turn): string | undefined {
    if (id === null || id === '' || isGatewayCallId(id)) return undefined
    const wireId = this.#turnIds.has(id) ? toShortCallId(`${id} ${turn.calls.length}`) : id
    this.#turnIds.add(wireId)
    return wireId
  }

  #addResult(part: ToolResultPart): void {
    const call = this.#calls.find(part)
    if (call === undefined) {
      throw invalidRequest(part.path, 'The tool result belongs to no tool call of this request.')
    }
    // An agent that resumes may send a result twice; the wire has room for one.
    if (call.result !== undefined) return
    const { wireId, name, turn } = call
    const inside: JsonObject[] = []
    const content = part.content.flatMap((inner): ContentPart[] => {
      if (inner.type !== 'image' && inner.type !== 'file') return [inner]
      const placed = this.#placer.place(inner, false)
      if (placed.type === 'text') return [{ type: 'text', text: placed.text }]
      if (this.#isSigned && placed.block.inlineData !== undefined) inside.push(placed.block)
      else turn.media.push(placed.block)
      return []
    })
    const response: JsonObject = {
      ...(wireId === undefined ? {} : { id: wireId }),
      name: this.#names.toWire(name),
      response: writeResult({ ...part, content })
    }
    if (inside.length > 0) response.parts = inside
    call.result = { functionResponse: response }
    turn.hasResults = true
  }

  #writeMedia(part: MediaPart, isNewest: boolean): JsonObject {
    const placed = this.#placer.place(part, isNewest)
    return placed.type === 'text' ? { text: placed.text } : placed.block
  }

  /** Writes a part that both sides have; undefined for others, and for an empty text without a signature, which the service refuses. */
  #writePart(part: ContentPart, isNewest: boolean): JsonObject | undefined {
    switch (part.type) {
      case 'text':
      case 'refusal': {
        const thoughtSignature = readSignature(part.state)
        if (thoughtSignature !== undefined) return { text: part.text, thoughtSignature }
        return part.text === '' ? undefined : { text: part.text }
      }
      case 'image':
      case 'file': {
        const thoughtSignature = readSignature(part.state)
        const media = this.#writeMedia(part, isNewest)
        return thoughtSignature === undefined ? media : { ...media, thoughtSignature }
      }
      default:
        return undefined
    }
  }
}

/** Contents in turn: those of one side that follow each other are one content, except for results (decisions.md 83). */
class ContentList {
  readonly list: JsonObject[] = []
  #role: string | undefined
  #parts: JsonObject[] = []

  /** Adds a content that no other one is joined with: current models refuse results with other parts beside them. */
  addApart(role: string, parts: readonly JsonObject[]): void {
    this.#role = undefined
    this.add(role, parts)
    this.#role = undefined
  }

  add(role: string, parts: readonly JsonObject[]): void {
    if (parts.length === 0) return
    if (this.#role !== role) {
      this.#role = role
      this.#parts = []
      this.list.push({ role, parts: this.#parts })
    }
    for (const part of parts) this.#parts.push(part)
  }
}

/**
 * Reasoning goes back only to the provider that signed it; other services' would be shown as text
 * (field-lessons.md C1).
 */
function writeThought({ text, state }: { text: string; state?: ProviderState }): JsonObject | undefined {
  const thoughtSignature = readSignature(state)
  if (thoughtSignature === undefined) return undefined
  return text === '' ? { text, thoughtSignature } : { text, thought: true, thoughtSignature }
}

/** The signature that a provider of this kind issued; state of other kinds is dropped. */
function readSignature(state: ProviderState | undefined): string | undefined {
  const signature = state?.content_compatible?.thoughtSignature
  return signature === '' ? undefined : signature
}

/** Puts the signature of a whole message on its last text, or before its calls where it has none. */
function signText(parts: TurnPart[], start: number, thoughtSignature: string): void {
  for (let index = parts.length - 1; index >= start; index--) {
    const { part } = parts[index] as TurnPart
    if (typeof part.text !== 'string' || part.thought === true) continue
    part.thoughtSignature ??= thoughtSignature
    return
  }
  parts.splice(start, 0, { part: { text: '', thoughtSignature } })
}

/** Models with signatures refuse calls without one; the first call of a turn has that of all. */
function signCalls(calls: readonly WireCall[]): void {
  const [first] = calls
  if (first === undefined || calls.some(({ part }) => part.thoughtSignature !== undefined)) return
  first.part.thoughtSignature = NO_SIGNATURE
}

function listDefined(parts: ReadonlyArray<JsonObject | undefined>): JsonObject[] {
  return parts.filter(part => part !== undefined)
}
