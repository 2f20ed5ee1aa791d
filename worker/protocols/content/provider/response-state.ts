// The state of one response while it is read. The reader parses payloads and reports their members here; this keeps the order of the
// events, the end and the usage.

import {
  EventAssembler,
  type FinishEvent,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedEvent,
  type ProviderState,
  type ResponseIdentity,
  type ToolCallHead,
  withoutRawJson
} from '../../../normalized/index.ts'
import type { ReaderDependencies } from '../../provider-face.ts'
import { isShownId, type Payload, protocolError } from '../../shared/external-payload.ts'
import { IssuedCallIds } from '../../shared/tools/issued-call-ids.ts'
import { NO_ARGUMENTS } from '../../shared/tools/tool-arguments.ts'
import { MODEL_PREFIX } from './endpoints.ts'
import { findError } from './errors.ts'
import { isNoReason, readBlock, readEnd, type WireEnd } from './finish-reason.ts'
import type { ContentCompatibleAnomaly, ContentCompatibleReading } from './reading.ts'
import { mergeUsage, readUsage, type UsageCounts } from './usage.ts'

export interface ResponseStateOptions extends ReaderDependencies {
  reading: ContentCompatibleReading
}

export class ResponseState {
  readonly assembler = new EventAssembler()
  readonly #options: ResponseStateOptions
  #usage: UsageCounts | undefined
  #finishWord: string | null = null
  /** Why the provider refused the prompt. */
  #blockWord: string | null = null
  readonly #callIds: IssuedCallIds
  /** The response has a text that a client can show: a signature alone is none. */
  #hasReadableText = false
  readonly #reported = new Set<ContentCompatibleAnomaly>()

  constructor(options: ResponseStateOptions) {
    this.#options = options
    this.#callIds = new IssuedCallIds(options.createNonce)
  }

  get isOver(): boolean {
    return this.assembler.isTerminated
  }

  /** The provider has said why the response ends. */
  get hasEnd(): boolean {
    return this.#finishWord !== null || this.#blockWord !== null
  }

  take(): NormalizedEvent[] {
    return this.assembler.take()
  }

