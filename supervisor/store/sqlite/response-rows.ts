// The rows of responses, and where they are found.
import type { OwnedId, ResponseRecord, ResponseStatus } from '../../../shared/memory/store.ts'
import { readStatus } from '../lost-response.ts'
import type { SqliteContext } from './context.ts'
import type { Items } from './items.ts'
import type { Owners } from './owners.ts'
import type { Threads } from './threads.ts'

export interface ResponseRow {
  readonly number: number
  readonly id: string
  readonly owner: number
  readonly thread: number
  /** The number of the response that this one continues; `LOST` where that was deleted before. */
  readonly previous: number | null
  readonly previous_id: string | null
  readonly is_in_conversation: number
  /** The last place of the conversation when the response ended. */
  readonly last_position: number | null
  readonly created_at: number
  readonly status: ResponseStatus
  readonly model: string
  readonly upstream_thread: string | null
  readonly is_background: number
  readonly input: number | null
  readonly first_output: number
  readonly outputs: number
  readonly last_sequence_number: number
  readonly last_event: number
  readonly lease_until: number | null
  readonly is_cancelled: number
  readonly body_bytes: number
  readonly event_bytes: number
}

/** No row has this number. */
export const LOST = 0

export interface ResponseRows {
  /** The response of this owner, unless it has expired. */
  find(id: OwnedId): ResponseRow | undefined
  statusOf(row: ResponseRow): ResponseStatus
  read(row: ResponseRow): ResponseRecord
  listThread(thread: number, limit: number): ResponseRow[]
}

export interface ResponseRowsOptions {
  readonly context: SqliteContext
  readonly owners: Owners
  readonly threads: Threads
  readonly items: Items
}

export function createResponseRows({ context, owners, threads, items }: ResponseRowsOptions): ResponseRows {
  const { database, sealing, nowMs } = context
  const select = database.prepare<[string], ResponseRow>('SELECT * FROM responses WHERE id = ?')
  const selectBody = database.prepare<[number], Buffer>('SELECT content FROM bodies WHERE response = ?').pluck()
  const selectOfThread = database.prepare<[number, number], ResponseRow>(
    'SELECT * FROM responses WHERE thread = ? ORDER BY number LIMIT ?'
  )

  function readBody({ number, id }: ResponseRow): Buffer {
    const content = selectBody.get(number)
    if (content === undefined) throw new Error(`the response ${number} has no body`)
    return sealing.open(content, `response ${id}`)
  }

  const statusOf = ({ status, lease_until }: ResponseRow) => readStatus(status, lease_until ?? undefined, nowMs())

  return {
    // Three questions instead of a join: the driver prepares this join again each time its values change, which costs ten times as much.
    find({ owner, id }) {
      const row = select.get(id)
      return row !== undefined && row.owner === owners.find(owner) && threads.isAlive(row.thread) ? row : undefined
    },
    statusOf,
    read(row) {
      const thread = row.is_in_conversation === 1 ? threads.read(row.thread) : undefined
      return {
        id: row.id,
        createdAt: row.created_at,
        status: statusOf(row),
        model: row.model,
        ...(row.previous_id !== null && { previousResponseId: row.previous_id }),
        ...(thread !== undefined && { conversationId: thread.id }),
        ...(row.upstream_thread !== null && { threadId: row.upstream_thread }),
        isBackground: row.is_background === 1,
        input: items.readInput(row.input ?? undefined),
        output: items.readRange({ first: row.first_output, count: row.outputs }),
        body: readBody(row),
        lastSequenceNumber: row.last_sequence_number
      }
    },
    listThread: (thread, limit) => selectOfThread.all(thread, limit)
  }
}
