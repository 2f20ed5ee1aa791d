// Reads the tool calls of a response: whole, or as deltas that an index tells apart and that may interleave (bridge.md 8.4 and 8.5).

import {
  CallCollector,
  type EventAssembler,
  GatewayError,
  isJsonObject,
  JsonNesting,
  type JsonObject,
  type JsonValue,
  type ProviderState,
  type ToolCallHead
} from '../../../normalized/index.ts'
import { IssuedCallIds } from '../../shared/tools/issued-call-ids.ts'
import type { ChatCompatibleReading } from './reading.ts'

export interface CallReaderOptions {
  assembler: EventAssembler
  reading: ChatCompatibleReading
  createNonce: () => string
  /** The JSON of arguments that the provider sent as an object. */
  writeJson: (value: JsonObject) => string
}

/** A call whose deltas are being read. */
interface OpenCall {
  /** Counts the calls of the stream: the wire's own index may stand for several calls. */
  number: number
  id: string
  /** Undefined until a delta names the function. */
  name: string | undefined
  nesting: JsonNesting
  /** Other content began after its whole arguments: the call is passed on. */
  isComplete: boolean
}

/** The place of the legacy member `function_call`, which has no index. */
const LEGACY_INDEX = -1

export class CallReader {
  readonly #options: CallReaderOptions
  readonly #collector: CallCollector
  readonly #byIndex = new Map<number, OpenCall>()
  readonly #byId = new Map<string, OpenCall>()
  /** The streamed calls. */
  readonly #opened: OpenCall[] = []
  #last: OpenCall | undefined
  /** The calls of the last list of several. */
  #list: readonly OpenCall[] = []
  #count = 0
  readonly #issuedIds: IssuedCallIds

  constructor(options: CallReaderOptions) {
    this.#options = options
    this.#issuedIds = new IssuedCallIds(options.createNonce)
    this.#collector = new CallCollector({
      assembler: options.assembler,
      issueId: ({ id }) => this.#issuedIds.issue(id)
    })
  }

  /** How many calls the response has so far. */
  get count(): number {
    return this.#count
  }

  /** True when the arguments of all streamed calls are whole, so that the response may end here. */
  get areWhole(): boolean {
    return this.#opened.every(({ nesting }) => nesting.isWhole)
  }

  /** Passes on content of another kind, after the calls that began before it. */
  pass(characters: number, feed: () => void): void {
    this.#completeWhole()
    this.#collector.pass(characters, feed)
  }

  /**
   * Reads the calls of a whole message. Raises `provider_protocol_error` for a malformed call.
   */
  readWhole(calls: readonly unknown[]): void {
    for (const call of calls) {
      if (!isJsonObject(call) || !isKnown(call)) throw malformed(WHOLE)
      this.#addWhole(call, call.function ?? readCustomCall(call.custom))
    }
  }

  /** Reads the legacy call of a whole message, which has no id. */
  readWholeLegacy(call: JsonObject): void {
    this.#addWhole({ id: '' }, call)
  }

  /** Reads the deltas of one frame. Raises `provider_protocol_error` for a malformed or changed call. */
  readDeltas(deltas: readonly unknown[]): void {
    const list: OpenCall[] = []
    for (const [position, delta] of deltas.entries()) {
      if (!isJsonObject(delta)) throw malformed(STREAMED)
      const index = delta.index ?? undefined
      if (index !== undefined && (!Number.isSafeInteger(index) || (index as number) < 0)) throw malformed(STREAMED)
      // Without an index and an id, the place in a list of several tells the calls apart.
      const place = deltas.length > 1 ? this.#list[position] : undefined
      list.push(this.#readDelta(delta, index as number | undefined, place))
    }
    if (list.length > 1) this.#list = list
  }

  /** Reads a delta of the legacy call. */
  readLegacyDelta(call: JsonObject): void {
    this.#readDelta({ id: '', type: 'function', function: call }, LEGACY_INDEX)
  }

  /** The response has no further deltas: passes on everything that waits. Raises `provider_protocol_error` for a call without a name. */
  finish(): void {
    if (!this.#opened.every(({ name }) => name !== undefined)) throw malformed(STREAMED)
    this.#collector.finish()
  }

  #addWhole({ id, extra_content: extraContent }: JsonObject, definition: unknown): void {
    const { name, text } = this.#readFunction(definition, WHOLE)
    if (name === undefined) throw malformed(WHOLE)
    this.#count++
    const head: ToolCallHead = { id: this.#issuedIds.issue(readId(id, WHOLE)), ...this.#findTool(name) }
    const state = readExtraContent(extraContent)
    if (state !== undefined) head.state = state
    this.#options.assembler.toolCall(head, text ?? '')
  }

  /** @param place the call at this place of the last list, where the delta stands in a list too. */
  #readDelta(delta: JsonObject, index: number | undefined, place?: OpenCall): OpenCall {
    const { name, text: piece } = this.#readFunction(delta.function ?? readCustomDelta(delta.custom), STREAMED)
    const id = readId(delta.id, STREAMED)
    const known = index === undefined && id === undefined && place !== undefined ? place : this.#find(index, id)
    const call =
      known === undefined || isOther(known, { id, name, text: piece }) ? this.#open(delta, name, index) : known
    // Some servers end the arguments with white space after other content has begun: it adds nothing to the call.
    const text = call.isComplete && piece?.trim() === '' ? undefined : piece
    const state = readExtraContent(delta.extra_content)
    if (text !== undefined) call.nesting.add(text)
    // The name and the id are those of the first delta that has them: some servers repeat them in every
    // one (field-lessons.md B5), others send the name later.
    const isFirst = call !== known
    const isNamed = call.name === undefined && name !== undefined
    if (isNamed) call.name = name
    if (isNamed && call.id === '' && id !== undefined) this.#identify(call, id)
    const head = call.name === undefined ? {} : this.#findTool(call.name)
    this.#collector.add({
      index: call.number,
      arguments: text,
      state,
      ...(isFirst || isNamed ? { id: call.id, ...head } : {})
    })
    return call
  }

  #identify(call: OpenCall, id: string): void {
    call.id = id
    this.#byId.set(id, call)
  }

  /** The name and the arguments text; a delta may have one of them or neither. */
  #readFunction(definition: unknown, fault: string): { name: string | undefined; text: string | undefined } {
    if (definition === undefined || definition === null) return { name: undefined, text: undefined }
    if (!isJsonObject(definition)) throw malformed(fault)
    const name = definition.name ?? ''
    if (typeof name !== 'string') throw malformed(fault)
    const text = this.#readArguments(definition.arguments ?? '')
    return { name: name === '' ? undefined : name, text: text === '' ? undefined : text }
  }

  /** Some servers send the arguments as an object and not as its JSON. */
  #readArguments(value: JsonValue): string {
    if (typeof value === 'string') return value
    return isJsonObject(value) ? this.#options.writeJson(value) : JSON.stringify(value)
  }

  #find(index: number | undefined, id: string | undefined): OpenCall | undefined {
    if (index !== undefined) return this.#byIndex.get(index)
    // Without an index the id tells the calls apart; a delta without both continues the last call.
    return id === undefined ? this.#last : this.#byId.get(id)
  }

  #open(delta: JsonObject, name: string | undefined, index: number | undefined): OpenCall {
    if (!isKnown(delta)) throw malformed(STREAMED)
    const id = readId(delta.id, STREAMED) ?? ''
    this.#completeWhole()
    const call: OpenCall = { number: this.#count++, id, name, nesting: new JsonNesting(), isComplete: false }
    this.#opened.push(call)
    if (index !== undefined) this.#byIndex.set(index, call)
    if (id !== '') this.#identify(call, id)
    this.#last = call
    return call
  }

  /** Servers send one call after the other: when something else begins, a call whose arguments are whole has no further deltas. */
  #completeWhole(): void {
    if (this.#last?.nesting.isWhole !== true) return
    this.#last.isComplete = true
    this.#collector.complete(this.#last.number)
  }

  #findTool(wireName: string): { name: string; namespace?: string } {
    return this.#options.reading.toolNames.get(wireName) ?? { name: wireName }
  }
}

