// The state of one response while it is read. The reader parses frames and reports their members here; this keeps the order of the events,
// the end and the usage (bridge.md 8.4 and 8.5).

import {
  EventAssembler,
  type FinishEvent,
  type FinishReason,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedUsage,
  type ProviderState,
  type ResponseIdentity
} from '../../../normalized/index.ts'
import type { ReaderDependencies } from '../../provider-face.ts'
import { findExternalError } from '../../shared/errors/external-error.ts'
import { isShownId, type Payload, protocolError } from '../../shared/external-payload.ts'
import { decideReason, startResponse } from '../../shared/external-response.ts'
import { SentNumbers } from '../../shared/json/sent-numbers.ts'
import { CallReader } from './calls.ts'
import { Citations, mayCite } from './citations.ts'
import { type ContentTaker, readContent } from './content-parts.ts'
import { readFinishWord } from './finish-words.ts'
import { LeadingThought } from './leading-thought.ts'
import type { ChatCompatibleAnomaly, ChatCompatibleReading } from './reading.ts'
import { ReasoningDetails, readDetailsText } from './reasoning-details.ts'
import { readUsage } from './usage.ts'

export interface ResponseStateOptions extends ReaderDependencies {
  reading: ChatCompatibleReading
}

/** Where providers put reasoning; some want it back there on the next turn (decisions.md 81). */
type ReasoningName = 'reasoning_content' | 'reasoning' | 'content'

export class ResponseState implements ContentTaker {
  readonly assembler = new EventAssembler()
  readonly #options: ResponseStateOptions
  readonly #thought = new LeadingThought(this.assembler)
  /** Created for the first call, because most responses have none; `#details` likewise. */
  #openedCalls: CallReader | undefined
  #details: ReasoningDetails | undefined
  #citations: Citations | undefined
  /** Of the reasoning that was read last. */
  #reasoningName: ReasoningName | undefined
  /** The payload that is being read, and its JSON text. */
  #payload: { value: JsonObject; json: string } | undefined
  /** Of that payload; created for the first arguments that are an object. */
  #numbers: SentNumbers | undefined
  #usage: NormalizedUsage | null = null
  #finishWord: string | null = null
  #stopSequence: string | undefined
  #isFurtherChoiceReported = false

  constructor(options: ResponseStateOptions) {
    this.#options = options
  }

  get isOver(): boolean {
    return this.assembler.isTerminated
  }

  /** The request has something to report with the beginning of its response. */
  get hasReports(): boolean {
    return this.#options.reading.droppedToolCalls > 0
  }

  /** The provider has sent a finish reason. */
  get hasFinishWord(): boolean {
    return this.#finishWord !== null
  }

  get finishWord(): string | null {
    return this.#finishWord
  }

