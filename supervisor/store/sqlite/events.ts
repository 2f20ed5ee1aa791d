// Events of the streams of responses, and the marks between the runner of a response and its readers (memory.md 4).
import {
  type AppendEvents,
  type EventPage,
  isEnded,
  type OwnedId,
  type ReadEvents,
  type StoredEvent
} from '../../../shared/memory/store.ts'
import { packEvents, unpackEvents } from '../packed-events.ts'
import type { SqliteContext } from './context.ts'
import type { ResponseRow, ResponseRows } from './response-rows.ts'

export interface Events {
  /** Stores those of the events that are not stored yet. */
  add(row: Pick<ResponseRow, 'number' | 'id' | 'owner' | 'thread' | 'last_event'>, events: readonly StoredEvent[]): void
  append(append: AppendEvents): { readonly isCancelled: boolean }
  read(read: ReadEvents): EventPage | undefined
  cancel(id: OwnedId): 'marked' | 'ended' | 'not_background' | undefined
}

export function createEvents(
  { database, sealing, ledger, nowMs, answerBytesMax }: SqliteContext,
  rows: ResponseRows
): Events {
  const insert = database.prepare<[number, number, Buffer]>(
    'INSERT INTO events (response, last, content) VALUES (?, ?, ?)'
  )
  const note = database.prepare<[number, number, number]>(
    'UPDATE responses SET last_event = ?, event_bytes = event_bytes + ? WHERE number = ?'
  )
  const extend = database.prepare<[number, string | null, number]>(
    'UPDATE responses SET lease_until = ?, status = coalesce(?, status) WHERE number = ?'
  )
  const mark = database.prepare<[number]>('UPDATE responses SET is_cancelled = 1 WHERE number = ?')
  const select = database.prepare<[number, number], { last: number; content: Buffer }>(
    'SELECT last, content FROM events WHERE response = ? AND last > ? ORDER BY last'
  )

  function add(
    row: Pick<ResponseRow, 'number' | 'id' | 'owner' | 'thread' | 'last_event'>,
    events: readonly StoredEvent[]
  ): void {
    const added = events.filter(({ sequenceNumber }) => sequenceNumber > row.last_event)
    const last = added.at(-1)?.sequenceNumber
    if (last === undefined) return
    const packed = packEvents(added)
    insert.run(row.number, last, sealing.seal(packed, `events ${row.id} ${last}`))
    note.run(last, packed.length, row.number)
    ledger.charge(row, { bytes: packed.length })
  }

  return {
    add,
    append({ owner, id, events, leaseMs, status }) {
      const row = rows.find({ owner, id })
      if (row === undefined) return { isCancelled: true }
      if (!isEnded(row.status)) {
        add(row, events)
        extend.run(nowMs() + leaseMs, status ?? null, row.number)
      }
      return { isCancelled: row.is_cancelled === 1 }
    },
    read({ owner, id, after }) {
      const row = rows.find({ owner, id })
      if (row === undefined) return undefined
      const events: StoredEvent[] = []
      let bytes = 0
      for (const { last, content } of select.iterate(row.number, after)) {
        // What is left is asked for later: a reader goes on until it finds the end.
        if (bytes > answerBytesMax) return { events, status: 'in_progress' }
        const unpacked = unpackEvents(sealing.open(content, `events ${id} ${last}`))
        events.push(...unpacked.filter(({ sequenceNumber }) => sequenceNumber > after))
        bytes += content.length
      }
      return { events, status: rows.statusOf(row) }
    },
    cancel(id) {
      const row = rows.find(id)
      if (row === undefined) return undefined
      if (row.is_background === 0) return 'not_background'
      if (isEnded(rows.statusOf(row))) return 'ended'
      mark.run(row.number)
      return 'marked'
    }
  }
}
