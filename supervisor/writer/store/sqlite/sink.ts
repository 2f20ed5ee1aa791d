// The store that keeps records in a SQLite file (operations.md 8.4). It is the only connection that
// writes; the driver is synchronous, which is why it runs in the writer process.
import { chmodSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { PayloadField, TrafficQueries } from '../../../../shared/traffic/query.ts'
import type { TrafficRecord } from '../../../../shared/traffic/record.ts'
import { RecordsRefusedError, type RelationalStore } from '../../sink.ts'
import {
  AUDIT_COLUMNS,
  FLAG_COLUMNS,
  HOUR_SUMS,
  listRedactedColumns,
  listSumKeys,
  MEMBER_COLUMNS,
  MINUTE_SUMS,
  PAYLOAD_COLUMNS,
  SUM_COLUMNS,
  SUM_TABLES,
  type SumTable,
  startOfHour,
  startOfMinute,
  sumRecords,
  writeMemberColumns,
  writePayloadColumns,
  writeSumColumns
} from '../columns.ts'
import { selectExpired } from '../statements.ts'
import { sqliteDialect } from './queries.ts'
import { migrate, NEXT_BLOCK } from './schema.ts'

const PRIVATE = 0o600
const BUSY_TIMEOUT_MS = 5000

/** Questions with the connection that answers them. */
export interface ClosableQueries extends TrafficQueries {
  close(): void | Promise<void>
}

/** SQLite's primary result codes for values that it does not take; others, such as a full disk or a lock, pass. */
const REFUSALS = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/

/**
 * Opens or creates the file and brings it to the current schema. `openQueries` is called once the file exists. Raises the driver's errors
 * and `NewerSchemaError`.
 */
export function openSqliteStore(path: string, openQueries: (path: string) => ClosableQueries): RelationalStore {
  const database = openForWriting(path)
  const queries = openQueries(path)
  const insertLog = database.prepare(
    `INSERT OR IGNORE INTO gateway_traffic_logs (${[...MEMBER_COLUMNS, ...FLAG_COLUMNS].join(', ')}, block)
     VALUES (${[...MEMBER_COLUMNS, ...FLAG_COLUMNS].map(() => '?').join(', ')}, ${NEXT_BLOCK})`
  )
  const insertPayload = database.prepare(
    `INSERT INTO gateway_traffic_payloads (${PAYLOAD_COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?)`
  )
  const addSums = new Map(SUM_TABLES.map(table => [table, database.prepare(writeSumsStatement(table))]))

  const writeBatch = database.transaction((records: readonly TrafficRecord[]) => {
    const inserted = records.filter(record => {
      const payload = writePayloadColumns(record)
      const flags = [payload?.requestBody == null ? 0 : 1, payload?.responseBody == null ? 0 : 1]
      const { changes } = insertLog.run(...writeMemberColumns(record), ...flags)
      if (changes === 0) return false
      if (payload !== undefined) {
        const { requestHeaders, requestBody, responseBody } = payload
        insertPayload.run(record.id, record.created_at, requestHeaders, requestBody, responseBody)
      }
      return true
    })
    // Only new records count: a repeated record counts once.
    for (const { table, sums } of sumRecords(inserted)) {
      for (const sum of sums) addSums.get(table)?.run(...writeSumColumns(sum))
    }
  })

  const oldestContent = '(SELECT id FROM gateway_traffic_payloads WHERE created_at < ? ORDER BY created_at, id LIMIT ?)'
  const clearFlags = database.prepare(
    `UPDATE gateway_traffic_logs SET ${FLAG_COLUMNS.map(name => `${name} = 0`).join(', ')} WHERE id IN ${oldestContent}`
  )
  const deleteContent = database.prepare(`DELETE FROM gateway_traffic_payloads WHERE id IN ${oldestContent}`)
  const deleteOldestContent = database.transaction((before: string, batchSize: number) => {
    clearFlags.run(before, batchSize)
    return deleteContent.run(before, batchSize).changes
  })
  const deleteHours = database.prepare(`DELETE FROM ${HOUR_SUMS.name} WHERE hour < ?`)
  const deleteMinutes = database.prepare(`DELETE FROM ${MINUTE_SUMS.name} WHERE minute < ?`)
  const insertAudit = database.prepare(
    `INSERT INTO gateway_admin_audit (${AUDIT_COLUMNS.join(', ')}) VALUES (${AUDIT_COLUMNS.map(() => '?').join(', ')})`
  )

  const redactRecord = database.transaction((id: string, fields: readonly PayloadField[], metadata: object) => {
    const { changes } = database
      .prepare(
        `UPDATE gateway_traffic_logs SET metadata = json_patch(metadata, ?), ${listRedactedColumns(fields).join(', ')} WHERE id = ?`
      )
      .run(JSON.stringify(metadata), id)
    const emptied = fields.map(field => `${field} = NULL`)
    database.prepare(`UPDATE gateway_traffic_payloads SET ${emptied.join(', ')} WHERE id = ?`).run(id)
    return changes > 0
  })

  /** Makes the file smaller by what was deleted. */
  function releasePages(): void {
    database.pragma('incremental_vacuum')
    database.pragma('wal_checkpoint(PASSIVE)')
  }

  return {
    name: 'sqlite',
    queries,
    async redact(id, fields, metadata) {
      // Overwrites removed content: otherwise the bytes stay in free pages of the file and in the
      // write-ahead log.
      database.pragma('secure_delete = ON')
      try {
        return redactRecord.immediate(id, fields, metadata)
      } finally {
        database.pragma('secure_delete = OFF')
        database.pragma('wal_checkpoint(TRUNCATE)')
      }
    },
    async purge(request) {
      const { sql, values } = selectExpired(request, sqliteDialect)
      const deletion = database.prepare(
        `DELETE FROM gateway_traffic_logs WHERE id IN (SELECT id FROM (${sql})) RETURNING created_at`
      )
      const times = deletion.pluck().all(...values) as string[]
      const isComplete = times.length < request.batchSize
      if (isComplete) {
        deleteHours.run(startOfHour(request.failedBefore))
        deleteMinutes.run(startOfMinute(request.minutesBefore ?? request.failedBefore))
      }
      releasePages()
      return { deleted: times.length, until: times.toSorted().at(-1), isComplete }
    },
    async purgeContent(before, batchSize) {
      const deleted = deleteOldestContent.immediate(before, batchSize)
      releasePages()
      return { deleted, isComplete: deleted < batchSize }
    },
    async audit(entry) {
      insertAudit.run(...AUDIT_COLUMNS.map(column => entry[column]))
    },
    async write(records) {
      try {
        writeBatch.immediate(records)
      } catch (error) {
        if (error instanceof Database.SqliteError && REFUSALS.test(error.code)) throw new RecordsRefusedError(error)
        throw error
      }
    },
    async close() {
      await queries.close()
      try {
        // The file then stands alone, without its write-ahead log.
        database.pragma('wal_checkpoint(TRUNCATE)')
      } finally {
        database.close()
      }
    }
  }
}

/** Opens the one connection that writes. */
function openForWriting(path: string): Database.Database {
  const database = new Database(path)
  if (path !== ':memory:') chmodSync(path, PRIVATE)
  // Takes effect only before the first table exists.
  database.pragma('auto_vacuum = INCREMENTAL')
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = NORMAL')
  database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  database.pragma('foreign_keys = ON')
  migrate(database)
  return database
}

function writeSumsStatement(table: SumTable): string {
  const keys = listSumKeys(table)
  const columns = [...keys, ...SUM_COLUMNS]
  return `INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${keys.join(', ')})
    DO UPDATE SET ${SUM_COLUMNS.map(name => `${name} = ${name} + excluded.${name}`).join(', ')}`
}
