// Lists of threads, for operators.
import type { ResponseRecord, ResponseStore, ThreadSummary } from '../../../shared/memory/store.ts'
import { isAlive, isId, type PostgresContext, readExpiry } from './context.ts'
import { listThread, readRecords } from './response-rows.ts'
import { countRecordBytes, OWNER_PLACE } from './save.ts'
import { readTotals } from './usage.ts'

interface ThreadRow {
  readonly id: string
  readonly is_conversation: boolean
  readonly owner_name: Buffer
  readonly created_ms: number
  readonly used_ms: number
  readonly turns: number
  readonly bytes: number
  readonly model: string
}

export function createThreads(context: PostgresContext): Pick<ResponseStore, 'listThreads' | 'readThread' | 'totals'> {
  const { database, sealing } = context

  const summarize = (row: ThreadRow): ThreadSummary => ({
    id: row.id,
    kind: row.is_conversation ? 'conversation' : 'responses',
    owner: sealing.open(row.owner_name, OWNER_PLACE).toString(),
    createdAt: row.created_ms,
    updatedAt: row.used_ms,
    turns: row.turns,
    bytes: row.bytes,
    model: row.model
  })

  return {
    listThreads: ({ before, limit }) =>
      database.read(async run => {
        const [usedMs, id] = readCursor(before)
        const rows = await run<ThreadRow>(
          `SELECT t.id, t.is_conversation, t.owner_name, t.created_ms, t.used_ms, t.turns, t.bytes, t.model
           FROM gateway_responses_threads t WHERE (t.used_ms, t.id) < ($1, $2) AND ${isAlive('$3')}
           ORDER BY t.used_ms DESC, t.id DESC LIMIT $4`,
          [usedMs, id, readExpiry(context), limit + 1]
        )
        const shown = rows.slice(0, limit)
        const last = shown.at(-1)
        const threads = shown.map(summarize)
        return rows.length > limit && last !== undefined
          ? { threads, cursor: `${last.used_ms}.${last.id}` }
          : { threads }
      }),
    readThread: ({ id, limit }) =>
      database.read(async run => {
        const found = isId(id)
          ? await run(`SELECT t.id FROM gateway_responses_threads t WHERE t.id = $1 AND ${isAlive('$2')}`, [
              id,
              readExpiry(context)
            ])
          : []
        const records: ResponseRecord[] = []
        let bytes = 0
        for (const row of found.length === 0 ? [] : await listThread(run, id, limit)) {
          if (bytes > context.answerBytesMax) break
          const read = await readRecords(run, context, [row])
          records.push(...read)
          for (const record of read) bytes += countRecordBytes(record)
        }
        return records
      }),
    totals: () => database.read(readTotals)
  }
}

/** A time and the id that comes after it; what is no cursor begins at the newest. */
function readCursor(cursor: string | undefined): readonly [number, string] {
  const [, usedMs, id] = /^(\d{1,15})\.(.+)$/s.exec(cursor ?? '') ?? []
  return usedMs !== undefined && id !== undefined && isId(id) ? [Number(usedMs), id] : [Number.MAX_SAFE_INTEGER, '']
}
