// Writes responses (memory.md 2).
import { createHash } from 'node:crypto'
import { isEnded, type ResponseRecord, type SaveResponse, type SaveResult } from '../../../shared/memory/store.ts'
import { cleanText, isAlive, isId, lockForAdding, ownerOf, type PostgresContext, readExpiry } from './context.ts'
import { appendTurn, isInConversation } from './conversation-items.ts'
import { type Run, Undo } from './database.ts'
import { addEvents } from './events.ts'
import { addItems, findStored, type NewItem, planPath } from './items.ts'
import type { Removal } from './removal.ts'
import { bodyPlace, type ResponseRow } from './response-rows.ts'
import { addUsage, readUsedBytes } from './usage.ts'

/** What a response needs beside what its owner has. */
export interface NeedsRoom {
  readonly kept: string
  readonly bytes: number
}

/** Saved, but an earlier version of the response had other items. */
interface Replaced {
  readonly replacedEnd: Buffer
}

type Outcome = SaveResult | NeedsRoom | Replaced

/** Questions that were undone because the owner had no room are asked again, while others of the owner take room as well. */
const ATTEMPTS = 3

/** The thread that a response belongs to: its own, that of its conversation, or that of the response which it continues. */
const FIND_THREAD = `SELECT t.id, t.positions, t.is_conversation FROM gateway_responses_threads t
  WHERE t.id = coalesce(
    (SELECT thread FROM gateway_responses WHERE id = $1 AND owner = $4), $2,
    (SELECT thread FROM gateway_responses WHERE id = $3 AND owner = $4))
  AND t.owner = $4 AND ${isAlive('$5')} FOR UPDATE`

interface ThreadRow {
  readonly id: string
  readonly positions: number
  readonly is_conversation: boolean
}

type OldRow = Pick<ResponseRow, 'status' | 'last_item' | 'last_event'> & { readonly body_bytes: number }

const INSERT_THREAD = `INSERT INTO gateway_responses_threads
  (id, owner, owner_name, is_conversation, created_ms, used_ms, turns, bytes, model) VALUES ($1, $2, $3, false, $4, $4, 1, $5, $6)`

const UPDATE_THREAD = `UPDATE gateway_responses_threads
  SET used_ms = greatest(used_ms, $2), turns = turns + $3, bytes = bytes + $4, model = $5 WHERE id = $1 RETURNING bytes`

const COLUMNS = [
  'id',
  'owner',
  'thread',
  'previous',
  'is_in_conversation',
  'created_at',
  'is_background',
  'last_position',
  'status',
  'model',
  'upstream_thread',
  'last_item',
  'outputs',
  'body',
  'body_bytes',
  'last_sequence_number',
  'lease_until',
  'bytes'
] as const
const REPLACED = [
  'last_position',
  'status',
  'model',
  'upstream_thread',
  'last_item',
  'outputs',
  'body',
  'body_bytes'
] as const
const UPSERT = `INSERT INTO gateway_responses AS r (${COLUMNS.join(', ')})
  VALUES (${COLUMNS.map((_, index) => `$${index + 1}`).join(', ')})
  ON CONFLICT (id) DO UPDATE SET
    ${[...REPLACED, 'last_sequence_number', 'lease_until'].map(name => `${name} = excluded.${name}`).join(', ')},
    bytes = r.bytes + excluded.bytes - $19`

