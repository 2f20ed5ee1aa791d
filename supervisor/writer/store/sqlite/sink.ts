// The sink that inserts records into a SQLite file (operations contract, section 8.4). It is the only connection that writes; the
// driver is synchronous, which is why it runs in the writer process.
import { chmodSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { TrafficRecord } from '../../../../shared/traffic/record.ts'
import { RecordsRefusedError, type Sink } from '../../sink.ts'
import {
  FLAG_COLUMNS,
  MEMBER_COLUMNS,
  PAYLOAD_COLUMNS,
  SUM_COLUMNS,
  SUM_KEY_COLUMNS,
  sumRecords,
  writeMemberColumns,
  writePayloadColumns,
  writeSumColumns
} from '../columns.ts'
import { migrate } from './schema.ts'

const PRIVATE = 0o600
const BUSY_TIMEOUT_MS = 5000

/** SQLite's primary result codes for values that it does not take; others, such as a full disk or a lock, pass. */
const REFUSALS = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/

/** Opens or creates the file and brings it to the current schema. Raises the driver's errors and `NewerSchemaError`. */
export function openSqliteSink(path: string): Sink {
  const database = openForWriting(path)
  const insertLog = database.prepare(
    `INSERT OR IGNORE INTO gateway_traffic_logs (${[...MEMBER_COLUMNS, ...FLAG_COLUMNS].join(', ')})
     VALUES (${[...MEMBER_COLUMNS, ...FLAG_COLUMNS].map(() => '?').join(', ')})`
  )
  const insertPayload = database.prepare(
    `INSERT INTO gateway_traffic_payloads (${PAYLOAD_COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?)`
  )
  const addSums = database.prepare(writeSumsStatement())

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
    // Only of records that are new: one that is sent again counts once.
    for (const sum of sumRecords(inserted)) addSums.run(...writeSumColumns(sum))
  })

  return {
    name: 'sqlite',
    async write(records) {
      try {
        writeBatch.immediate(records)
      } catch (error) {
        if (error instanceof Database.SqliteError && REFUSALS.test(error.code)) throw new RecordsRefusedError(error)
        throw error
      }
    },
    async close() {
      // The file then stands alone, without its write-ahead log.
      database.pragma('wal_checkpoint(TRUNCATE)')
      database.close()
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

function writeSumsStatement(): string {
  const columns = [...SUM_KEY_COLUMNS, ...SUM_COLUMNS]
  return `INSERT INTO gateway_traffic_sums (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${SUM_KEY_COLUMNS.join(', ')})
    DO UPDATE SET ${SUM_COLUMNS.map(name => `${name} = ${name} + excluded.${name}`).join(', ')}`
}
