// One chat with memory: its expanded body, the record of its response, and what its errors and notices name (memory.md 2 and 3).

import { type ResponseRecord, STORED_RESPONSE_ID, type StoredItem } from '../../shared/memory/store.ts'
import { GatewayError, type NormalizedRequest, type ResponseTurn } from '../normalized/index.ts'
import { isStored } from '../protocols/responses/client/stored-conversation.ts'
import { readJsonObject } from '../translation/json-body.ts'
import type { BackgroundTurn } from './background-response.ts'
import type { ChatTurn } from './chat-turn.ts'
import type { ConversationLease } from './conversation-lease.ts'
import { countBytes, dropOldestTurns } from './drop-turns.ts'
import { type ExpandedBody, expandBody } from './expand-body.ts'
import { selectHistory } from './history-window.ts'
import type { MemoryWish } from './read-wish.ts'
import { findThreadId, RecordKeeper } from './record-keeper.ts'
import { listOwnItems, readWrittenResponse, type WrittenParts } from './response-record.ts'
import { shiftError, shiftFields } from './shift-paths.ts'
import type { MemoryDependencies, TurnRequest } from './turn-request.ts'

/** What the store has of the turns before. */
export interface TurnHistory {
  /** Oldest first. */
  readonly turns: readonly (readonly StoredItem[])[]
  readonly references: ReadonlyMap<number, StoredItem | 'in-history'>
  readonly threadId: string | undefined
}

export interface StoredTurnOptions {
  readonly dependencies: MemoryDependencies
  readonly request: TurnRequest
  readonly wish: MemoryWish
  readonly response: ResponseTurn
  readonly history: TurnHistory
  readonly lease: ConversationLease | undefined
}

/** Of an invalid body the error quotes the place; a longer one is not parsed on the event loop for that. */
const QUOTED_BYTES_MAX = 256 * 1024

const NOTHING = Buffer.alloc(0)

export class StoredTurn implements ChatTurn {
  readonly response: ResponseTurn
  readonly background: ChatTurn['background']
  readonly keeper: RecordKeeper | undefined
  readonly #options: StoredTurnOptions
  readonly #pending: Promise<unknown>[] = []
  readonly #closed = Promise.withResolvers<void>()
  #turns: readonly (readonly StoredItem[])[]
  #expanded: ExpandedBody
  #model = ''
  #isThread = false
  #input: StoredItem[] | undefined

