// The state of one response while it is read. The reader parses frames and reports their members here; this keeps the order of the events,
// the end and the usage (bridge.md 8.4 and 8.5).

import {
  EventAssembler,
  type FinishEvent,
  type FinishReason,
  type GatewayError,
  isJsonObject,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedUsage,
  type ProviderState,
  type ResponseIdentity
} from '../../../normalized/index.ts'
import type { ReaderDependencies } from '../../face.ts'
import { findExternalError } from '../../shared/external-error.ts'
import { isShownId, type Payload, protocolError } from '../../shared/external-payload.ts'
import { decideReason, startResponse } from '../../shared/external-response.ts'
import { CallReader } from './calls.ts'
import { LeadingThought } from './leading-thought.ts'
import type { ChatCompatibleAnomaly, ChatCompatibleReading } from './reading.ts'
import { ReasoningDetails, readDetailsText } from './reasoning-details.ts'
import { readUsage } from './usage.ts'

export interface ResponseStateOptions extends ReaderDependencies {
  reading: ChatCompatibleReading
}

const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  content_filter: 'content-filter'
}

export class ResponseState {
  readonly assembler = new EventAssembler()
  readonly #options: ResponseStateOptions
  readonly #thought = new LeadingThought(this.assembler)
  /** Created for the first call, because most responses have none; `#details` likewise. */
  #openedCalls: CallReader | undefined
  #details: ReasoningDetails | undefined
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
    this.#openedCalls ??= new CallReader({ assembler: this.assembler, reading, createNonce })
    return this.#openedCalls
  }

  get callCount(): number {
    return this.#openedCalls?.count ?? 0
  }

  take(): NormalizedEvent[] {
    return this.assembler.take()
  }

  /** Begins the response with its first payload. Raises the provider's error when the payload is one. */
  begin(payload: Payload): void {
    if (payload.error !== undefined || payload.message !== undefined) {
      const error = findExternalError(payload)
      if (error !== undefined) throw error
    }
    if (this.assembler.hasStarted) return
    const { droppedToolCalls } = this.#options.reading
    if (droppedToolCalls > 0) this.report('abandoned_tool_calls_dropped', { count: droppedToolCalls })
    const { model } = payload
    startResponse(this.assembler, model, readIdentity(payload))
  }

  /** Counts of a later payload replace those of an earlier one: some servers send the counts so far with every chunk. */
  usage(usage: unknown): void {
    if (usage !== undefined && usage !== null) this.#usage = readUsage(usage) ?? this.#usage
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
      this.assembler.refusal(piece)
    })
  }

  /** Reads the members in which providers send reasoning; at most one of them is shown. */
  reasoning({ reasoning_content: content, reasoning, reasoning_details: details }: Payload): void {
    const list = Array.isArray(details) ? details : undefined
    const piece = [content, reasoning].find(value => typeof value === 'string' && value !== '')
    const text = typeof piece === 'string' ? piece : list === undefined ? '' : readDetailsText(list)
    if (text !== '') {
      this.#thought.expectText()
      this.#pass(text.length, () => this.assembler.reasoning(text))
    }
    if (list === undefined || list.length === 0) return
    this.assembler.keep(JSON.stringify(list).length)
    this.#details ??= new ReasoningDetails()
    this.#details.add(list)
  }

  /** Prepares for calls: all text before them is passed on. */
  beginCalls(): CallReader {
    if (this.#openedCalls === undefined) {
      this.#thought.flush()
      this.#endReasoning()
    }
    return this.calls
  }

  /** Takes the finish reason of a choice. Raises `provider_protocol_error` for an unknown one. */
  finishReason(word: string, choice: Payload): void {
    if (!Object.hasOwn(finishReasons, word)) throw protocolError('invalid_finish_reason')
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
    this.#openedCalls?.finish(isCutAt(this.#finishWord))
    this.#thought.flush()
    const details = this.#details?.take()
    if (details !== undefined) {
      const state: ProviderState = { chat_compatible: { reasoningDetails: details } }
      if (this.assembler.openBlock === 'reasoning') this.assembler.blockState(state)
      else {
        this.assembler.closeBlock()
        this.assembler.blockState(state)
      }
    }
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
    const reason = finishReasons[this.#finishWord ?? 'stop'] ?? 'stop'
    return decideReason(reason, this.callCount, () => this.report('announced_tool_call_missing', {}))
  }

  #addText(piece: string): void {
    if (this.#details !== undefined && piece !== '') this.#endReasoning()
    this.#thought.push(piece)
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

  /** The details so far belong to the reasoning before the content that begins. */
  #endReasoning(): void {
    const details = this.#details?.take()
    if (details === undefined) return
    const state: ProviderState = { chat_compatible: { reasoningDetails: details } }
    if (this.assembler.openBlock === 'reasoning') this.assembler.blockState(state)
    else this.assembler.opaqueReasoning(state)
  }
}

/** True for the finish reasons of a response that ended before the model did. */
export function isCutAt(finishWord: unknown): boolean {
  return finishWord === 'length' || finishWord === 'content_filter'
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

function readIdentity({ id, created }: Payload): ResponseIdentity | undefined {
  if (!isShownId(id)) return undefined
  return typeof created === 'number' && Number.isSafeInteger(created) && created > 0
    ? { id, createdAt: created }
    : { id }
}
