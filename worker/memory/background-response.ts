// A response that runs in the background, as its store has it (memory.md 4): queued with its first events, running with those that follow,
// and at its end once more with the last ones.

import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Owner,
  ResponseRecord,
  ResponseStatus,
  ResponseStore,
  SaveResponse,
  SaveResult,
  StoredEvent
} from '../../shared/memory/store.ts'
import { GatewayError, type JsonObject, type NormalizedEvent } from '../normalized/index.ts'
import type { StreamFrames } from '../protocols/client-face.ts'
import { EventJournal, JOURNAL_TIMES, type JournalTimes } from './event-journal.ts'
import { PartialOutput } from './partial-output.ts'
import { describeEnd, type ResponseEnd, refuseEnd, writeLastEvent } from './response-end.ts'
import { EventNumbers, endsStream, type NumberedEvent } from './stream-events.ts'

/** A state of a response. */
export interface ResponseState {
  readonly status: ResponseStatus
  /** The whole response object, in JSON. */
  readonly json: Buffer
  readonly lastSequenceNumber: number
}

/** What is known of a response before it runs. */
export interface BackgroundTurn {
  readonly owner: Owner
  readonly id: string
  /** The client wants its events at once. */
  readonly isStream: boolean
  /** What the request holds in memory until its end is stored. */
  readonly heldBytes: number
  /** Takes what is read of the response. */
  readonly noteEvents: (events: readonly NormalizedEvent[]) => void
  readonly createRecord: (state: ResponseState) => ResponseRecord
}

export interface BackgroundResponseOptions {
  readonly store: Pick<ResponseStore, 'saveResponse' | 'appendEvents'>
  readonly turn: BackgroundTurn
  /** The response object before anything is generated. */
  readonly response: JsonObject
  readonly times?: JournalTimes
  readonly onCancelled: () => void
  /** The store did not take a step; it is repeated. */
  readonly onFailed: (error: unknown) => void
}

export interface EndOptions {
  /** The client has ended it. */
  readonly isCancelled?: boolean
  /** The gateway exits: a store that gives no answer is not waited for. */
  readonly isHurried?: () => boolean
}

const WITHOUT_HURRY = () => false

/** How often the end of a response is written before it is given up: a store that restarts or moves is back within a minute. */
const END_TRIES_MAX = 60
const RETRY_MS = 1000

export class BackgroundResponse {
  readonly #options: BackgroundResponseOptions
  readonly #journal: EventJournal
  readonly #numbers: EventNumbers
  readonly #output = new PartialOutput()
  readonly #ended = Promise.withResolvers<void>()
  #hasBegun = false
  /** The last event; it is stored with the end. */
  #last: NumberedEvent | undefined
  #isEnding = false

  private constructor(options: BackgroundResponseOptions, numbers: EventNumbers) {
    const { store, turn, times = JOURNAL_TIMES, onCancelled, onFailed } = options
    const { owner, id } = turn
    this.#options = options
    this.#numbers = numbers
    this.#journal = new EventJournal({ store, owner, id, times, onCancelled, onFailed })
  }

  /**
   * Stores a queued response. Raises what the store raises, `request_entity_too_large` for one that it does not take, and `object_not_found`
   * for a conversation that is gone.
   */
  static async open(options: BackgroundResponseOptions): Promise<BackgroundResponse> {
    const { store, turn, times = JOURNAL_TIMES, response } = options
    const numbers = new EventNumbers()
    // The helpers of the client's SDK want this event first.
    const events = [numbers.create('response.created', { response }), numbers.create('response.queued', { response })]
    const record = turn.createRecord({
      status: 'queued',
      json: Buffer.from(JSON.stringify(response)),
      lastSequenceNumber: numbers.last
    })
    const saved = await store.saveResponse({ owner: turn.owner, record, events, leaseMs: times.leaseMs })
    if (saved === 'too_large') {
      const message = 'The response is too large to be stored, so that it cannot run in the background.'
      throw new GatewayError('request_entity_too_large', { message })
    }
    if (saved !== 'saved') throw new GatewayError('object_not_found', { param: 'conversation' })
    return new BackgroundResponse(options, numbers)
  }

  get id(): string {
    return this.#options.turn.id
  }

  get hasRoom(): boolean {
    return this.#journal.hasRoom
  }

  /** Resolves when more of it can be read, or more can be written, than before. */
  whenStored(): Promise<void> {
    return this.#isEnding ? this.#ended.promise : this.#journal.whenStored()
  }

  /** Its provider is called now. */
  begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const response = { ...this.#options.response, status: 'in_progress' }
    this.#journal.add([this.#numbers.create('response.in_progress', { response })])
    this.#journal.begin()
  }

  /** Takes whole frames of its stream. */
  add(frames: StreamFrames | Uint8Array): void {
    for (const event of this.#numbers.take(frames)) {
      this.#output.add(event.event)
      if (endsStream(event.type)) this.#last = event
      else this.#journal.add([event])
    }
  }

  /** Takes the last event of these frames alone: of a writer that has not written the stream. */
  addLast(frames: StreamFrames): void {
    const events = this.#numbers.take(frames, endsStream)
    this.#last = events.at(-1) ?? this.#last
  }

  /** Stores the end. Resolves with false where the store has not taken it: readers then find a response whose runner is gone. */
  async end({ isCancelled = false, isHurried = WITHOUT_HURRY }: EndOptions = {}): Promise<boolean> {
    this.#isEnding = true
    const events = await this.#journal.close()
    const end = describeEnd(this.#options.response, this.#last, { isCancelled, output: this.#output })
    try {
      const result = await this.#save(end, events, isHurried)
      if (isSettled(result)) return true
      const refused = refuseEnd(end, result)
      return isSettled(await this.#save(refused, events, isHurried))
    } catch {
      return false
    } finally {
      this.#ended.resolve()
    }
  }

  async #save(end: ResponseEnd, events: readonly StoredEvent[], isHurried: () => boolean): Promise<SaveResult> {
    const { store, turn, onFailed } = this.#options
    const lastSequenceNumber = this.#last?.sequenceNumber ?? this.#numbers.last + 1
    const json = Buffer.from(JSON.stringify(end.response))
    const record = turn.createRecord({ status: end.status, json, lastSequenceNumber })
    const save: SaveResponse = {
      owner: turn.owner,
      record: end.isAlone === true ? { ...record, conversationId: undefined } : record,
      events: [...events, writeLastEvent(end, lastSequenceNumber)],
      isUpdate: true
    }
    for (let tries = 1; ; tries++) {
      try {
        return await store.saveResponse(save)
      } catch (thrown) {
        onFailed(thrown)
        if (tries === END_TRIES_MAX || isHurried()) throw thrown
        await sleep(RETRY_MS)
      }
    }
  }
}

/** Nothing is left to be stored. */
function isSettled(result: SaveResult): boolean {
  return result === 'saved' || result === 'deleted'
}