  get calls(): CallReader {
    const { reading, createNonce } = this.#options
    this.#openedCalls ??= new CallReader({
      assembler: this.assembler,
      reading,
      createNonce,
      writeJson: value => this.#writeJson(value)
    })
    return this.#openedCalls
  }

  get callCount(): number {
    return this.#openedCalls?.count ?? 0
  }

  take(): NormalizedEvent[] {
    return this.assembler.take()
  }

  /**
   * Begins the response with its first payload. Raises the provider's error when the payload is one.
   * @param json the text of the payload.
   */
  begin(payload: JsonObject, json: string): void {
    this.#payload = { value: payload, json }
    this.#numbers = undefined
    if (payload.error !== undefined || payload.message !== undefined) {
      const error = findExternalError(payload)
      if (error !== undefined) throw error
    }
    if (mayCite(payload)) this.cite(payload)
    if (this.assembler.hasStarted || isReportOfFilter(payload)) return
    const { droppedToolCalls } = this.#options.reading
    if (droppedToolCalls > 0) this.report('abandoned_tool_calls_dropped', { count: droppedToolCalls })
    const { model } = payload
    startResponse(this.assembler, model, { identity: readIdentity(payload) })
  }

  /** Counts of a later payload replace those of an earlier one: some servers send the counts so far with every chunk. */
  usage(usage: unknown): void {
    if (usage !== undefined && usage !== null) this.#usage = readUsage(usage) ?? this.#usage
  }

  /** Reads `content`, which is a text or a list of parts. Raises `provider_protocol_error` for any other value. */
  content(content: unknown, fault: string): void {
    readContent(content, this, fault)
  }

  text(piece: string): void {
    if (this.#openedCalls !== undefined) {
      this.#openedCalls.pass(piece.length, () => this.#addText(piece))
    } else this.#addText(piece)
  }

  refusal(piece: string): void {
    if (piece === '') return
    this.#pass(piece.length, () => {
      this.#endReasoning()
      this.#citations?.endText()
      this.assembler.refusal(piece)
    })
  }

  thinking(piece: string): void {
    this.#addReasoning(piece, 'content')
  }

  /** Reads the pages that a payload, a message or a delta cites. */
  cite(holder: Payload): void {
    this.#citations ??= new Citations(this.assembler)
    this.#citations.add(holder)
  }

  /** Reads the members in which providers send reasoning; at most one of them is shown. */
  reasoning({ reasoning_content: content, reasoning, reasoning_details: details }: Payload): void {
    const list = Array.isArray(details) ? details : undefined
    const name = isText(content) ? 'reasoning_content' : isText(reasoning) ? 'reasoning' : undefined
    const piece = isText(content) ? content : reasoning
    if (isText(piece)) this.#addReasoning(piece, name)
    else if (list !== undefined) this.#addReasoning(readDetailsText(list), undefined)
    if (list === undefined || list.length === 0) return
    this.assembler.keep(JSON.stringify(list).length)
    this.#details ??= new ReasoningDetails()
    this.#details.add(list)
  }

  /** Prepares for calls: all text before them is passed on. */
  beginCalls(): CallReader {
    if (this.#openedCalls === undefined) {
      this.#thought.flush()
      this.#citations?.endText()
      this.#endReasoning()
    } else if (this.assembler.openBlock === 'reasoning') this.#endReasoning()
    return this.calls
  }

  /** Takes the finish reason of a choice. */
  finishReason(word: string, choice: Payload): void {
    this.#finishWord = word
    const { stop_reason: matched } = choice
    const isStop = typeof matched === 'string' && this.#options.reading.stops.includes(matched)
    if (word === 'stop' && isStop) this.#stopSequence = matched
  }

  furtherChoice(): void {
    if (this.#isFurtherChoiceReported) return
    this.#isFurtherChoiceReported = true
    this.report('further_choices_dropped', {})
  }

  /** Decides for a response without a finish reason whether its content can be all of it. */
  mayEndWithoutReason(): boolean {
    this.#thought.flush()
    const hasContent = this.assembler.hasContent || this.callCount > 0
    return hasContent && this.#openedCalls?.areWhole !== false
  }

  /** Passes on what waits, then the usage, and ends the response. */
  finish(): void {
    if (this.isOver) return
    this.#openedCalls?.finish()
    this.#thought.flush()
    this.#citations?.endText()
    const state = this.#takeReasoningState()
    if (state !== undefined) {
      if (this.assembler.openBlock !== 'reasoning') this.assembler.closeBlock()
      this.assembler.blockState(state)
    }
    // A stream of nothing but its counts has not begun.
    if (!this.assembler.hasStarted) startResponse(this.assembler, undefined, { identity: {} })
    if (this.#finishWord === null) this.report('finish_reason_missing', {})
    const end: Omit<FinishEvent, 'type'> = {
      reason: this.#mapFinish(),
      providerReason: this.#finishWord,
      metadata: {}
    }
    if (this.#stopSequence !== undefined) end.stopSequence = this.#stopSequence
    this.assembler.finish(end, this.#usage)
  }

  fail(error: GatewayError): void {
    this.assembler.fail(error)
  }

  report(name: ChatCompatibleAnomaly, details: Record<string, string | number>): void {
    this.#options.onAnomaly?.(name, details)
  }

  #mapFinish(): FinishReason {
    const finish = readFinishWord(this.#finishWord)
    // What there is of a failed response can be used, like one that is cut off.
    const isEmpty = !this.assembler.hasContent && this.callCount === 0
    if (finish === 'failed' && isEmpty) throw new GatewayError('upstream_generation_error')
    const reason = finish === 'failed' ? 'length' : finish
    return decideReason(reason, this.callCount, () => this.report('announced_tool_call_missing', {}))
  }

  #addText(piece: string): void {
    const hasState = this.#details !== undefined || this.#reasoningName !== undefined
    if (hasState && piece !== '') this.#endReasoning()
    this.#thought.push(piece)
  }

  #addReasoning(text: string, name: ReasoningName | undefined): void {
    if (text === '') return
    this.#thought.expectText()
    this.#pass(text.length, () => {
      this.#citations?.endText()
      this.#reasoningName = name
      this.assembler.reasoning(text)
    })
  }

  /** The JSON of a value of the payload that is being read, with the digits of its large integers. */
  #writeJson(value: JsonObject): string {
    const payload = this.#payload
    this.#numbers ??= payload && new SentNumbers(payload.value, Buffer.from(payload.json))
    return this.#numbers?.writeExact(value) ?? JSON.stringify(value)
  }

  /** Passes on content other than text. */
  #pass(characters: number, feed: () => void): void {
    if (this.#openedCalls === undefined) {
      this.#thought.flush()
      feed()
      return
    }
    this.#openedCalls.pass(characters, () => {
      this.#thought.flush()
      feed()
    })
  }

  /** The state so far belongs to the reasoning before the content that begins. */
  #endReasoning(): void {
    const state = this.#takeReasoningState()
    if (state === undefined) return
    if (this.assembler.openBlock === 'reasoning') this.assembler.blockState(state)
    else this.assembler.opaqueReasoning(state)
  }

  /** What the provider wants back with its reasoning; undefined when there is nothing new. */
  #takeReasoningState(): ProviderState | undefined {
    const details = this.#details?.take()
    const name = this.assembler.openBlock === 'reasoning' ? this.#reasoningName : undefined
    if (details === undefined && name === undefined) return undefined
    this.#reasoningName = undefined
    return {
      chat_compatible: {
        ...(details === undefined ? {} : { reasoningDetails: details }),
        ...(name === undefined ? {} : { reasoningName: name })
      }
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** A service sends the report of its filter on the prompt before everything else, in a chunk without a name (field-lessons.md A1). */
function isReportOfFilter({ id, choices }: Payload): boolean {
  return (id === undefined || id === '') && Array.isArray(choices) && choices.length === 0
}

/** The text of a member that may be missing or null. Raises `provider_protocol_error` for any other value. */
export function readPiece(value: unknown, fault: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw protocolError(fault)
  return value
}

/** The list of a member that may be missing or null. */
export function readList(value: unknown, fault: string): readonly unknown[] {
  if (value === undefined || value === null) return NOTHING
  if (!Array.isArray(value)) throw protocolError(fault)
  return value
}

const NOTHING: readonly unknown[] = []

/** The legacy call of a message or delta; undefined when there is none. */
export function readLegacyCall(value: unknown, fault: string): JsonObject | undefined {
  if (value === undefined || value === null) return undefined
  if (!isJsonObject(value)) throw protocolError(fault)
  return value
}

function readIdentity({ id, created, system_fingerprint: fingerprint }: Payload): ResponseIdentity {
  const identity: ResponseIdentity = {}
  if (isShownId(id)) {
    identity.id = id
    if (typeof created === 'number' && Number.isSafeInteger(created) && created > 0) identity.createdAt = created
  }
  if (isShownId(fingerprint)) identity.fingerprint = fingerprint
  return identity
}