export function createSave(context: PostgresContext, removal: Removal) {
  const { database, sealing, nowMs, maxBytes, maxBytesPerOwner } = context

  return async function saveResponse(save: SaveResponse): Promise<SaveResult> {
    const { record } = save
    if (countRecordBytes(record) > maxBytes) return 'too_large'
    const owner = ownerOf(context, save.owner)
    if (!isId(record.id)) throw new Error('the id of a response cannot be stored')
    for (let attempt = 1; ; attempt++) {
      const isBounded = attempt < ATTEMPTS
      const result = await database.write<Outcome>(
        run => write(run, { save, owner, isBounded }),
        `${lockForAdding(owner)}; ${lockResponse(record.id)}`
      )
      if (typeof result === 'string') return result
      if ('replacedEnd' in result) {
        await removal.removePath(owner, result.replacedEnd)
        return 'saved'
      }
      if (!(await removal.makeRoom({ owner, ...result }))) return 'too_large'
    }
  }

  async function write(
    run: Run,
    { save, owner, isBounded }: { save: SaveResponse; owner: Buffer; isBounded: boolean }
  ): Promise<Outcome> {
    const { record } = save
    const { conversationId } = record
    const events = save.events ?? []
    const path = planPath(context, {
      owner,
      ofResponse: conversationId === undefined ? undefined : record.id,
      items: [...record.input, ...record.output]
    })
    const previous = record.previousResponseId === undefined ? null : cleanText(record.previousResponseId)
    const [[thread], [old], stored] = await Promise.all([
      run<ThreadRow>(FIND_THREAD, [record.id, conversationId ?? null, previous, owner, readExpiry(context)]),
      run<OldRow>(
        `SELECT status, last_item, last_event, body_bytes FROM gateway_responses
         WHERE id = $1 AND owner = $2 FOR UPDATE`,
        [record.id, owner]
      ),
      findStored(run, path)
    ])
    if (conversationId !== undefined && (thread?.id !== conversationId || !thread.is_conversation)) {
      return 'conversation_not_found'
    }
    if (thread === undefined && old !== undefined) return 'deleted'
    if (old === undefined && save.isUpdate === true) return 'deleted'
    // The same question twice.
    if (old !== undefined && isEnded(old.status)) return 'saved'

    const body = sealing.seal(record.body, bodyPlace(record.id))
    const threadId = thread?.id ?? record.id
    // Asked together, in the order in which transactions take their locks.
    const [added, , eventBytes] = await Promise.all([
      addItems(run, context, {
        owner,
        thread: threadId,
        items: path.filter(({ key }) => !stored.has(key.toString('hex')))
      }),
      run(UPSERT, [
        ...writeColumns(save, { owner, thread: threadId, previous }),
        appendedPosition(record, thread, path),
        record.status,
        cleanText(record.model),
        record.threadId === undefined ? null : cleanText(record.threadId),
        path.at(-1)?.key ?? null,
        record.output.length,
        body,
        record.body.length,
        record.lastSequenceNumber,
        save.leaseMs === undefined || isEnded(record.status) ? null : Math.ceil(nowMs() + save.leaseMs),
        record.body.length,
        old?.body_bytes ?? 0
      ]),
      addEvents(run, context, { id: record.id, lastEvent: old?.last_event ?? -1, events }),
      thread !== undefined && conversationId !== undefined && isInConversation(record.status)
        ? appendTurn(run, thread, path)
        : Promise.resolve()
    ])
    const bytes = added + eventBytes + record.body.length - (old?.body_bytes ?? 0)
    const isNew = old === undefined
    const [threadBytes, , used] = await Promise.all([
      writeThread(run, { record, save, owner, thread, bytes, isNew }),
      addUsage(run, owner, { bytes, responses: isNew ? 1 : 0 }),
      maxBytesPerOwner > 0 && isBounded ? readUsedBytes(run, owner) : 0
    ])
    if (maxBytesPerOwner > 0 && isBounded) {
      if (threadBytes > maxBytesPerOwner) throw new Undo<SaveResult>('too_large')
      if (used > maxBytesPerOwner) throw new Undo<NeedsRoom>({ kept: threadId, bytes })
    }
    const oldEnd = old?.last_item ?? undefined
    return oldEnd === undefined || path.some(({ key }) => key.equals(oldEnd)) ? 'saved' : { replacedEnd: oldEnd }
  }

  interface WrittenThread {
    readonly record: ResponseRecord
    readonly save: SaveResponse
    readonly owner: Buffer
    readonly thread: ThreadRow | undefined
    readonly bytes: number
    readonly isNew: boolean
  }

  /** Returns the size of the thread. */
  async function writeThread(run: Run, { record, save, owner, thread, bytes, isNew }: WrittenThread): Promise<number> {
    const now = Math.floor(nowMs())
    const model = cleanText(record.model)
    if (thread === undefined) {
      const name = sealing.seal(Buffer.from(save.owner.name), OWNER_PLACE)
      await run(INSERT_THREAD, [record.id, owner, name, now, bytes, model])
      return bytes
    }
    const [row] = await run<{ bytes: number }>(UPDATE_THREAD, [thread.id, now, isNew ? 1 : 0, bytes, model])
    return row?.bytes ?? 0
  }
}

/** Two questions on one response, as after a lost connection, follow each other. */
function lockResponse(id: string): string {
  const key = createHash('sha256').update(id).digest().readBigInt64BE(0)
  return `SELECT pg_advisory_xact_lock(${key})`
}

/** What the sealed name of an owner is bound to. */
export const OWNER_PLACE = 'owner'

/** The columns that are written once. */
function writeColumns(
  { record }: SaveResponse,
  { owner, thread, previous }: { readonly owner: Buffer; readonly thread: string; readonly previous: string | null }
) {
  return [
    record.id,
    owner,
    thread,
    previous,
    record.conversationId !== undefined,
    record.createdAt,
    record.isBackground
  ] as const
}

/** The last place of the conversation that the response has seen or added. */
function appendedPosition(
  { status, conversationId }: ResponseRecord,
  thread: ThreadRow | undefined,
  path: readonly NewItem[]
): number | null {
  if (thread === undefined || conversationId === undefined) return null
  return thread.positions - 1 + (isInConversation(status) ? path.length : 0)
}

/** A response with its own input. */
export function countRecordBytes({ input, output, body }: ResponseRecord): number {
  return [...input, ...output].reduce((sum, { json }) => sum + json.length, body.length)
}