/** What a delta tells of its call; empty texts are undefined. */
interface DeltaHead {
  id: string | undefined
  name: string | undefined
  text: string | undefined
}

/**
 * True for a delta that begins another call. Some servers send parallel calls whole, all with the same index, and with ids that are empty: then
 * another name, or the beginning of further arguments, tells that another call begins. A head that is repeated without arguments continues
 * the call; every other change of identity mixes the arguments of two calls.
 */
function isOther(known: OpenCall, { id, name, text }: DeltaHead): boolean {
  const hasOtherId = id !== undefined && known.id !== '' && id !== known.id
  const hasOtherName = name !== undefined && known.name !== undefined && name !== known.name
  const isChanged = hasOtherId || hasOtherName
  const isSameId = id !== undefined && id === known.id
  const mayBegin = name !== undefined && !isSameId && known.nesting.isWhole
  if (mayBegin && (isChanged || text?.trimStart().startsWith('{') === true)) return true
  if (!isChanged) return false
  throw new GatewayError('provider_protocol_error', { cause: 'stream_tool_identity_changed' })
}

const WHOLE = 'invalid_tool_call'
const STREAMED = 'invalid_stream_tool_call'

/** @param id the detailed id, for the log. */
function malformed(id: string): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: id })
}

function readId(value: unknown, fault: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') throw malformed(fault)
  return value
}

/**
 * Some servers leave the type of a call out, or send it without a value (decisions.md 81). Calls of custom tools are of a client of the same
 * wire.
 */
function isKnown({ type, custom }: JsonObject): boolean {
  const isFunction = type === undefined || type === null || type === '' || type === 'function'
  return isFunction || (type === 'custom' && isJsonObject(custom))
}

/** Signatures that a provider puts beside a call and wants back with it. */
function readExtraContent(value: unknown): ProviderState | undefined {
  return isJsonObject(value) ? { chat_compatible: { extraContent: JSON.stringify(value) } } : undefined
}

/** The call of a custom tool as that of the function of its input (decisions.md 77). */
function readCustomCall(custom: unknown): JsonObject | undefined {
  if (!isJsonObject(custom)) return undefined
  return { name: custom.name, arguments: JSON.stringify({ input: custom.input ?? '' }) }
}

/** Deltas are for observers only, who get the text of the input as it comes. */
function readCustomDelta(custom: unknown): JsonObject | undefined {
  return isJsonObject(custom) ? { name: custom.name, arguments: custom.input } : undefined
}
