// Events of the streams of responses, and the marks between the runner of a response and its readers (memory.md 4). Both may be on
// different hosts.
import {
  type AppendEvents,
  type EventPage,
  isEnded,
  type OwnedId,
  type ReadEvents,
  type StoredEvent
} from '../../../shared/memory/store.ts'
import { packEvents, unpackEvents } from '../packed-events.ts'
import { ownerOf, type PostgresContext } from './context.ts'
import type { Run } from './database.ts'
import { findResponse, LOCK_RESPONSE, LOCK_WITH_THREAD, statusOf } from './response-rows.ts'
import { addUsage } from './usage.ts'

export interface NewEvents {
  readonly id: string
  readonly lastEvent: number
  readonly events: readonly StoredEvent[]
}

/** Stores those of the events that are not stored yet, and returns their bytes, which the caller adds to the thread. */
export async function addEvents(
  run: Run,
  { sealing }: PostgresContext,
  { id, lastEvent, events }: NewEvents
): Promise<number> {
  const added = events.filter(({ sequenceNumber }) => sequenceNumber > lastEvent)
  const last = added.at(-1)?.sequenceNumber
  if (last === undefined) return 0
  const packed = packEvents(added)
  await Promise.all([
    run('INSERT INTO gateway_responses_events (response, last, content) VALUES ($1, $2, $3)', [
      id,
      last,
      sealing.seal(packed, eventsPlace(id, last))
    ]),
    run('UPDATE gateway_responses SET last_event = $2, bytes = bytes + $3 WHERE id = $1', [id, last, packed.length])
  ])
  return packed.length
}

const eventsPlace = (id: string, last: number) => `events ${id} ${last}`

export function createEvents(context: PostgresContext) {
  const { database, sealing, nowMs } = context
  return {
    appendEvents({ owner, id, events, leaseMs, status }: AppendEvents): Promise<{ readonly isCancelled: boolean }> {
      return database.write(async run => {
        const row = await findResponse(run, context, { owner, id }, LOCK_WITH_THREAD)
        if (row === undefined) return { isCancelled: true }
        if (!isEnded(row.status)) {
          const [bytes] = await Promise.all([
            addEvents(run, context, { id, lastEvent: row.last_event, events }),
            run('UPDATE gateway_responses SET lease_until = $2, status = coalesce($3, status) WHERE id = $1', [
              id,
              Math.ceil(nowMs() + leaseMs),
              status ?? null
            ])
          ])
          await Promise.all([
            run('UPDATE gateway_responses_threads SET bytes = bytes + $2 WHERE id = $1', [row.thread, bytes]),
            addUsage(run, ownerOf(context, owner), { bytes })
          ])
        }
        return { isCancelled: row.is_cancelled }
      })
    },
    readEvents({ owner, id, after }: ReadEvents): Promise<EventPage | undefined> {
      return database.read(async run => {
        const row = await findResponse(run, context, { owner, id })
        if (row === undefined) return undefined
        const packs = await run<{ last: number; content: Buffer | null }>(
          `SELECT last, CASE WHEN bytes_before <= $3 THEN content END AS content FROM (
             SELECT last, content, sum(octet_length(content)) OVER (ORDER BY last) - octet_length(content) AS bytes_before
             FROM gateway_responses_events WHERE response = $1 AND last > $2
           ) AS events ORDER BY last`,
          [id, after, context.answerBytesMax]
        )
        const whole = packs.flatMap(({ last, content }) => (content === null ? [] : [{ last, content }]))
        const events = whole.flatMap(({ last, content }) => unpackEvents(sealing.open(content, eventsPlace(id, last))))
        return {
          events: events.filter(({ sequenceNumber }) => sequenceNumber > after),
          // What is left is asked for later: a reader goes on until it finds the end.
          status: whole.length < packs.length ? 'in_progress' : statusOf(context, row)
        }
      })
    },
    cancelResponse(id: OwnedId): Promise<'marked' | 'ended' | 'not_background' | undefined> {
      return database.write(async run => {
        const row = await findResponse(run, context, id, LOCK_RESPONSE)
        if (row === undefined) return undefined
        if (!row.is_background) return 'not_background'
        if (isEnded(statusOf(context, row))) return 'ended'
        await run('UPDATE gateway_responses SET is_cancelled = true WHERE id = $1', [row.id])
        return 'marked'
      })
    }
  }
}
