// Removes responses and threads: on request, after their time, and the longest unused threads of an owner who has stored too much. Only one
// host purges at a time, in small batches, each a transaction of its own.
import { performance } from 'node:perf_hooks'
import type { OwnedId } from '../../../shared/memory/store.ts'
import { isAlive, lockForRemoving, ownerOf, type PostgresContext, readExpiry } from './context.ts'
import type { Run } from './database.ts'
import { removePaths } from './items.ts'
import { findResponse, LOCK_WITH_THREAD, type ResponseRow } from './response-rows.ts'
import { addUsage, findFullOwner, readUsedBytes } from './usage.ts'

/** Key of the advisory lock under which one host purges: "gw-resp2" as bytes. */
const PURGE_LOCK = '7455874085092487218'
/** Responses and places of conversations in one transaction. */
const BATCH = 50
/** A question waits so long for removals; what is left is done by the purge. */
const ROOM_MS = 1_000

type RemovedRow = Pick<ResponseRow, 'id' | 'thread' | 'last_item' | 'bytes'>

export interface Removal {
  removeResponse(id: OwnedId): Promise<boolean>
  /** Removes items that a response had before it was replaced. */
  removePath(owner: Buffer, end: Buffer): Promise<void>
  /** Makes the thread that `find` finds unreadable; false: it finds none. */
  markThread(owner: Buffer, find: (run: Run) => Promise<{ readonly id: string } | undefined>): Promise<boolean>
  /** Removes a thread that was marked as deleted; what takes too long is left to the purge. */
  removeThread(owner: Buffer, thread: string): Promise<void>
  /** Removes the longest unused threads but one, until the owner may store so many bytes more; false: that is not enough. */
  makeRoom(room: { readonly owner: Buffer; readonly kept: string; readonly bytes: number }): Promise<boolean>
  purge(): Promise<boolean>
}