  /** Takes the head of a payload; the first one begins the response. Raises the provider's error when the payload is one. */
  begin(payload: Payload): void {
    if (payload.error !== undefined) {
      const error = findError(payload)
      if (error !== undefined) throw error
    }
    this.#usage = mergeUsage(this.#usage, payload.usageMetadata)
    if (this.assembler.hasStarted) return
    const { droppedToolCalls } = this.#options.reading
    if (droppedToolCalls > 0) this.#report('abandoned_tool_calls_dropped', { count: droppedToolCalls })
    const { modelVersion } = payload
    const identity = readIdentity(payload)
    // The first payload of a stream counts the tokens of the prompt (decisions.md 82).
    const usage = readUsage(this.#usage)
    this.assembler.start({
      providerModel: typeof modelVersion === 'string' && modelVersion !== '' ? removePrefix(modelVersion) : null,
      metadata: {},
      ...(identity && { identity }),
      ...(usage && { usage })
    })
  }

  /** Reads the feedback to the prompt, whose reason stands for a response without candidates. */
  feedback(feedback: unknown): void {
    const word = isJsonObject(feedback) ? feedback.blockReason : undefined
    if (typeof word === 'string' && word !== '' && word !== NO_BLOCK) this.#blockWord = word
  }

  /** Reads the parts of a candidate. Raises `provider_protocol_error` with the detailed id of a malformed one. */
  content(content: unknown): void {
    if (content === undefined || content === null) return
    if (!isJsonObject(content)) throw protocolError('invalid_content')
    const parts = content.parts ?? []
    if (!Array.isArray(parts)) throw protocolError('invalid_parts')
    for (const part of parts) this.#part(part)
  }

  /** Takes the finish reason of a candidate. Some servers send one with every chunk: the last one counts. */
  finishReason(word: unknown): void {
    if (isNoReason(word)) return
    if (typeof word !== 'string') throw protocolError('invalid_finish_reason')
    this.#finishWord = word
  }

  furtherCandidate(): void {
    this.#report('further_candidates_dropped', {})
  }

  /** Reports the usage and ends the response. Raises `provider_protocol_error` for one that has no end and no content. */
  finish(): void {
    if (this.isOver) return
    const hasContent = this.assembler.hasContent || this.assembler.toolCallCount > 0
    if (!this.hasEnd) {
      if (!hasContent) throw protocolError('invalid_finish_reason')
      this.#report('finish_reason_missing', {})
    }
    const word = this.#finishWord ?? this.#blockWord
    const end = this.#readEnd()
    if (end.type === 'failed' && !this.#hasReadableText && this.#options.reading.isPassed !== true) {
      throw new GatewayError('upstream_generation_error', { cause: `upstream finish reason ${word}` })
    }
    if (end.type === 'failed') this.#report('failed_finish_reason', {})
    else if (!end.isKnown) this.#report('unknown_finish_reason', {})
    const reason = end.type === 'failed' ? 'stop' : end.reason
    const last: Omit<FinishEvent, 'type'> = {
      // The wire has no reason of its own for calls, and agents run tools only for it
      // (field-lessons.md A6).
      reason: reason === 'stop' && this.assembler.toolCallCount > 0 ? 'tool-calls' : reason,
      providerReason: word,
      metadata: {}
    }
    if (end.type === 'reason' && end.filter !== undefined) last.filter = end.filter
    this.assembler.finish(last, readUsage(this.#usage))
  }

  fail(error: GatewayError): void {
    this.assembler.fail(error)
  }

  /** The reason of a refused prompt stands for a finish reason that is missing or unknown. */
  #readEnd(): WireEnd {
    const end = readEnd(this.#finishWord)
    const saysNothing = this.#finishWord === null || (end.type === 'reason' && !end.isKnown)
    return saysNothing && this.#blockWord !== null ? readBlock(this.#blockWord) : end
  }

  #part(part: JsonValue): void {
    if (!isJsonObject(part)) throw protocolError('invalid_part')
    const { text, functionCall, inlineData, thought, thoughtSignature } = part
    const state = readState(thoughtSignature)
    if (typeof text === 'string') this.#text(text, thought === true, state)
    else if (functionCall !== undefined && functionCall !== null) this.#call(functionCall, state)
    else if (isJsonObject(inlineData) && thought !== true) this.#file(inlineData, state)
    else if (Object.keys(part).some(member => !PART_ATTRIBUTES.has(member))) this.#report('part_ignored', {})
    else if (state !== undefined) this.#text('', thought === true, state)
  }

  /** A signature covers its own text; one that comes on an empty text covers the text before it. */
  #text(text: string, isThought: boolean, state: ProviderState | undefined): void {
    const { assembler } = this
    if (isThought) assembler.reasoning(text)
    else {
      assembler.text(text)
      this.#hasReadableText ||= text.trim() !== ''
    }
    if (state === undefined) return
    if (assembler.openBlock === (isThought ? 'reasoning' : 'text')) assembler.blockState(state)
    else if (isThought) assembler.opaqueReasoning(state)
    else assembler.opaqueText(state)
  }

  #call(call: JsonValue, state: ProviderState | undefined): void {
    if (!isJsonObject(call)) throw protocolError('invalid_tool_call')
    const { id, name } = call
    const args = call.args ?? undefined
    if (typeof name !== 'string' || name === '') throw protocolError('invalid_tool_call')
    const head: ToolCallHead = {
      id: this.#callIds.issue(id),
      ...(this.#options.reading.toolNames.get(name) ?? { name })
    }
    if (state !== undefined) head.state = state
    this.assembler.toolCall(head, args === undefined ? NO_ARGUMENTS : JSON.stringify(args))
  }

  #file(inlineData: JsonObject, state: ProviderState | undefined): void {
    const { data, mimeType } = withoutRawJson(inlineData)
    if (typeof data !== 'string') throw protocolError('invalid_part')
    const mediaType = typeof mimeType === 'string' && mimeType !== '' ? { mediaType: mimeType } : {}
    // A file stands between the texts around it.
    this.assembler.closeBlock()
    // The wire gives files no id, but clients tell them apart by one.
    this.assembler.file({ fileId: this.#options.createNonce(), ...mediaType, base64: data }, state)
  }

  /** Reports an anomaly once. */
  #report(name: ContentCompatibleAnomaly, details: Record<string, string | number>): void {
    if (this.#reported.has(name)) return
    this.#reported.add(name)
    this.#options.onAnomaly?.(name, details)
  }
}

const NO_BLOCK = 'BLOCK_REASON_UNSPECIFIED'

/** Members that describe a part and are no content of their own. */
const PART_ATTRIBUTES: ReadonlySet<string> = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'partMetadata',
  'videoMetadata'
])

function readState(signature: JsonValue | undefined): ProviderState | undefined {
  return typeof signature === 'string' && signature !== ''
    ? { content_compatible: { thoughtSignature: signature } }
    : undefined
}

function removePrefix(model: string): string {
  return model.startsWith(MODEL_PREFIX) ? model.slice(MODEL_PREFIX.length) : model
}

function readIdentity({ responseId }: Payload): ResponseIdentity | undefined {
  return isShownId(responseId) ? { id: responseId } : undefined
}
