// The part of a store that a running response needs, in memory. What the engines do with it is in their own tests.

import {
  type AppendEvents,
  isEnded,
  type OwnedId,
  type ReadEvents,
  type ResponseRecord,
  type SaveResponse,
  type SaveResult,
  type StoredEvent,
  StoreUnavailable
} from '../../../shared/memory/store.ts'

export class FakeStore {
  records = new Map<string, ResponseRecord>()
  events: StoredEvent[] = []
  /** Of each step. */
  appended: AppendEvents[] = []
  saved: SaveResponse[] = []
  isCancelled = false
  /** The store gives no answer. */
  isDown = false
  /** The results of the next writes of a record. */
  results: SaveResult[] = []
  reads = 0

  async saveResponse(save: SaveResponse): Promise<SaveResult> {
    this.#assertUp()
    this.saved.push(save)
    const result = this.results.shift() ?? 'saved'
    if (result !== 'saved') return result
    if (save.isUpdate && !this.records.has(save.record.id)) return 'deleted'
    this.records.set(save.record.id, save.record)
    this.#add(save.events ?? [])
    return 'saved'
  }

  async appendEvents(append: AppendEvents): Promise<{ isCancelled: boolean }> {
    this.#assertUp()
    this.appended.push(append)
    const record = this.records.get(append.id)
    if (record !== undefined && append.status !== undefined) {
      this.records.set(append.id, { ...record, status: append.status })
    }
    this.#add(append.events)
    return { isCancelled: this.isCancelled || record === undefined }
  }

  async readEvents({ id, after }: ReadEvents) {
    this.reads += 1
    this.#assertUp()
    const record = this.records.get(id)
    if (record === undefined) return undefined
    return { events: this.events.filter(({ sequenceNumber }) => sequenceNumber > after), status: record.status }
  }

  async cancelResponse({ id }: OwnedId) {
    const record = this.records.get(id)
    if (record === undefined) return undefined
    if (isEnded(record.status)) return 'ended' as const
    this.isCancelled = true
    return 'marked' as const
  }

  /** The stored events, parsed. */
  parsed(): Array<Record<string, unknown>> {
    return this.events.map(({ json }) => JSON.parse(Buffer.from(json).toString()))
  }

  #add(events: readonly StoredEvent[]): void {
    const last = this.events.at(-1)?.sequenceNumber ?? -1
    this.events.push(...events.filter(({ sequenceNumber }) => sequenceNumber > last))
  }

  #assertUp(): void {
    if (this.isDown) throw new StoreUnavailable('disconnected')
  }
}
