// The state of one response while it is read. The reader parses frames and reports their members here; this keeps the order of the events,
// the end and the usage. A whole response is reported as blocks that begin with all of their content.

import {
  ENTRY_CHARACTERS,
  EventAssembler,
  type FinishEvent,
  type FinishReason,
  type GatewayError,
  type NormalizedEvent,
  type ResponseIdentity
} from '../../../normalized/index.ts'
import type { ReaderDependencies } from '../../provider-face.ts'
import { findExternalError } from '../../shared/errors/external-error.ts'
import { isShownId, type Payload, protocolError } from '../../shared/external-payload.ts'
import { decideReason, startResponse } from '../../shared/external-response.ts'
import { IssuedCallIds } from '../../shared/tools/issued-call-ids.ts'
import { BlockOrder } from './block-order.ts'
import { type BlockReader, createBlockReader } from './blocks.ts'
import type { MessagesCompatibleAnomaly, MessagesCompatibleReading } from './reading.ts'
import { UsageReader } from './usage.ts'

export interface ResponseStateOptions extends ReaderDependencies {
  reading: MessagesCompatibleReading
}

const finishReasons: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  // The service paused its own tools, which this wire never asks for.
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool-calls',
  refusal: 'content-filter'
}

/** A longer word of a provider is cut for logs. */
const WORD_CHARACTERS_MAX = 64

export class ResponseState {
  readonly assembler = new EventAssembler()
  readonly #options: ResponseStateOptions
  readonly #usage = new UsageReader()
  readonly #reported = new Set<string>()
  readonly #issuedIds: IssuedCallIds
  readonly #order = new BlockOrder(this.assembler)
  /** The blocks that began, by their index: a delta or an end may come for each of them. */
  readonly #blocks = new Map<number, BlockReader>()
  #lastBlock: BlockReader | undefined
  #blockCount = 0
  #hasBlocks = false
  #isLastOver = true
  #stopReason: string | null = null
  #stopSequence: string | undefined

  constructor(options: ResponseStateOptions) {
    this.#options = options
    this.#issuedIds = new IssuedCallIds(options.createNonce)
  }

  get isOver(): boolean {
    return this.assembler.isTerminated
  }

  /** The provider has sent a stop reason. */
  get hasStopReason(): boolean {
    return this.#stopReason !== null
  }

  /** The response has a block, and the last one has ended: it may end here. */
  get mayEndWithoutReason(): boolean {
    return this.#hasBlocks && this.#isLastOver
  }

  take(): NormalizedEvent[] {
    return this.assembler.take()
  }

  /** Begins the response with its message. Raises the provider's error when the message is one. */
  begin(message: Payload, isStream = false): void {
    const error = findExternalError(message)
    if (error !== undefined) throw error
    const { droppedToolCalls } = this.#options.reading
    if (droppedToolCalls > 0) this.report('abandoned_tool_calls_dropped', { count: droppedToolCalls })
    const { id, model, usage } = message
    this.usage(usage)
    startResponse(this.assembler, model, { identity: readIdentity(id), usage: isStream ? this.#usage.usage : null })
  }

  usage(usage: unknown): void {
    this.#usage.add(usage)
  }

  /**
   * Begins a block. Raises `provider_protocol_error` for a malformed one.
   * @param digits the block with the digits of its large integers, from its JSON text.
   */
  startBlock(index: number, block: Payload, digits: (block: Payload) => Payload): void {
    this.#lastBlock?.giveWay()
    const { assembler } = this
    const { reading } = this.#options
    const opened = createBlockReader(block, {
      assembler,
      order: this.#order,
      number: this.#blockCount++,
      issuedIds: this.#issuedIds,
      reading,
      digits
    })
    if (opened === undefined) {
      const type = typeof block.type === 'string' ? block.type.slice(0, WORD_CHARACTERS_MAX) : ''
      this.#reportOnce('content_block_ignored', type)
    } else this.#hasBlocks = true
    this.#lastBlock = opened ?? IGNORED_BLOCK
    this.#isLastOver = false
    assembler.keep(ENTRY_CHARACTERS)
    this.#blocks.set(index, this.#lastBlock)
  }

  /** Adds a delta to a block. Raises `provider_protocol_error` for a block that never began and for the delta of another kind. */
  addDelta(index: number, delta: Payload): void {
    if (this.#findBlock(index).add(delta)) return
    const type = typeof delta.type === 'string' ? delta.type.slice(0, WORD_CHARACTERS_MAX) : ''
    this.#reportOnce('content_delta_ignored', type)
  }

  /** Ends a block. Raises `provider_protocol_error` for one that never began. */
  stopBlock(index: number): void {
    const block = this.#findBlock(index)
    block.close()
    if (block === this.#lastBlock) this.#isLastOver = true
  }

  /** Takes the stop reason. Raises `provider_protocol_error` for a second one that is another. */
  stop(word: string, stopSequence: unknown): void {
    if (this.#stopReason !== null && this.#stopReason !== word) throw protocolError('duplicate_stream_terminal')
    this.#stopReason = word
    if (word === 'stop_sequence' && typeof stopSequence === 'string' && stopSequence !== '') {
      this.#stopSequence = stopSequence
    }
  }

  /** Passes on what is open, then the usage, and ends the response. Raises `provider_protocol_error` for arguments that the client cannot get. */
  finish(): void {
    if (this.isOver) return
    for (const block of this.#blocks.values()) block.close()
    this.#order.finish()
    const reason = this.#mapFinish()
    const end: Omit<FinishEvent, 'type'> = {
      reason,
      providerReason: this.#stopReason?.slice(0, WORD_CHARACTERS_MAX) ?? null,
      metadata: {}
    }
    if (this.#stopSequence !== undefined) end.stopSequence = this.#stopSequence
    this.assembler.finish(end, this.#usage.usage)
  }

  fail(error: GatewayError): void {
    this.assembler.fail(error)
  }

  report(name: MessagesCompatibleAnomaly, details: Record<string, string | number>): void {
    this.#options.onAnomaly?.(name, details)
  }

  /** Reports a kind of event that no reader knows. */
  ignoreEvent(type: string): void {
    this.#reportOnce('stream_event_ignored', type.slice(0, WORD_CHARACTERS_MAX))
  }

  #findBlock(index: number): BlockReader {
    const block = this.#blocks.get(index)
    if (block === undefined) throw protocolError('invalid_stream_block')
    return block
  }

  #mapFinish(): FinishReason {
    const word = this.#stopReason
    const reason = word !== null && Object.hasOwn(finishReasons, word) ? finishReasons[word] : undefined
    if (word === null) this.report('finish_reason_missing', {})
    else if (reason === undefined) this.report('finish_reason_unknown', { reason: word.slice(0, WORD_CHARACTERS_MAX) })
    return decideReason(reason, this.assembler.toolCallCount, () => this.report('announced_tool_call_missing', {}))
  }

  /** A stream may repeat an anomaly in each of its frames. */
  #reportOnce(name: MessagesCompatibleAnomaly, type: string): void {
    if (this.#reported.has(name)) return
    this.#reported.add(name)
    this.report(name, { type })
  }
}

/** A block of a kind that the normalized form has no place for. */
const IGNORED_BLOCK: BlockReader = { add: () => true, giveWay: () => undefined, close: () => undefined }

/** The id without the wire's own prefix, which each client protocol has in a form of its own. */
function readIdentity(id: unknown): ResponseIdentity | undefined {
  if (!isShownId(id)) return undefined
  const bare = id.startsWith('msg_') ? id.slice('msg_'.length) : id
  return bare === '' ? undefined : { id: bare }
}
