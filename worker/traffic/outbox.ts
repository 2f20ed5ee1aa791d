// The records of a worker on their way to the writer: a bounded queue, batches by count, bytes and
// time, and resending of what was not acknowledged (operations.md 8.3; field-lessons.md J1). It
// does no I/O.
import { BatchBuilder, countRecordCharacters, type OutgoingRecord } from '../../shared/traffic/batch.ts'
import type { MemoryShare } from '../performance/memory-room.ts'

/** Why a record was not stored, for the metric. */
export type DropReason = 'queue_full' | 'too_large' | 'closed'

export interface OutboxOptions {
  /** Records that may wait, those in flight included. */
  readonly recordsMax: number
  /** UTF-16 units of their texts, which is what they cost in memory at least. */
  readonly charactersMax: number
  /**
   * Drop the record that finds the outbox full. Otherwise requests wait while it is full, and the records of those that run already are
   * taken beyond `recordsMax`, up to `charactersMax`.
   */
  readonly dropsWhenFull: boolean
  /** A record that is longer is dropped. */
  readonly recordCharactersMax: number
  readonly batchRecordsMax: number
  /** Of a batch of several records; a longer one goes alone. */
  readonly batchCharactersMax: number
  /** How long a record waits for others. */
  readonly lingerMs: number
  /** Batches that may be unacknowledged at a time, and their characters. */
  readonly windowBatches: number
  readonly windowCharacters: number
}

export interface OutboxDependencies {
  /** Called once for each dropped record. */
  readonly onDropped: (reason: DropReason) => void
  /** Where the texts of the records take their memory from, where that is limited: large bodies take theirs there too. */
  readonly memory?: MemoryShare | undefined
}

/** Records of an outbox that ends. */
export interface LeftRecords {
  /** No writer has them. */
  readonly lost: number
  /** They were sent to the writer, which has not said that they are stored. */
  readonly unconfirmed: number
}

/** A connection to the writer. */
export interface BatchSender {
  /** Takes one line, which ends with a line feed; its bytes are not changed afterwards. */
  send(line: Uint8Array): void
}

interface Batch {
  readonly sequence: number
  /** Bytes, outside of the heap: many texts that are kept until they are acknowledged would be moved by each collection. */
  readonly line: Uint8Array
  readonly count: number
  readonly characters: number
}

export class Outbox {
  readonly #options: OutboxOptions
  readonly #onDropped: (reason: DropReason) => void
  readonly #memory: MemoryShare | undefined
  /** The batch that new records go to. */
  readonly #open = new BatchBuilder()
  /** Batches that are not sent yet, oldest first. */
  #waiting: Batch[] = []
  #waitingRecords = 0
  #waitingCharacters = 0
  /** Batches that were sent and are not acknowledged, oldest first. */
  #inFlight: Batch[] = []
  #inFlightRecords = 0
  #inFlightCharacters = 0
  #lastSequence = 0
  #sender: BatchSender | undefined
  #linger: NodeJS.Timeout | undefined
  #isLingerOver = false
  #isClosing = false
  readonly #roomListeners = new Set<() => void>()
  #emptyListeners: Array<() => void> = []

  constructor(options: OutboxOptions, { onDropped, memory }: OutboxDependencies) {
    this.#options = options
    this.#onDropped = onDropped
    this.#memory = memory
  }

  /** Records that wait or are in flight. */
  get size(): number {
    return this.#unsentRecords + this.#inFlightRecords
  }

  get isFull(): boolean {
    const { recordsMax, charactersMax, dropsWhenFull } = this.#options
    // Where requests wait, the other half is for the records of those that run already.
    return this.size >= recordsMax || this.#characters >= (dropsWhenFull ? charactersMax : charactersMax / 2)
  }

