// Answers questions from a SQLite file through a connection that cannot write. The driver is synchronous: it belongs into a thread of
// its own, beside the one that writes.
import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { TrafficQueries } from '../../../../shared/traffic/query.ts'
import { createStatementQueries } from '../queries.ts'
import { type Row, readStoreStatus } from '../rows.ts'
import type { Dialect, Statement } from '../statements.ts'
import { IS_IN_ANY_BLOCK } from './schema.ts'

export const sqliteDialect: Dialect = {
  placeholder: () => '?',
  selectTime: column => column,
  selectDay: column => `substr(${column}, 1, 10)`,
  startOfBucket,
  isMemberTrue: path => `coalesce(json_extract(metadata, '$.${path.join('.')}'), 0) = 1`,
  selectJson: column => column,
  isWalked: condition => `likely(${condition})`,
  byId: column => ({
    table: `gateway_traffic_logs INDEXED BY ix_gateway_traffic_logs_${column}`,
    condition: IS_IN_ANY_BLOCK
  }),
  selectMember: path => `json_extract(metadata, '$.${path.join('.')}')`,
  contains: (text, part) => `instr(lower(${text}), ${part}) > 0`
}

/** Times are texts of fixed width; minutes and hours are starts of their buckets already. */
function startOfBucket(column: string, seconds: number): string {
  if (seconds >= 86_400) return `substr(${column}, 1, 10) || 'T00:00:00.000000Z'`
  if (seconds >= 3600) return `substr(${column}, 1, 13) || ':00:00.000000Z'`
  if (seconds <= 60) return column
  const minutes = seconds / 60
  return `substr(${column}, 1, 14) || printf('%02d', substr(${column}, 15, 2) / ${minutes} * ${minutes}) || ':00.000000Z'`
}

const BUSY_TIMEOUT_MS = 5000

/** Records get ascending numbers; only the oldest are deleted, or nearly so. */
const STATUS = `SELECT
    coalesce((SELECT max(rowid) FROM gateway_traffic_logs) - (SELECT min(rowid) FROM gateway_traffic_logs) + 1, 0) AS records,
    (SELECT min(created_at) FROM gateway_traffic_logs) AS oldest,
    (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS bytes`

export interface SqliteQueries extends TrafficQueries {
  /** The plan of a statement, for tests: one line per step. */
  explain(statement: Statement): string[]
  close(): void
}

/** Opens the file for reading. Raises the driver's error, also where there is no such file. */
export function openSqliteQueries(path: string): SqliteQueries {
  const database = new Database(path, { readonly: true, fileMustExist: true })
  database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  const all = async ({ sql, values }: Statement) => database.prepare(sql).all(...values) as Row[]

  return {
    ...createStatementQueries(all, sqliteDialect),
    async readStatus() {
      const row = database.prepare(STATUS).get() as Row
      return readStoreStatus(row, { walBytes: statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0 })
    },
    explain({ sql, values }) {
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as Array<{ detail: string }>
      return steps.map(({ detail }) => detail)
    },
    close: () => void database.close()
  }
}
