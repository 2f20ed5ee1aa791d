// Stores the events of a running response while it is generated (memory.md 4): what came together within a short time in one step, which
// also tells the store that its runner lives, and the runner that its client wants an end.

import type { AppendEvents, OwnedId, ResponseStore, StoredEvent } from '../../shared/memory/store.ts'

export interface JournalTimes {
  /** Between two steps, while events come. */
  readonly intervalMs: number
  /** Between two steps, while none come: as long as a wish to cancel may go unseen. */
  readonly heartbeatMs: number
  /** How long a response counts as running after the last step. Longer than a store takes to come back from a restart. */
  readonly leaseMs: number
}

export const JOURNAL_TIMES: JournalTimes = { intervalMs: 100, heartbeatMs: 1000, leaseMs: 15_000 }

export interface JournalOptions extends OwnedId {
  readonly store: Pick<ResponseStore, 'appendEvents'>
  readonly times: JournalTimes
  /** Called once: the client has cancelled the response, or deleted it. */
  readonly onCancelled: () => void
  /** Called for each step that failed. Its events are kept for the next one. */
  readonly onFailed: (error: unknown) => void
}

/** More is not held in memory: the provider has to wait for the store. */
const PENDING_BYTES_MAX = 1024 * 1024

export class EventJournal {
  readonly #options: JournalOptions
  #pending: StoredEvent[] = []
  #pendingBytes = 0
  /** What the next step says of the response. */
  #status: AppendEvents['status']
  #timer: NodeJS.Timeout | undefined
  #step: Promise<void> | undefined
  /** Since the last step that the store has taken. */
  #silentMs = 0
  #isClosed = false
  #isCancelled = false
  #waiting: Array<() => void> = []

  constructor(options: JournalOptions) {
    this.#options = options
    this.#schedule()
  }

  get hasRoom(): boolean {
    return this.#isClosed || this.#pendingBytes < PENDING_BYTES_MAX
  }

  add(events: readonly StoredEvent[]): void {
    for (const event of events) {
      this.#pending.push(event)
      this.#pendingBytes += event.json.byteLength
    }
  }

  /** The response is not queued any more. */
  begin(): void {
    this.#status = 'in_progress'
  }

  /** Resolves after the next step, or when the journal is closed. */
  whenStored(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  /** Ends the steps. Resolves with the events that are not stored: they belong to the end of the response. */
  async close(): Promise<StoredEvent[]> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#step
    this.#wake()
    return this.#pending
  }

  #schedule(delayMs = this.#options.times.intervalMs): void {
    this.#timer = setTimeout(() => {
      this.#silentMs += delayMs
      const isDue = this.#pending.length > 0 || this.#status !== undefined
      if (!isDue && this.#silentMs < this.#options.times.heartbeatMs) {
        this.#schedule()
        return
      }
      this.#step = this.#store().then(isStored => {
        this.#step = undefined
        // A store that is away is not asked ten times in a second.
        if (!this.#isClosed) this.#schedule(isStored ? undefined : this.#options.times.heartbeatMs)
      })
    }, delayMs)
  }

  /** One step; false where the store did not take it. */
  async #store(): Promise<boolean> {
    const { store, owner, id, times, onFailed } = this.#options
    const events = this.#pending
    const status = this.#status
    const bytes = this.#pendingBytes
    this.#pending = []
    this.#status = undefined
    let isStored = false
    try {
      const append = { owner, id, events, leaseMs: times.leaseMs, ...(status && { status }) }
      const { isCancelled } = await store.appendEvents(append)
      this.#pendingBytes -= bytes
      this.#silentMs = 0
      isStored = true
      if (isCancelled) this.#cancel()
    } catch (thrown) {
      this.#pending = [...events, ...this.#pending]
      this.#status ??= status
      onFailed(thrown)
    }
    this.#wake()
    return isStored
  }

  #cancel(): void {
    if (this.#isCancelled) return
    this.#isCancelled = true
    this.#options.onCancelled()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
