// The state of one response while it is read. The reader parses events and reports their members here; this keeps the items by their
// index, the order of the events, the end and the usage. A whole response is reported as items that end with all of their content.

import {
  CallCollector,
  EventAssembler,
  type FinishReason,
  type GatewayError,
  isJsonObject,
  type JsonObject,
  type NormalizedEvent,
  type ResponseIdentity
} from '../../../normalized/index.ts'
import type { ReaderDependencies } from '../../provider-face.ts'
import { isShownId, type Payload, protocolError } from '../../shared/external-payload.ts'
import { decideReason, startResponse } from '../../shared/external-response.ts'
import { IssuedCallIds } from '../../shared/tools/issued-call-ids.ts'
import { readResponseError } from './errors.ts'
import type { ItemReader } from './item-reader.ts'
import { createItemReader } from './items.ts'
import type { ResponsesCompatibleAnomaly, ResponsesCompatibleReading } from './reading.ts'
import { readUsage } from './usage.ts'

export interface ResponseStateOptions extends ReaderDependencies {
  reading: ResponsesCompatibleReading
}

/** A longer word of a provider is cut for logs. */
const WORD_CHARACTERS_MAX = 64

const incompleteReasons: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: 'length',
  max_tokens: 'length',
  content_filter: 'content-filter'
}

export class ResponseState {
  readonly assembler = new EventAssembler()
  readonly #options: ResponseStateOptions
  readonly #collector: CallCollector
  readonly #items = new Map<number, ItemReader>()
  readonly #issuedIds: IssuedCallIds
  readonly #reported = new Set<string>()

  constructor(options: ResponseStateOptions) {
    this.#options = options
    this.#issuedIds = new IssuedCallIds(options.createNonce)
    this.#collector = new CallCollector({ assembler: this.assembler, issueId: ({ id }) => this.#issuedIds.issue(id) })
  }

  get isOver(): boolean {
    return this.assembler.isTerminated
  }

  take(): NormalizedEvent[] {
    return this.assembler.take()
  }

  fail(error: GatewayError): void {
    this.assembler.fail(error)
  }

  /** Begins the response with the first event that holds it. */
  begin(response: Payload): void {
    if (this.assembler.hasStarted) return
    const { droppedToolCalls } = this.#options.reading
    if (droppedToolCalls > 0) this.#report('abandoned_tool_calls_dropped', { count: droppedToolCalls })
    startResponse(this.assembler, response.model, { identity: readIdentity(response) })
  }