export function createRemoval(context: PostgresContext): Removal {
  const { database, maxBytesPerOwner } = context

  const remove = <Answer>(owner: Buffer, work: (run: Run) => Promise<Answer>) =>
    database.write(work, lockForRemoving(owner))

  /** Removes a batch of a marked thread; false when nothing of it is left. */
  async function removeBatch(run: Run, owner: Buffer, thread: string): Promise<boolean> {
    const [places, responses] = await Promise.all([
      run<{ item: Buffer }>(
        `DELETE FROM gateway_responses_conversation_items WHERE thread = $1 AND position IN (
           SELECT position FROM gateway_responses_conversation_items WHERE thread = $1 ORDER BY position LIMIT ${BATCH}
         ) RETURNING item`,
        [thread]
      ),
      run<RemovedRow>(
        `SELECT id, thread, last_item, bytes FROM gateway_responses WHERE thread = $1 ORDER BY ordinal LIMIT ${BATCH} FOR UPDATE`,
        [thread]
      )
    ])
    await removeRows(run, { owner, responses, places: places.map(({ item }) => item) })
    if (places.length === BATCH || responses.length === BATCH) return true
    const [row] = await run<{ bytes: number }>(
      `DELETE FROM gateway_responses_threads WHERE id = $1
       RETURNING coalesce(octet_length(metadata), 0) AS bytes`,
      [thread]
    )
    await addUsage(run, owner, { bytes: -(row?.bytes ?? 0) })
    return false
  }

  async function mark(run: Run, owner: Buffer, thread: string): Promise<void> {
    const [row] = await run<{ is_conversation: boolean }>(
      `UPDATE gateway_responses_threads SET is_deleted = true WHERE id = $1 AND owner = $2 AND NOT is_deleted
       RETURNING is_conversation`,
      [thread, owner]
    )
    if (row?.is_conversation === true) await addUsage(run, owner, { bytes: 0, conversations: -1 })
  }

  /** Removes one batch of the owner's marked or longest unused thread. */
  function removeOldest(owner: Buffer, kept: string, bytesMax: number): Promise<'removed' | 'enough' | 'none'> {
    return remove(owner, async run => {
      if ((await readUsedBytes(run, owner)) <= bytesMax) return 'enough'
      const [oldest] = await run<{ id: string }>(
        `SELECT id FROM gateway_responses_threads WHERE owner = $1 AND (id <> $2 OR is_deleted)
         ORDER BY is_deleted DESC, used_ms, id LIMIT 1`,
        [owner, kept]
      )
      if (oldest === undefined) return 'none'
      await mark(run, owner, oldest.id)
      await removeBatch(run, owner, oldest.id)
      return 'removed'
    })
  }

  /** Under the lock of all hosts. Undefined: another host purges. */
  function purgeBatch(): Promise<boolean | undefined> {
    return database.write(async run => {
      const [lock] = await run<{ is_locked: boolean }>(`SELECT pg_try_advisory_xact_lock(${PURGE_LOCK}) AS is_locked`)
      if (lock?.is_locked !== true) return undefined
      const expiry = readExpiry(context)
      const threads = await run<{ id: string; owner: Buffer }>(
        `(SELECT id, owner FROM gateway_responses_threads WHERE is_deleted ORDER BY id LIMIT ${BATCH})
         UNION ALL
         (SELECT id, owner FROM gateway_responses_threads WHERE used_ms < $1 AND NOT is_deleted ORDER BY used_ms, id LIMIT ${BATCH})`,
        [expiry]
      )
      const owner = threads[0]?.owner
      if (owner === undefined) return false
      await run(lockForRemoving(owner))
      let removed = 0
      for (const { id } of threads.filter(thread => thread.owner.equals(owner))) {
        // It may have been used since.
        const [expired] = await run<{ id: string }>(
          `SELECT t.id FROM gateway_responses_threads t WHERE t.id = $1 AND NOT ${isAlive('$2')} FOR UPDATE`,
          [id, expiry]
        )
        if (expired === undefined) continue
        await mark(run, owner, id)
        removed++
        if ((await removeBatch(run, owner, id)) || removed === BATCH) break
      }
      return true
    })
  }

  return {
    removeResponse(id) {
      const owner = ownerOf(context, id.owner)
      return remove(owner, async run => {
        const row = await findResponse(run, context, id, LOCK_WITH_THREAD)
        if (row === undefined) return false
        await removeRows(run, { owner, responses: [row], places: [] })
        await run(
          `DELETE FROM gateway_responses_threads WHERE id = $1 AND NOT is_conversation
           AND NOT EXISTS (SELECT FROM gateway_responses r WHERE r.thread = $1)`,
          [row.thread]
        )
        return true
      })
    },
    removePath(owner, end) {
      return remove(owner, async run => addUsage(run, owner, { bytes: -(await removePaths(run, [end])) }))
    },
    markThread(owner, find) {
      return remove(owner, async run => {
        const thread = await find(run)
        if (thread !== undefined) await mark(run, owner, thread.id)
        return thread !== undefined
      })
    },
    async removeThread(owner, thread) {
      const end = performance.now() + ROOM_MS
      while (await remove(owner, run => removeBatch(run, owner, thread))) {
        if (performance.now() > end) return
      }
    },
    async makeRoom({ owner, kept, bytes }) {
      const end = performance.now() + ROOM_MS
      for (;;) {
        const outcome = await removeOldest(owner, kept, maxBytesPerOwner - bytes)
        if (outcome !== 'removed') return outcome === 'enough'
        if (performance.now() > end) return true
      }
    },
    async purge() {
      const isLeft = await purgeBatch()
      if (isLeft !== false) return isLeft === true
      if (maxBytesPerOwner === 0) return false
      const full = await database.read(run => findFullOwner(run, maxBytesPerOwner))
      if (full === undefined) return false
      // Under the owner's lock: another host that finds the same owner waits, and then finds enough room.
      return (await removeOldest(full, '', maxBytesPerOwner)) === 'removed'
    }
  }
}

interface RemovedRows {
  readonly owner: Buffer
  readonly responses: readonly RemovedRow[]
  /** Items of removed places of a conversation. */
  readonly places: readonly Buffer[]
}

/** Removes responses with all that only they need. */
async function removeRows(run: Run, { owner, responses, places }: RemovedRows): Promise<void> {
  const ids = responses.map(({ id }) => id)
  if (ids.length > 0) {
    await Promise.all([
      run('DELETE FROM gateway_responses_events WHERE response = ANY($1::text[])', [ids]),
      run('DELETE FROM gateway_responses WHERE id = ANY($1::text[])', [ids]),
      run(
        `UPDATE gateway_responses_threads t SET turns = t.turns - removed.turns, bytes = t.bytes - removed.bytes
         FROM (SELECT thread, count(*) AS turns, sum(bytes) AS bytes
           FROM unnest($1::text[], $2::bigint[]) AS r (thread, bytes) GROUP BY thread) AS removed
         WHERE t.id = removed.thread`,
        [responses.map(({ thread }) => thread), responses.map(({ bytes }) => bytes)]
      )
    ])
  }
  const freed = await removePaths(run, [...places, ...responses.map(row => row.last_item)])
  const ownBytes = responses.reduce((sum, { bytes }) => sum + bytes, 0)
  await addUsage(run, owner, { bytes: -(freed + ownBytes), responses: -ids.length })
}