  constructor(options: StoredTurnOptions) {
    const { response, history } = options
    this.#options = options
    options.dependencies.onPending(this.#closed.promise)
    this.response = response
    this.#turns = selectHistory(history.turns)
    try {
      this.#expanded = this.#expand()
    } catch (thrown) {
      this.#closed.resolve()
      throw thrown
    }
    this.background = response.isBackground === true ? this.#createBackground() : undefined
    this.keeper = response.isStored && this.background === undefined ? this.#createKeeper() : undefined
  }

  get bytes(): Buffer {
    return this.#expanded.bytes
  }

  planned({
    request,
    plan
  }: {
    readonly request: NormalizedRequest
    readonly plan: { readonly publicModel: string }
  }): void {
    this.#model = plan.publicModel
    this.#isThread = isStored(request)
    if (this.#options.wish.mayTruncate) return
    // A stream may run for minutes, and all that time its history would be in memory.
    this.#turns = []
    this.#expanded = { ...this.#expanded, bytes: NOTHING }
  }

  shiftFields(paths: readonly string[]): readonly string[] {
    // It has an effect here.
    const named = this.#options.wish.mayTruncate ? paths.filter(path => path !== 'truncation') : paths
    return shiftFields(named, this.#expanded)
  }

  refine(thrown: unknown): unknown {
    if (!GatewayError.is(thrown)) return thrown
    const { request, wish } = this.#options
    if (thrown.code === 'invalid_json' && request.body.byteLength <= QUOTED_BYTES_MAX) {
      try {
        readJsonObject(request.body)
      } catch (own) {
        return own
      }
    }
    const field = wish.conversationId === undefined ? 'previous_response_id' : 'conversation'
    return shiftError(thrown, this.#expanded, field)
  }

  shorten(thrown: unknown): boolean {
    if (!this.#options.wish.mayTruncate || !isTooLong(thrown)) return false
    const kept = dropOldestTurns(this.#turns, this.#listInput())
    if (kept === undefined) return false
    this.#turns = kept
    this.#expanded = this.#expand()
    return true
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#pending)
    await this.#options.lease?.release()
    this.#closed.resolve()
  }

  #expand(): ExpandedBody {
    const { dependencies, request, wish, history } = this.#options
    const { bodyBytesMax } = dependencies
    let turns = this.#turns
    while (countBytes(turns) + request.body.byteLength > bodyBytesMax) {
      const kept = wish.mayTruncate ? dropOldestTurns(turns, this.#listInput()) : undefined
      if (kept === undefined) throw tooLong(bodyBytesMax)
      turns = kept
    }
    this.#turns = turns
    return expandBody(request.body, wish, {
      history: turns.flat(),
      references: history.references,
      threadId: history.threadId,
      isStreamed: this.response.isBackground === true
    })
  }

  #createKeeper(): RecordKeeper {
    const { dependencies, request } = this.#options
    const { store, log } = dependencies
    const { owner, logIds } = request
    return new RecordKeeper({
      store,
      owner,
      createRecord: (parts, rest) => this.#writeRecord(parts, rest),
      onNotStored(reason) {
        // The connection to the store says itself that it has no answer.
        if (reason !== 'too_large' && reason !== 'conversation_not_found') return
        log.warn({ event: 'response_not_stored', ...logIds, reason }, 'A response was served and not stored')
      },
      onPending: work => this.#pending.push(work)
    })
  }

  #createBackground(): BackgroundTurn {
    const { request, wish, response } = this.#options
    let threadId: string | undefined
    return {
      owner: request.owner,
      id: response.id,
      isStream: wish.isStream,
      heldBytes: request.body.byteLength + this.#expanded.bytes.byteLength,
      noteEvents(events) {
        threadId = findThreadId(events) ?? threadId
      },
      createRecord: ({ status, json, lastSequenceNumber }) => {
        const { output = [], body = json } = readWrittenResponse(json) ?? {}
        return this.#writeRecord({ status, output, body }, { lastSequenceNumber, threadId })
      }
    }
  }

  /** Made once: the items that get an id keep it. */
  #listInput(): StoredItem[] {
    const { request, wish, history } = this.#options
    this.#input ??= listOwnItems(request.body, wish, history.references)
    return this.#input
  }

  #writeRecord(
    parts: WrittenParts,
    { lastSequenceNumber, threadId }: { lastSequenceNumber: number; threadId?: string | undefined }
  ): ResponseRecord {
    const { request, wish, response } = this.#options
    const { previousResponseId, conversationId } = wish
    return {
      ...parts,
      id: response.id,
      createdAt: request.createdAt,
      model: this.#model,
      // The id of a thread is no id of the store.
      previousResponseId:
        previousResponseId !== undefined && STORED_RESPONSE_ID.test(previousResponseId)
          ? previousResponseId
          : undefined,
      conversationId,
      threadId: this.#isThread ? threadId : undefined,
      isBackground: response.isBackground === true,
      input: this.#listInput(),
      lastSequenceNumber
    }
  }
}

function isTooLong(thrown: unknown): boolean {
  const code = 'context_length_exceeded'
  return GatewayError.is(thrown) && (thrown.code === code || thrown.providerCode === code)
}

function tooLong(bytesMax: number): GatewayError {
  return new GatewayError('context_length_exceeded', {
    param: 'input',
    message: `The conversation with its history is longer than ${bytesMax} bytes.`
  })
}