  get #characters(): number {
    return this.#open.characters + this.#waitingCharacters + this.#inFlightCharacters
  }

  /** Queues a record, or drops and counts it. */
  add(record: OutgoingRecord): void {
    const characters = countRecordCharacters(record)
    const reason = this.#refusalOf(characters)
    if (reason !== undefined) {
      this.#onDropped(reason)
      return
    }
    const { batchRecordsMax, batchCharactersMax } = this.#options
    if (this.#open.characters + characters > batchCharactersMax) this.#finishBatch()
    this.#open.add(record, characters)
    if (this.#open.count >= batchRecordsMax) this.#finishBatch()
    if (this.#waiting.length > 0) this.#sendBatches()
    else this.#startLinger()
  }

  /** Calls the listener once, when a full outbox has room again or is closed. Returns the function that takes it back. */
  whenRoom(listener: () => void): () => void {
    this.#roomListeners.add(listener)
    return () => this.#roomListeners.delete(listener)
  }

  /** A connection exists: everything that was not acknowledged goes first, in its order and under its numbers. */
  connected(sender: BatchSender): void {
    this.#sender = sender
    for (const { line } of this.#inFlight) sender.send(line)
    this.#sendBatches()
  }

  /** The connection is lost; the batches in flight are kept for the next one. */
  disconnected(): void {
    this.#sender = undefined
  }

  /** The writer has stored the batch of this number, and all before it. */
  acknowledged(sequence: number): void {
    while (this.#inFlight[0] !== undefined && this.#inFlight[0].sequence <= sequence) {
      const { count, characters } = this.#inFlight.shift() as Batch
      this.#inFlightRecords -= count
      this.#inFlightCharacters -= characters
    }
    this.#memory?.hold(this.#characters)
    this.#sendBatches()
    if (!this.isFull) this.#notifyRoom()
    if (this.size === 0) for (const listener of this.#emptyListeners.splice(0)) listener()
  }

  /** Sends what waits without lingering. Resolves when everything is acknowledged; the caller has the deadline. */
  flush(): Promise<void> {
    this.#isLingerOver = true
    this.#sendBatches()
    if (this.size === 0) return Promise.resolve()
    return new Promise(resolve => this.#emptyListeners.push(resolve))
  }

  /** Takes no further records, and tells what is left. */
  close(): LeftRecords {
    this.#isClosing = true
    clearTimeout(this.#linger)
    this.#notifyRoom()
    const lost = this.#sender === undefined ? this.size : this.#unsentRecords
    return { lost, unconfirmed: this.size - lost }
  }

  #notifyRoom(): void {
    const listeners = [...this.#roomListeners]
    this.#roomListeners.clear()
    for (const listener of listeners) listener()
  }

  #refusalOf(characters: number): DropReason | undefined {
    const { charactersMax, recordCharactersMax, dropsWhenFull } = this.#options
    if (this.#isClosing) return 'closed'
    if (characters > recordCharactersMax) return 'too_large'
    const isBeyond = this.#characters + characters > charactersMax || (dropsWhenFull && this.isFull)
    return isBeyond || !this.#takeMemory(characters) ? 'queue_full' : undefined
  }

  /** False where large bodies take what there is. */
  #takeMemory(characters: number): boolean {
    try {
      this.#memory?.hold(this.#characters + characters)
      return true
    } catch {
      return false
    }
  }

  #startLinger(): void {
    if (this.#linger !== undefined || this.#isLingerOver) return
    this.#linger = setTimeout(() => {
      this.#linger = undefined
      this.#isLingerOver = true
      this.#sendBatches()
    }, this.#options.lingerMs).unref()
  }

  /** Sends full batches, and what is left once its wait for others is over. */
  #sendBatches(): void {
    if (this.#sender === undefined) return
    while (this.#hasWindow()) {
      if (this.#waiting.length === 0 && this.#isLingerOver) this.#finishBatch()
      const batch = this.#waiting.shift()
      if (batch === undefined) break
      this.#waitingRecords -= batch.count
      this.#waitingCharacters -= batch.characters
      this.#inFlight.push(batch)
      this.#inFlightRecords += batch.count
      this.#inFlightCharacters += batch.characters
      this.#sender.send(batch.line)
    }
    if (this.#unsentRecords === 0) this.#isLingerOver = false
  }

  #hasWindow(): boolean {
    const { windowBatches, windowCharacters } = this.#options
    return this.#inFlight.length < windowBatches && this.#inFlightCharacters < windowCharacters
  }

  get #unsentRecords(): number {
    return this.#open.count + this.#waitingRecords
  }

  #finishBatch(): void {
    const { count, characters } = this.#open
    if (count === 0) return
    this.#lastSequence += 1
    const line = this.#open.finish(this.#lastSequence)
    this.#waiting.push({ sequence: this.#lastSequence, line, count, characters })
    this.#waitingRecords += count
    this.#waitingCharacters += characters
  }
}