  /** Begins an item. Raises `provider_protocol_error` for a malformed one. */
  startItem(index: number, item: JsonObject): void {
    this.#assertStarted()
    if (!this.#items.has(index)) this.#open(index, item)
  }

  /** Ends an item: what of its content no event has told is taken from it. Raises `provider_protocol_error` for a malformed one. */
  endItem(index: number, item: JsonObject): void {
    this.#assertStarted()
    const reader = this.#items.get(index) ?? this.#open(index, item)
    reader.end(item)
  }

  text(index: number, piece: string): void {
    this.#find(index).text?.(piece)
  }

  refusal(index: number, piece: string): void {
    this.#find(index).refusal?.(piece)
  }

  /** @param part the index of the part of the reasoning. */
  reasoning(index: number, piece: string, part: unknown): void {
    this.#find(index).reasoning?.(piece, typeof part === 'number' ? part : 0)
  }

  callText(index: number, piece: string): void {
    this.#find(index).callText?.(piece)
  }

  annotation(index: number, annotation: unknown): void {
    this.#find(index).annotation?.(annotation)
  }

  /** A hosted tool works. */
  progress(index: number, type: string): void {
    this.#find(index).progress?.(type)
  }

  /** Reports a kind of event that no reader knows. */
  ignoreEvent(type: string): void {
    this.#reportOnce('stream_event_ignored', type)
  }

  /**
   * Ends the response as its last payload says. Raises the provider's error for a failed one, and `provider_protocol_error` for one that has
   * not ended.
   */
  end(response: JsonObject): void {
    const { error, output, status } = response
    if (status === 'failed' || isJsonObject(error)) throw readResponseError({ error: error ?? {} })
    if (!Array.isArray(output)) throw protocolError('invalid_output')
    const finish = this.#readFinish(response)
    for (const [index, item] of output.entries()) {
      if (!isJsonObject(item)) throw protocolError('invalid_output_item')
      // Some servers send no events for an item but this one. The places are those of the events, where there were any.
      if (this.#items.size <= index || this.#items.get(index)?.isOver === false) this.endItem(index, item)
    }
    this.#collector.finish()
    const count = this.assembler.toolCallCount
    const reason =
      finish.reason === 'cancelled'
        ? finish.reason
        : decideReason(finish.reason, count, () => this.#report('announced_tool_call_missing', {}))
    this.assembler.finish({ reason, providerReason: finish.word, metadata: {} }, readUsage(response.usage))
  }

  #readFinish({ status, incomplete_details: details }: JsonObject): { reason: FinishReason; word: string | null } {
    switch (status) {
      case 'completed':
      case undefined:
      case null:
        // The wire has no word of its own for a response that ended by itself.
        return { reason: 'stop', word: null }
      case 'cancelled':
        return { reason: 'cancelled', word: status }
      case 'incomplete': {
        const word = isJsonObject(details) && typeof details.reason === 'string' ? details.reason : status
        const shown = word.slice(0, WORD_CHARACTERS_MAX)
        const reason = Object.hasOwn(incompleteReasons, word) ? incompleteReasons[word] : undefined
        if (reason === undefined) this.#report('finish_reason_unknown', { reason: shown })
        return { reason: reason ?? 'length', word: shown }
      }
      case 'queued':
      case 'in_progress':
        if (this.#options.reading.isBackground === true) return { reason: 'stop', word: null }
        throw protocolError('invalid_response_status')
      default:
        throw protocolError('invalid_response_status')
    }
  }

  #open(index: number, item: JsonObject): ItemReader {
    const opened = createItemReader(item, {
      assembler: this.assembler,
      collector: this.#collector,
      index,
      toolNames: this.#options.reading.toolNames
    })
    if (opened === undefined) {
      this.#reportOnce('output_item_ignored', typeof item.type === 'string' ? item.type : '')
    }
    const reader = opened ?? { isOver: false, end: markOver }
    this.#items.set(index, reader)
    return reader
  }

  /** The item that an event belongs to. Raises `provider_protocol_error` for one that never began. */
  #find(index: number): ItemReader {
    this.#assertStarted()
    const item = this.#items.get(index)
    if (item === undefined) throw protocolError('invalid_stream_item')
    return item
  }

  #assertStarted(): void {
    if (!this.assembler.hasStarted) throw protocolError('stream_data_before_start')
  }

  #report(name: ResponsesCompatibleAnomaly, details: Record<string, string | number>): void {
    this.#options.onAnomaly?.(name, details)
  }

  /** A stream may repeat an anomaly in each of its events. */
  #reportOnce(name: ResponsesCompatibleAnomaly, type: string): void {
    if (this.#reported.has(name)) return
    this.#reported.add(name)
    this.#report(name, { type: type.slice(0, WORD_CHARACTERS_MAX) })
  }
}

function markOver(this: ItemReader): void {
  this.isOver = true
}

const ID_PREFIX = 'resp_'

/** The id without the wire's own prefix, which each client protocol has in a form of its own. */
function readIdentity({ id, created_at: created }: Payload): ResponseIdentity | undefined {
  if (!isShownId(id)) return undefined
  const bare = id.startsWith(ID_PREFIX) ? id.slice(ID_PREFIX.length) : id
  if (bare === '') return undefined
  const createdAt = typeof created === 'number' ? Math.trunc(created) : 0
  return Number.isSafeInteger(createdAt) && createdAt > 0 ? { id: bare, createdAt } : { id: bare }
}
