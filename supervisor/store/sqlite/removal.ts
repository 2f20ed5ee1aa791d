// Removes responses and threads: on request, after their time, and the longest unused threads of an owner who has stored too much.
import { performance } from 'node:perf_hooks'
import type { SqliteContext } from './context.ts'
import type { Items } from './items.ts'
import type { Owners } from './owners.ts'
import type { ResponseRow, ResponseRows } from './response-rows.ts'
import type { ThreadRow, Threads } from './threads.ts'

/** Time for removals in one question. */
const BATCH_MS = 8
const ROWS = 50

export interface Removal {
  removeResponse(row: ResponseRow): void
  /** Makes a thread unreadable and removes as much of it as fits into one question. */
  removeThread(thread: Pick<ThreadRow, 'number' | 'owner' | 'is_conversation'>): void
  /** Removes other threads of the owner; false where it still has too much. What takes too long is left to `purge`. */
  makeRoom(place: { readonly owner: number; readonly thread: number }): boolean
  /** Removes one batch of what was marked or is too old; true: more may be left. */
  purge(): boolean
  /** Whether marked threads are left for `purge`. */
  hasLeft(): boolean
  /** Says that content was removed elsewhere. */
  noteRemoved(): void
  /** Whether content was removed since the last call. */
  takeRemoved(): boolean
}

export interface RemovalOptions {
  readonly context: SqliteContext
  readonly owners: Owners
  readonly threads: Threads
  readonly items: Items
  readonly rows: ResponseRows
}

type RemovedThread = Pick<ThreadRow, 'number' | 'owner' | 'is_conversation'>

export function createRemoval({ context, owners, threads, items, rows }: RemovalOptions): Removal {
  const { database, ledger, maxBytesPerOwner } = context
  const deleteRows = ['DELETE FROM events WHERE response = ?', 'DELETE FROM bodies WHERE response = ?'].map(sql =>
    database.prepare<[number]>(sql)
  )
  const deleteResponse = database.prepare<[number]>('DELETE FROM responses WHERE number = ?')
  const selectPlaces = database.prepare<[number, number], { position: number; item: number }>(
    'SELECT position, item FROM conversation_items WHERE thread = ? ORDER BY position LIMIT ?'
  )
  const deletePlace = database.prepare<[number, number]>(
    'DELETE FROM conversation_items WHERE thread = ? AND position = ?'
  )
  const deleteThread = database.prepare<[number]>('DELETE FROM threads WHERE number = ?')
  const threadColumns = 'SELECT number, owner, is_conversation FROM threads'
  const selectDeleted = database.prepare<[], RemovedThread>(`${threadColumns} WHERE is_deleted = 1 LIMIT 1`)
  const selectDeletedOf = database.prepare<[number], RemovedThread>(
    `${threadColumns} WHERE is_deleted = 1 AND owner = ? LIMIT 1`
  )
  const selectOldestOf = database.prepare<[number, number], RemovedThread>(
    `${threadColumns} WHERE owner = ? AND number <> ? AND is_deleted = 0 ORDER BY used_ms, number LIMIT 1`
  )
  const selectExpired = database.prepare<[number], RemovedThread>(
    `${threadColumns} WHERE used_ms < ? AND is_deleted = 0 ORDER BY used_ms, number LIMIT 1`
  )
  /** Owners for whose last response there was not enough time to make room. */
  const fullOwners = new Map<number, number>()
  let isLeft = selectDeleted.get() !== undefined
  let isRemoved = false

  function removeResponse(row: ResponseRow): void {
    if (row.input !== null) items.release(row.input)
    items.releaseRange({ first: row.first_output, count: row.outputs })
    for (const statement of deleteRows) statement.run(row.number)
    deleteResponse.run(row.number)
    ledger.charge(row, { bytes: -(row.body_bytes + row.event_bytes), responses: -1 })
    isRemoved = true
  }

  function mark({ number, owner, is_conversation }: RemovedThread): void {
    threads.markDeleted(number)
    if (is_conversation === 1) ledger.charge({ owner, thread: number }, { conversations: -1 })
  }

  /** False when the time is up before all of it is removed. */
  function removeRows({ number }: RemovedThread, end: number): boolean {
    isRemoved = true
    for (;;) {
      const places = selectPlaces.all(number, ROWS)
      const responses = places.length > 0 ? [] : rows.listThread(number, ROWS)
      if (places.length + responses.length === 0) break
      for (const { position, item } of places) {
        deletePlace.run(number, position)
        items.release(item)
        if (performance.now() > end) return false
      }
      for (const row of responses) {
        removeResponse(row)
        if (performance.now() > end) return false
      }
    }
    deleteThread.run(number)
    return true
  }

  function removeUntil(thread: RemovedThread, end: number): boolean {
    const isWhole = removeRows(thread, end)
    if (!isWhole) isLeft = true
    ledger.flush()
    return isWhole
  }

  /** `undefined`: the time is up. */
  function makeRoomUntil(owner: number, kept: number, end: number): boolean | undefined {
    ledger.flush()
    while (owners.readBytes(owner) > maxBytesPerOwner) {
      if (performance.now() > end) return undefined
      const marked = selectDeletedOf.get(owner)
      const next = marked ?? selectOldestOf.get(owner, kept)
      if (next === undefined) return false
      if (marked === undefined) mark(next)
      removeUntil(next, end)
    }
    return true
  }

  function purgeNext(end: number): boolean {
    const marked = selectDeleted.get()
    const next = marked ?? selectExpired.get(threads.expiry())
    if (next !== undefined) {
      if (marked === undefined) mark(next)
      removeUntil(next, end)
      return true
    }
    isLeft = false
    for (const [owner, kept] of fullOwners) {
      if (makeRoomUntil(owner, kept, end) !== undefined) fullOwners.delete(owner)
      return true
    }
    return false
  }

  return {
    removeResponse,
    removeThread(thread) {
      mark(thread)
      removeUntil(thread, performance.now() + BATCH_MS)
    },
    makeRoom({ owner, thread }) {
      if (maxBytesPerOwner === 0) return true
      const hasRoom = makeRoomUntil(owner, thread, performance.now() + BATCH_MS)
      if (hasRoom === undefined) fullOwners.set(owner, thread)
      return hasRoom ?? true
    },
    purge() {
      const end = performance.now() + BATCH_MS
      while (purgeNext(end)) {
        if (performance.now() > end) return true
      }
      owners.purge()
      return false
    },
    noteRemoved() {
      isRemoved = true
    },
    hasLeft: () => isLeft || fullOwners.size > 0,
    takeRemoved() {
      const wasRemoved = isRemoved
      isRemoved = false
      return wasRemoved
    }
  }
}
