// Stored responses as operators see them: threads, and the turns of one of them (operations.md 9.8).

import type { ShownThread, ShownTurn } from '../../shared/admin-answers.ts'
import { asBuffer } from '../../shared/bytes.ts'
import type { ResponseRecord, StoredItem, ThreadSummary } from '../../shared/memory/store.ts'
import { writeRecordTime } from '../../shared/traffic/record.ts'
import type { QueryValues } from '../http/request/families.ts'
import { integer, optional, readParameters, text, withDefault } from '../http/request/parameters.ts'
import { writeShownItem } from '../memory/shown-item.ts'
import { GatewayError, type JsonValue } from '../normalized/index.ts'
import { showTime } from './timestamps.ts'

const LIST_MAX = 500
const LIST_DEFAULT = 100
const TURNS_MAX = 1000
const TURNS_DEFAULT = 100
/** What is larger, a picture for example, is named only: a page shows texts. */
const SHOWN_ITEM_BYTES_MAX = 64 * 1024

/** The query parameters of the list and of a thread. */
export const LIST_NAMES = ['limit', 'cursor']
export const TURN_NAMES = ['limit']

/** Cursors of all engines have this form. */
const CURSOR = /^[\w.:-]{1,128}$/

export interface ThreadsQuery {
  readonly before: string | undefined
  readonly limit: number
  /** As the client sent it; null for none. */
  readonly cursor: string | null
}

/** Raises `invalid_parameter` and `invalid_cursor`. */
export function readThreadsQuery(query: QueryValues): ThreadsQuery {
  const { cursor, limit } = readParameters('query', query, {
    limit: withDefault(integer({ min: 1, max: LIST_MAX }), LIST_DEFAULT),
    cursor: optional(text)
  })
  const before = cursor === '' ? undefined : cursor
  if (before !== undefined && !CURSOR.test(before)) throw new GatewayError('invalid_cursor')
  return { before, limit, cursor: cursor ?? null }
}

/** How many turns are read. Raises `invalid_parameter`. */
export function readTurnsLimit(query: QueryValues): number {
  return readParameters('query', query, { limit: withDefault(integer({ min: 1, max: TURNS_MAX }), TURNS_DEFAULT) })
    .limit
}

const THREAD_ID = /^(?:resp|conv)_[A-Za-z0-9_-]{32}$/

/** Raises `thread_not_found` for an id that no thread can have. */
export function readThreadId(id: string): string {
  if (!THREAD_ID.test(id)) throw new GatewayError('thread_not_found')
  return id
}

export function showThread(thread: ThreadSummary): ShownThread {
  const { id, kind, owner, createdAt, updatedAt, turns, bytes, model } = thread
  return {
    id,
    kind,
    owner,
    created_at: showMs(createdAt),
    updated_at: showMs(updatedAt),
    turns,
    bytes,
    model
  }
}

export function showTurn(record: ResponseRecord): ShownTurn {
  return {
    id: record.id,
    created_at: showMs(record.createdAt * 1000),
    status: record.status,
    model: record.model,
    previous_response_id: record.previousResponseId ?? null,
    input: record.input.map(showItem),
    output: record.output.map(showItem)
  }
}

function showItem(item: StoredItem): JsonValue {
  const { byteLength } = item.json
  if (byteLength > SHOWN_ITEM_BYTES_MAX) return { id: item.id, omitted_bytes: byteLength }
  return JSON.parse(asBuffer(writeShownItem(item)).toString()) as JsonValue
}

function showMs(ms: number): string {
  return showTime(writeRecordTime(ms))
}
