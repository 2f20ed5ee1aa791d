// The sink that inserts records into a SQLite file (operations contract, section 8.4). It is the only connection that writes; the
// driver is synchronous, which is why it runs in the writer process.
import { chmodSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { TrafficRecord } from '../../../../shared/traffic/record.ts'
import { RecordsRefusedError, type Sink } from '../../sink.ts'
import {
  FLAG_COLUMNS,
  LATENCY_BOUNDS_MS,
  MEMBER_COLUMNS,
  PAYLOAD_COLUMNS,
  type Sums,
  sumRecords,
  writeMemberColumns,
  writePayloadColumns
} from '../columns.ts'
import { latencyColumn, migrate } from './schema.ts'

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
    `INSERT INTO gateway_traffic_payloads (${PAYLOAD_COLUMNS.join(', ')}) VALUES (?, ?, ?, ?)`
  )
  const addSums = database.prepare(writeSumsStatement())

  const writeBatch = database.transaction((records: readonly TrafficRecord[]) => {
    const inserted = records.filter(record => {
      const payload = writePayloadColumns(record)
      const flags = [payload?.requestBody == null ? 0 : 1, payload?.responseBody == null ? 0 : 1]
      const { changes } = insertLog.run(...writeMemberColumns(record), ...flags)
      if (changes === 0) return false
      if (payload !== undefined) {
        insertPayload.run(record.id, payload.requestHeaders, payload.requestBody, payload.responseBody)
      }
      return true
    })
    // Only of records that are new: one that is sent again counts once.
    for (const sum of sumRecords(inserted)) addSums.run(listSums(sum))
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

const COUNTED = ['requests', 'errors', 'input_tokens', 'output_tokens'] as const
const KEYS = ['hour', 'protocol', 'model', 'api_key_hash'] as const
const LATENCY_CLASSES = Array.from({ length: LATENCY_BOUNDS_MS.length + 1 }, (_, index) => index)

function writeSumsStatement(): string {
  const added = [...COUNTED, ...LATENCY_CLASSES.map(latencyColumn)]
  const columns = [...KEYS, ...added]
  return `INSERT INTO gateway_traffic_sums (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${KEYS.join(', ')}) DO UPDATE SET ${added.map(name => `${name} = ${name} + excluded.${name}`).join(', ')}`
}

function listSums(sum: Sums): Array<string | number> {
  return [
    ...KEYS.map(name => sum[name]),
    ...COUNTED.map(name => sum[name]),
    ...LATENCY_CLASSES.map(latencyClass => sum.latencies.get(latencyClass) ?? 0)
  ]
}
