// Reads the tool calls of a response: whole, or as deltas that an index tells apart and that may interleave (bridge.md 8.4 and 8.5).

import {
  CallCollector,
  type EventAssembler,
  GatewayError,
  isJsonObject,
  JsonNesting,
  type JsonObject,
  type ProviderState,
  type ToolCallHead,
  writeToolCallId
} from '../../../normalized/index.ts'
import { toShortCallId } from '../../shared/tool-call-ids.ts'
import type { ChatCompatibleReading } from './reading.ts'

export interface CallReaderOptions {
  assembler: EventAssembler
  reading: ChatCompatibleReading
  createNonce: () => string
}

/** A call whose deltas are being read. */
interface OpenCall {
  /** Counts the calls of the stream: the wire's own index may stand for several calls. */
  number: number
  id: string
  name: string
  nesting: JsonNesting
}

/** The place of the legacy member `function_call`, which has no index. */
const LEGACY_INDEX = -1

export class CallReader {
  readonly #options: CallReaderOptions
  readonly #collector: CallCollector
  readonly #byIndex = new Map<number, OpenCall>()
  readonly #byId = new Map<string, OpenCall>()
  #last: OpenCall | undefined
  #count = 0
  readonly #issuedIds = new Set<string>()

  constructor(options: CallReaderOptions) {
    this.#options = options
    this.#collector = new CallCollector({
      assembler: options.assembler,
      issueId: ({ id }) => this.#issueId(id)
    })
  }

  /** How many calls the response has so far. */
  get count(): number {
    return this.#count
  }

  /** Passes on content of another kind, after the calls that began before it. */
  pass(characters: number, feed: () => void): void {
    this.#completeWhole()
    this.#collector.pass(characters, feed)
  }

  /** Reads the calls of a whole message. Raises `provider_protocol_error` for a malformed call. */
  readWhole(calls: readonly unknown[]): void {
    for (const call of calls) {
      if (!isJsonObject(call) || typeof call.id !== 'string' || call.type !== 'function') throw malformed(WHOLE)
      this.#addWhole(call.id, call.function, call.extra_content)
    }
  }

  /** Reads the legacy call of a whole message, which has no id. */
  readWholeLegacy(call: JsonObject): void {
    this.#addWhole('', call, undefined)
  }

  /** Reads the deltas of one frame. Raises `provider_protocol_error` for a malformed or changed call. */
  readDeltas(deltas: readonly unknown[]): void {
    for (const delta of deltas) {
      if (!isJsonObject(delta)) throw malformed(STREAMED)
      const index = delta.index ?? undefined
      if (index !== undefined && (!Number.isSafeInteger(index) || (index as number) < 0)) throw malformed(STREAMED)
      this.#readDelta(delta, index as number | undefined)
    }
  }

  /** Reads a delta of the legacy call. */
  readLegacyDelta(call: JsonObject): void {
    this.#readDelta({ id: '', type: 'function', function: call }, LEGACY_INDEX)
  }

  /** The response has no further deltas: passes on everything that waits. */
  finish(): void {
    this.#collector.finish()
  }

  #addWhole(id: string, definition: unknown, extraContent: unknown): void {
    const { name, text } = readFunction(definition, WHOLE)
    const hasText = isJsonObject(definition) && typeof definition.arguments === 'string'
    if (name === undefined || !hasText) throw malformed(WHOLE)
    if (this.#options.reading.needsJsonArguments && text !== undefined && !isJson(text)) throw malformed(WHOLE)
    this.#count++
    const head: ToolCallHead = { id: this.#issueId(id), ...this.#findTool(name) }
    const state = readExtraContent(extraContent)
    if (state !== undefined) head.state = state
    this.#options.assembler.toolCall(head, text ?? '')
  }

  #readDelta(delta: JsonObject, index: number | undefined): void {
    const { name, text } = readFunction(delta.function, STREAMED)
    const id = readId(delta.id)
    const known = this.#find(index, id)
    const call = known === undefined || this.#isOther(known, id, name) ? this.#open(delta, name, index) : known
    const state = readExtraContent(delta.extra_content)
    if (text !== undefined) call.nesting.add(text)
    // The name and the id are those of the first delta: some servers repeat them in every one (field lesson B5).
    const isFirst = call !== known
    this.#collector.add({
      index: call.number,
      arguments: text,
      state,
      ...(isFirst ? { id: call.id, ...this.#findTool(call.name) } : {})
    })
  }

  #find(index: number | undefined, id: string | undefined): OpenCall | undefined {
    if (index !== undefined) return this.#byIndex.get(index)
    // Without an index the id tells the calls apart; a delta without both continues the last call.
    return id === undefined ? this.#last : this.#byId.get(id)
  }

  /**
   * True for a delta that begins another call. Some servers send parallel calls whole, all with the same index; every other change of
   * identity mixes the arguments of two calls.
   */
  #isOther(known: OpenCall, id: string | undefined, name: string | undefined): boolean {
    const hasOtherId = id !== undefined && known.id !== '' && id !== known.id
    const hasOtherName = name !== undefined && name !== known.name
    if (!hasOtherId && !hasOtherName) return false
    if (hasOtherId && name !== undefined && known.nesting.isWhole) return true
    throw new GatewayError('provider_protocol_error', { cause: 'stream_tool_identity_changed' })
  }

  #open(delta: JsonObject, name: string | undefined, index: number | undefined): OpenCall {
    const { id } = delta
    if (typeof id !== 'string' || delta.type !== 'function' || name === undefined) throw malformed(STREAMED)
    this.#completeWhole()
    const call: OpenCall = { number: this.#count++, id, name, nesting: new JsonNesting() }
    if (index !== undefined) this.#byIndex.set(index, call)
    if (id !== '') this.#byId.set(id, call)
    this.#last = call
    return call
  }

  /** Servers send one call after the other: when something else begins, a call whose arguments are whole has no further deltas. */
  #completeWhole(): void {
    if (this.#last?.nesting.isWhole === true) this.#collector.complete(this.#last.number)
  }

  #findTool(wireName: string): { name: string; namespace?: string } {
    return this.#options.reading.toolNames.get(wireName) ?? { name: wireName }
  }

  /** The id that the client sees: the provider's own where it is unique and has the form that clients accept (field lesson B4). */
  #issueId(id: string | undefined): string {
    const wireId = id === undefined || id === '' ? undefined : toShortCallId(id)
    const issued =
      wireId !== undefined && !this.#issuedIds.has(wireId)
        ? wireId
        : writeToolCallId({
            stateId: undefined,
            name: undefined,
            callNumber: this.#issuedIds.size,
            nonce: this.#options.createNonce()
          })
    this.#issuedIds.add(issued)
    return issued
  }
}

const WHOLE = 'invalid_tool_call'
const STREAMED = 'invalid_stream_tool_call'

/** @param id the detailed id, for the log. */
function malformed(id: string): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: id })
}

function readId(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw malformed(STREAMED)
  return value
}

/** The name and the arguments text; a delta may have one of them or neither. */
function readFunction(definition: unknown, fault: string): { name: string | undefined; text: string | undefined } {
  if (definition === undefined || definition === null) return { name: undefined, text: undefined }
  if (!isJsonObject(definition)) throw malformed(fault)
  const name = definition.name ?? ''
  const text = definition.arguments ?? ''
  if (typeof name !== 'string' || typeof text !== 'string') throw malformed(fault)
  return { name: name === '' ? undefined : name, text: text === '' ? undefined : text }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Signatures that a provider puts beside a call and wants back with it. */
function readExtraContent(value: unknown): ProviderState | undefined {
  return isJsonObject(value) ? { chat_compatible: { extraContent: JSON.stringify(value) } } : undefined
}
