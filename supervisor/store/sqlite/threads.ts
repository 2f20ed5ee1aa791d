// Threads: a chain of responses with its branches, or a conversation. What expires and what gives way to new content is a whole thread.
import type { ThreadSummary } from '../../../shared/memory/store.ts'
import type { SqliteContext } from './context.ts'

export interface ThreadRow {
  readonly number: number
  readonly id: string
  readonly owner: number
  readonly is_conversation: number
  readonly turns: number
  readonly bytes: number
  readonly created_at: number
  readonly positions: number
  readonly holder: string | null
  readonly held_until: number | null
  readonly metadata: Buffer | null
}

interface SummaryRow {
  readonly number: number
  readonly id: string
  readonly is_conversation: number
  readonly name: Buffer
  readonly created_ms: number
  readonly used_ms: number
  readonly turns: number
  readonly bytes: number
  readonly model: string
}

export interface NewThread {
  readonly id: string
  readonly owner: number
  readonly isConversation: boolean
  /** Seconds since the epoch, of a conversation. */
  readonly createdAt: number
  readonly metadata?: Buffer
}

export interface Threads {
  create(thread: NewThread): number
  /** A thread that has neither expired nor been deleted. */
  find(id: string): ThreadRow | undefined
  read(number: number): ThreadRow | undefined
  /** Whether the thread has neither expired nor been deleted. */
  isAlive(number: number): boolean
  /** The time before which the last use of an expired thread was. */
  expiry(): number
  use(number: number, model?: string): void
  /** Makes all of it unreadable; its rows are removed bit by bit. */
  markDeleted(number: number): void
  list(
    list: { readonly before?: string | undefined; readonly limit: number },
    openName: (name: Buffer) => string
  ): { readonly threads: readonly ThreadSummary[]; readonly cursor?: string }
}

export function createThreads({ database, nowMs, retentionMs }: SqliteContext): Threads {
  const insert = database.prepare<[string, number, number, number, number, number, Buffer | undefined]>(
    `INSERT INTO threads (id, owner, is_conversation, created_ms, used_ms, created_at, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)`
  )
  const select = database.prepare<[string, number], ThreadRow>(
    'SELECT * FROM threads WHERE id = ? AND is_deleted = 0 AND used_ms >= ?'
  )
  const selectNumber = database.prepare<[number], ThreadRow>('SELECT * FROM threads WHERE number = ?')
  const selectUse = database
    .prepare<[number], number>('SELECT used_ms FROM threads WHERE number = ? AND is_deleted = 0')
    .pluck()
  const use = database.prepare<[number, string | null, number]>(
    'UPDATE threads SET used_ms = ?, model = coalesce(?, model) WHERE number = ?'
  )
  const mark = database.prepare<[number]>('UPDATE threads SET is_deleted = 1 WHERE number = ?')
  const selectPage = database.prepare<[number, number, number, number], SummaryRow>(
    `SELECT threads.*, owners.name FROM threads JOIN owners ON owners.number = threads.owner
     WHERE (used_ms, threads.number) < (?, ?) AND used_ms >= ? AND is_deleted = 0
     ORDER BY used_ms DESC, threads.number DESC LIMIT ?`
  )
  const expiry = () => nowMs() - retentionMs

  return {
    create({ id, owner, isConversation, createdAt, metadata }) {
      const now = nowMs()
      return Number(insert.run(id, owner, isConversation ? 1 : 0, now, now, createdAt, metadata).lastInsertRowid)
    },
    find: id => select.get(id, expiry()),
    read: number => selectNumber.get(number),
    isAlive: number => (selectUse.get(number) ?? Number.NEGATIVE_INFINITY) >= expiry(),
    expiry,
    use: (number, model) => void use.run(nowMs(), model ?? null, number),
    markDeleted: number => void mark.run(number),
    list({ before, limit }, openName) {
      const [usedMs, number] = readCursor(before)
      const rows = selectPage.all(usedMs, number, expiry(), limit + 1)
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      const threads = shown.map(
        (row): ThreadSummary => ({
          id: row.id,
          kind: row.is_conversation === 1 ? 'conversation' : 'responses',
          owner: openName(row.name),
          createdAt: row.created_ms,
          updatedAt: row.used_ms,
          turns: row.turns,
          bytes: row.bytes,
          model: row.model
        })
      )
      return rows.length > limit && last !== undefined
        ? { threads, cursor: `${last.used_ms}.${last.number}` }
        : { threads }
    }
  }
}

function readCursor(cursor: string | undefined): [number, number] {
  const [, usedMs, number] = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor ?? '') ?? []
  return [Number(usedMs ?? Number.MAX_SAFE_INTEGER), Number(number ?? Number.MAX_SAFE_INTEGER)]
}
