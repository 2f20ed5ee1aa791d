// The state of one response while it is read, shared by both contracts. The readers parse frames and report their members here;
// this keeps the order, names, ids, metadata and the end.

import {
  EventAssembler,
  type FinishEvent,
  GatewayError,
  isJsonObject,
  type JsonValue,
  type NativeState,
  type NormalizedEvent,
  type NormalizedUsage,
  withoutRawJson
} from '../../normalized/index.ts'
import { METADATA_VALUE_CHARACTERS_MAX } from './constants.ts'
import { findPayloadError } from './errors.ts'
import { isFailure, mapFinishReason } from './finish-reason.ts'
import { HostedRuns } from './hosted-runs.ts'
import type { NativeAnomaly, NativeReaderOptions } from './reading.ts'
import { SourceBook } from './sources.ts'
import { type CallSummary, ToolCallCollector } from './tool-calls.ts'
import { mergeUsage } from './usage.ts'
import { VisibleText } from './visible-text.ts'

export type Payload = Record<string, unknown>

export interface NativeResponseOptions {
  dependencies: NativeReaderOptions
  /** v2 has hosted tools with sources, and the next turn must return the state id of a call. */
  contract: 'v1' | 'v2'
}

/** Members that may contain the state id; the first one present wins. */
const STATE_ID_MEMBERS = ['tools_state_id', 'tool_state_id', 'functions_state_id', 'function_state_id'] as const

/** More state ids would exceed the limit of a metadata value. */
const MESSAGE_STATE_IDS_MAX = 16

export class NativeResponseState {
  readonly assembler = new EventAssembler()
  readonly calls: ToolCallCollector
  readonly #dependencies: NativeReaderOptions
  readonly #contract: 'v1' | 'v2'
  readonly #visible: VisibleText
  /** Created for the first run of a hosted tool, because most responses have none; likewise the sources, files and state ids. */
  #openedRuns: HostedRuns | undefined
  #openedSources: SourceBook | undefined
  readonly #metadata: Record<string, string> = {}
  #fileIds: Set<string> | undefined
  /** State ids of the response's messages with the role of each message. */
  #messageStateIds: Map<string, string> | undefined
  /** The response itself has a message id, so those of its messages do not count. */
  #hasOwnMessageId = false
  readonly #state: NativeState = {}
  #usage: NormalizedUsage | null = null
  #finishWord: string | null = null

  constructor({ dependencies, contract }: NativeResponseOptions) {
    this.#dependencies = dependencies
    this.#contract = contract
    this.calls = new ToolCallCollector({
      assembler: this.assembler,
      dependencies,
      needsStateId: contract === 'v2',
      onAnswered: (call, result) => this.hosted.addAnswered(call, result)
    })
    this.#visible =
      contract === 'v1'
        ? new VisibleText({ assembler: this.assembler })
        : new VisibleText({
            assembler: this.assembler,
            onSourceMarker: ids => this.#sources.cite(ids, this.#visible)
          })
  }

  get hosted(): HostedRuns {
    this.#openedRuns ??= new HostedRuns(this.assembler)
    return this.#openedRuns
  }

