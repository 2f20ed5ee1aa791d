// The store that keeps records in a SQLite file (operations.md 8.4). It is the only connection that
// writes; the driver is synchronous, which is why it runs in the writer process.
import { chmodSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { PayloadField, TrafficQueries } from '../../../../shared/traffic/query.ts'
import type { TrafficRecord } from '../../../../shared/traffic/record.ts'
import { RecordsRefusedError, type RelationalStore, SinkGoneError } from '../../sink.ts'
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
import { createErasure } from './erasure.ts'
import { BUSY_TIMEOUT_MS, whenUnlocked } from './lock.ts'
import { sqliteDialect } from './queries.ts'
import { migrate, NEXT_BLOCK } from './schema.ts'

const PRIVATE = 0o600
/** While the file is opened: another gateway may bring it to the current schema. */
const OPEN_TIMEOUT_MS = 5000
/** The write-ahead log shrinks to this size after a burst, or after a long question that kept it. */
const JOURNAL_BYTES_MAX = 16 * 1024 * 1024

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
  const inode = readInode(path)
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
  const deleteAudit = database.prepare(
    'DELETE FROM gateway_admin_audit WHERE id IN (SELECT id FROM gateway_admin_audit WHERE created_at < ? ORDER BY id LIMIT ?)'
  )
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

  const erasure = createErasure(database, BUSY_TIMEOUT_MS)
  const { erase } = erasure

  return {
    name: 'sqlite',
    queries,
    redact: (id, fields, metadata) => whenUnlocked(() => erase(() => redactRecord.immediate(id, fields, metadata))),
    async purge(request) {
      const { sql, values } = selectExpired(request, sqliteDialect)
      const deletion = database.prepare(
        `DELETE FROM gateway_traffic_logs WHERE id IN (SELECT id FROM (${sql})) RETURNING created_at`
      )
      const times = await whenUnlocked(() => erase(() => deletion.pluck().all(...values) as string[]))
      const isComplete = times.length < request.batchSize
      if (isComplete) {
        const { failedBefore, minutesBefore = failedBefore } = request
        await whenUnlocked(() => deleteHours.run(startOfHour(failedBefore)))
        await whenUnlocked(() => deleteMinutes.run(startOfMinute(minutesBefore)))
      }
      return { deleted: times.length, until: times.toSorted().at(-1), isComplete }
    },
    async purgeContent(before, batchSize) {
      const deleted = await whenUnlocked(() => erase(() => deleteOldestContent.immediate(before, batchSize)))
      return { deleted, isComplete: deleted < batchSize }
    },
    async purgeAudit(before, batchSize) {
      const deleted = (await whenUnlocked(() => deleteAudit.run(before, batchSize))).changes
      return { deleted, isComplete: deleted < batchSize }
    },
    async audit(entry) {
      await whenUnlocked(() => insertAudit.run(...AUDIT_COLUMNS.map(column => entry[column])))
    },
    async write(records) {
      // SQLite would go on writing to the removed file, which no other process can open.
      if (readInode(path) !== inode) throw new SinkGoneError('The file of the traffic log was removed or replaced.')
      try {
        await whenUnlocked(() => writeBatch.immediate(records))
      } catch (error) {
        if (error instanceof Database.SqliteError && REFUSALS.test(error.code)) throw new RecordsRefusedError(error)
        throw error
      }
    },
    async close() {
      erasure.close()
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

/** Which file has this path; undefined where there is none. */
function readInode(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

/** Opens the one connection that writes. */
function openForWriting(path: string): Database.Database {
  const database = new Database(path, { timeout: OPEN_TIMEOUT_MS })
  if (path !== ':memory:') chmodSync(path, PRIVATE)
  // Takes effect only before the first table exists.
  database.pragma('auto_vacuum = INCREMENTAL')
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = NORMAL')
  database.pragma('foreign_keys = ON')
  database.pragma(`journal_size_limit = ${JOURNAL_BYTES_MAX}`)
  migrate(database)
  database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return database
}

function writeSumsStatement(table: SumTable): string {
  const keys = listSumKeys(table)
  const columns = [...keys, ...SUM_COLUMNS]
  return `INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${keys.join(', ')})
    DO UPDATE SET ${SUM_COLUMNS.map(name => `${name} = ${name} + excluded.${name}`).join(', ')}`
}