  get #sources(): SourceBook {
    this.#openedSources ??= new SourceBook(this.assembler)
    return this.#openedSources
  }

  get #hasRuns(): boolean {
    return this.#openedRuns?.hasRuns === true
  }

  get isOver(): boolean {
    return this.assembler.isTerminated
  }

  /** True when the upstream has sent a finish reason; further frames may still follow. */
  get hasFinishWord(): boolean {
    return this.#finishWord !== null
  }

  /** The events since the last take. */
  take(): NormalizedEvent[] {
    return this.assembler.take()
  }

  /**
   * Reads the members of a payload outside its content. False when the payload is an error, which ends the response.
   * @param isReadable false for a payload without content: it begins no response (decisions.md 61).
   */
  begin(payload: Payload, isReadable: boolean): boolean {
    if (payload.status !== undefined || payload.error !== undefined) {
      const error = findPayloadError(payload)
      if (error !== undefined) {
        this.fail(error)
        return false
      }
    }
    if (payload.thread_id !== undefined) this.#noteThread(payload.thread_id)
    if (payload.message_id !== undefined) this.#noteOwnMessageId(payload.message_id)
    if (isReadable && !this.assembler.hasStarted) this.#start(payload)
    return true
  }

  text(piece: unknown): void {
    if (typeof piece !== 'string' || piece === '') return
    if (this.calls.count > 0) this.calls.settle()
    this.#visible.push(piece)
  }

  reasoning(piece: unknown): void {
    // The upstream sends null when there is no reasoning: null is ignored and must not end a block
    // (field-lessons.md C2).
    if (typeof piece !== 'string' || piece === '') return
    if (this.calls.count > 0) this.calls.settle()
    this.#visible.pushReasoning(piece)
  }

  /** @param holder the object that has the member: a part or a message; it may also hold ids. */
  functionCall(call: unknown, holder: Payload, messageStateId: string | undefined): void {
    if (!isJsonObject(call)) return
    this.#visible.flush()
    this.calls.add({
      name: typeof call.name === 'string' ? call.name : '',
      arguments: call.arguments,
      partId: readId(call.id) ?? (this.#contract === 'v2' ? readId(holder.id) : undefined),
      stateId: findStateId(call) ?? findStateId(holder) ?? messageStateId
    })
  }

  /** Takes a result of the payload for one of its calls or of an earlier one; the calls of the payload come after it. */
  functionResult(result: unknown, messageStateId: string | undefined): void {
    if (!isJsonObject(result) || typeof result.name !== 'string' || result.name === '') return
    this.calls.expectAnswer({
      name: result.name,
      result: result.result,
      stateId: findStateId(result) ?? messageStateId
    })
  }

  /** Takes a state id of a message or of the whole payload. */
  noteStateId(stateId: string, of: { role: string; holdsCalls: boolean }): void {
    this.#state.toolStateId = stateId
    this.#messageStateIds ??= new Map()
    if (this.#messageStateIds.size < MESSAGE_STATE_IDS_MAX && !this.#messageStateIds.has(stateId)) {
      this.assembler.keep(stateId.length + of.role.length)
      this.#messageStateIds.set(stateId, of.role)
    }
    if (!of.holdsCalls) this.calls.noteStateId(stateId)
  }

  /**
   * Takes the id of one message of the response: it counts only when the response has no id of its
   * own (decisions.md 62).
   */
  noteMessageId(messageId: unknown): void {
    const id = this.#hasOwnMessageId ? undefined : readId(messageId)
    if (id !== undefined) this.#setMessageId(id)
  }

  inlineData(inlineData: unknown): void {
    if (!isJsonObject(inlineData)) return
    // Events cross threads, which raw JSON cannot.
    const data = withoutRawJson(inlineData)
    this.hosted.complete(data, this.#sources.add(data))
  }

  /** Reads generated files; a later frame may repeat them. */
  files(files: unknown): void {
    if (!Array.isArray(files)) return
    for (const file of files) {
      const fileId = isJsonObject(file) ? readId(file.id) : undefined
      if (fileId === undefined || this.#fileIds?.has(fileId) === true) continue
      this.#fileIds ??= new Set()
      this.#fileIds.add(fileId)
      this.assembler.file({
        fileId,
        ...(typeof file.mime === 'string' ? { mediaType: file.mime } : {}),
        ...(typeof file.target === 'string' ? { target: file.target } : {}),
        ...(typeof file.url === 'string' && LINK.test(file.url) ? { url: file.url } : {})
      })
    }
  }

  usage(usage: NormalizedUsage | null): void {
    this.#usage = mergeUsage(this.#usage, usage)
  }

  /**
   * Takes the finish reason. Some builds send '' until the end, so only the last non-empty word
   * counts (field-lessons.md A10).
   */
  finishWord(word: unknown): void {
    if (typeof word === 'string' && word !== '') this.#finishWord = word
  }

  /** Passes on all held content and ends the response. */
  finish(): void {
    if (this.isOver) return
    const word = this.#finishWord
    if (isFailure(word)) {
      this.fail(new GatewayError('upstream_generation_error', { cause: `upstream finish reason ${word}` }))
      return
    }
    this.calls.settle()
    this.#visible.flush()
    this.#openedRuns?.finish({ hasFiles: this.#fileIds !== undefined })
    const { reading } = this.#dependencies
    if (!reading.isStructuredOutput) this.#openedSources?.writeList(this.#visible)
    this.calls.finish()
    const end = mapFinishReason(word, this.calls)
    this.#reportAnomalies(word, end)
    this.#writeFinishMetadata(word, end.isKnown)
    const last: Omit<FinishEvent, 'type'> = {
      reason: end.reason,
      providerReason: word,
      metadata: { ...this.#metadata }
    }
    if (end.filter !== undefined) last.filter = end.filter
    if (this.#state.threadId !== undefined) last.conversationId = this.#state.threadId
    if (Object.keys(this.#state).length > 0) last.state = { native: { ...this.#state } }
    this.assembler.finish(last, this.#usage)
  }

  fail(error: GatewayError): void {
    this.assembler.fail(error)
  }

  /** Ends a response that cannot be used. `reason` is for the log. */
  failProtocol(reason: string): void {
    this.fail(new GatewayError('provider_protocol_error', { cause: reason }))
  }

  #start(payload: Payload): void {
    const { ids, reading } = this.#dependencies
    this.#note('upstream_x_request_id', ids.upstreamRequestId)
    this.#note('upstream_x_session_id', ids.upstreamSessionId)
    if (reading.droppedAttachments > 0) {
      this.#note('upstream_dropped_attachments', String(reading.droppedAttachments))
    }
    if (reading.droppedToolCalls > 0) this.#report('abandoned_tool_calls_dropped', { count: reading.droppedToolCalls })
    const providerModel = typeof payload.model === 'string' && payload.model !== '' ? payload.model : null
    const { threadId } = this.#state
    this.assembler.start({
      providerModel,
      ...(threadId === undefined ? {} : { conversationId: threadId }),
      metadata: { ...this.#metadata }
    })
  }

  #noteThread(threadId: unknown): void {
    const id = readId(threadId)
    if (id === undefined) return
    this.#state.threadId = id
    this.#note('upstream_thread_id', id)
  }

  #noteOwnMessageId(messageId: unknown): void {
    const id = readId(messageId)
    if (id === undefined) return
    this.#hasOwnMessageId = true
    this.#setMessageId(id)
  }

  #setMessageId(id: string): void {
    this.#state.messageId = id
    this.#note('upstream_message_id', id)
  }

  #note(key: string, value: string | undefined): void {
    if (value !== undefined && value !== '' && value.length <= METADATA_VALUE_CHARACTERS_MAX) {
      this.#metadata[key] = value
    }
  }

  #writeFinishMetadata(word: string | null, isKnown: boolean): void {
    if (word !== null && !isKnown) this.#note('upstream_finish_reason', word)
    this.#note('upstream_tool_state_id', this.#state.toolStateId)
    if (this.#messageStateIds !== undefined) {
      const stateIds = Array.from(this.#messageStateIds, ([id, role]) => ({ tools_state_id: id, role }))
      this.#note('upstream_message_tools_state_ids', writeEntries(stateIds))
    }
    const runs = this.#openedRuns?.runs ?? []
    if (runs.length === 0 && this.calls.count === 0) return
    const called = [...runs.map(run => run.answered?.call ?? { name: run.name }), ...this.calls.summaries]
    this.#note('upstream_called_tools', writeEntries(called.map(writeCalledTool), 'arguments'))
    if (runs.length > 0) this.#note('upstream_tool_results', writeEntries(runs.map(writeToolResult), 'result'))
  }

  #reportAnomalies(word: string | null, end: { isKnown: boolean; isCallMissing: boolean }): void {
    if (word === null) this.#report('finish_reason_missing', {})
    if (!end.isKnown) this.#report('finish_reason_unknown', { reason: (word ?? '').slice(0, 64) })
    if (end.isCallMissing) this.#report('announced_tool_call_missing', {})
    if (!this.#dependencies.reading.expectsToolCall || this.calls.count > 0 || this.#hasRuns) return
    this.#report('forced_tool_call_missing', {})
  }

  #report(name: NativeAnomaly, details: Record<string, string | number>): void {
    this.#dependencies.onAnomaly?.(name, details)
  }
}

/** A link that a client may show. */
const LINK = /^https?:\/\/[^\s()<>]+$/i

interface MetadataEntry {
  name?: string
  arguments?: JsonValue
  status?: string
  result?: unknown
  tools_state_id?: string
  role: string
}

function writeCalledTool({ name, arguments: sent, stateId }: CallSummary): MetadataEntry {
  return {
    name,
    ...(sent === undefined ? {} : { arguments: sent }),
    ...(stateId === undefined ? {} : { tools_state_id: stateId }),
    role: 'assistant'
  }
}

function writeToolResult({ name, status, answered }: HostedRuns['runs'][number]): MetadataEntry {
  const stateId = answered?.call.stateId
  return {
    name,
    status,
    ...(answered?.result === undefined ? {} : { result: answered.result }),
    ...(stateId === undefined ? {} : { tools_state_id: stateId }),
    role: 'tool'
  }
}

/** Writes a list for the metadata, numbered. A list that is too long is written without the member `large` of its entries. */
function writeEntries(entries: readonly MetadataEntry[], large?: 'arguments' | 'result'): string {
  const text = JSON.stringify(entries.map((entry, index) => ({ index, ...entry })))
  if (text.length <= METADATA_VALUE_CHARACTERS_MAX || large === undefined) return text
  return JSON.stringify(entries.map((entry, index) => ({ index, ...entry, [large]: undefined })))
}

/** Finds the state id of a tool turn, which has several possible member names. */
export function findStateId(holder: Payload): string | undefined {
  for (const member of STATE_ID_MEMBERS) {
    const id = readId(holder[member])
    if (id !== undefined) return id
  }
  return undefined
}

function readId(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
