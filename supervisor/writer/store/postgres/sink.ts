// The store that keeps records in Postgres, a batch in one transaction (operations.md 8.4).
import type { Pool, PoolClient } from 'pg'
import type { PurgeRequest } from '../../../../shared/traffic/messages.ts'
import type { TrafficRecord } from '../../../../shared/traffic/record.ts'
import { RecordsRefusedError, type RelationalStore } from '../../sink.ts'
import {
  AUDIT_COLUMNS,
  type ColumnValue,
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
import { cleanJson, cleanText } from './clean-value.ts'
import { copyRows } from './copy.ts'
import { createPostgresQueries, postgresDialect } from './queries.ts'
import {
  createPartitions,
  dropPartitionsBefore,
  monthOf,
  type PartitionedTable,
  prepareTrafficSchema
} from './schema.ts'
import { createTransactions } from './transactions.ts'

/** Types of the columns that are not text, for the arrays of a batch. */
const TYPES: Readonly<Record<string, string>> = {
  id: 'uuid',
  created_at: 'timestamptz',
  hour: 'timestamptz',
  minute: 'timestamptz',
  status_code: 'integer',
  upstream_status_code: 'integer',
  latency_ms: 'integer',
  upstream_latency_ms: 'integer',
  input_tokens: 'integer',
  output_tokens: 'integer',
  total_tokens: 'integer',
  cost: 'numeric',
  metadata: 'jsonb',
  has_request_body: 'boolean',
  has_response_body: 'boolean',
  request_headers: 'jsonb',
  request_body: 'jsonb',
  response_body: 'jsonb',
  ...Object.fromEntries(SUM_COLUMNS.map(column => [column, 'bigint']))
}

const PAYLOADS: PartitionedTable = 'gateway_traffic_payloads'
const LOG_COLUMNS = [...MEMBER_COLUMNS, ...FLAG_COLUMNS]
const INSERT_LOGS = `${writeInsert('gateway_traffic_logs', LOG_COLUMNS)} ON CONFLICT DO NOTHING RETURNING id`
const INSERT_PAYLOADS = `${writeInsert('gateway_traffic_payloads', PAYLOAD_COLUMNS)} ON CONFLICT DO NOTHING`
const ADD_SUMS = new Map(SUM_TABLES.map(table => [table, writeAddition(table)]))

/** Rows that another gateway deletes at the moment are left to it. */
const DELETE_AUDIT = `DELETE FROM gateway_admin_audit WHERE id IN (
  SELECT id FROM gateway_admin_audit WHERE created_at < $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)`

/** Classes of SQLSTATE for values that the tables do not take: wrong ones, and those beyond a limit, such as a text too long for an index. */
const REFUSED_CLASSES = new Set(['22', '23', '54'])
const UNIQUE_VIOLATION = '23505'
const CHECK_VIOLATION = '23514'

const STATEMENT_TIMEOUT_MS = 30_000

/** Key of the advisory lock under which one gateway at a time deletes old records: "gatewaz" as bytes. */
const PURGE_LOCK = '29099043906544762'

export interface PostgresStoreOptions {
  readonly mayMigrate: boolean
  /** The connections that write records; those of the other pool unless given. */
  readonly writing?: Pool
  /** Bound of one statement, 30 s unless given. */
  readonly timeoutMs?: number
}

/**
 * Checks or migrates the schema and returns the store. Rejects with `SchemaMissingError`, `NewerSchemaError` and the driver's errors; the
 * pools stay the caller's.
 */
export async function openPostgresStore(
  pool: Pool,
  { mayMigrate, writing = pool, timeoutMs = STATEMENT_TIMEOUT_MS }: PostgresStoreOptions
): Promise<RelationalStore> {
  const client = await pool.connect()
  try {
    await prepareTrafficSchema(client, { mayMigrate })
  } finally {
    client.release()
  }
  const asks = createTransactions(pool, { timeoutMs, isUsableAfter: isRefusal })
  const writes = createTransactions(writing, { timeoutMs, isUsableAfter: isRefusal })
  const months = new Set<string>()

  /** Returns the months whose partitions exist from now on. */
  async function prepareMonths(connection: PoolClient, records: readonly TrafficRecord[]): Promise<Set<string>> {
    const newMonths = new Set(records.map(({ created_at }) => monthOf(created_at)).filter(month => !months.has(month)))
    for (const month of newMonths) await createPartitions(connection, month)
    return newMonths
  }

  /** Stores records of which none is stored yet; otherwise it fails as a whole. */
  async function insertNew(connection: PoolClient, records: readonly TrafficRecord[]): Promise<ReadonlySet<string>> {
    const newMonths = await prepareMonths(connection, records)
    const { logs, payloads } = writeRows(records)
    await copyRows(connection, { table: 'gateway_traffic_logs', columns: LOG_COLUMNS, rows: logs })
    if (payloads.length > 0) {
      await copyRows(connection, { table: 'gateway_traffic_payloads', columns: PAYLOAD_COLUMNS, rows: payloads })
    }
    await addSums(connection, records)
    return newMonths
  }

  /** Stores those of the records that are not stored yet. */
  async function insertMissing(
    connection: PoolClient,
    records: readonly TrafficRecord[]
  ): Promise<ReadonlySet<string>> {
    const newMonths = await prepareMonths(connection, records)
    const { rows } = await connection.query<{ id: string }>(
      INSERT_LOGS,
      listColumns(writeRows(records).logs, LOG_COLUMNS)
    )
    const insertedIds = new Set(rows.map(({ id }) => id))
    // Of two with one id only the first was stored.
    const inserted = records.filter(({ id }) => insertedIds.delete(id))
    const { payloads } = writeRows(inserted)
    if (payloads.length > 0) {
      await connection.query(INSERT_PAYLOADS, listColumns(payloads, PAYLOAD_COLUMNS))
    }
    await addSums(connection, inserted)
    return newMonths
  }

  return {
    name: 'postgres',
    queries: createPostgresQueries(asks),
    redact: (id, fields, metadata) =>
      asks.write(async connection => {
        const { rowCount } = await connection.query(
          `UPDATE gateway_traffic_logs SET metadata = metadata || $2::jsonb,
             ${listRedactedColumns(fields, 'postgres').join(', ')} WHERE id = $1`,
          [id, JSON.stringify(metadata)]
        )
        const emptied = fields.map(field => `${field} = NULL`)
        await connection.query(`UPDATE gateway_traffic_payloads SET ${emptied.join(', ')} WHERE id = $1`, [id])
        return (rowCount ?? 0) > 0
      }),
    async purge(request) {
      const { failedBefore } = request
      const { deleted, until } = await asks.write(connection => deleteExpired(connection, request))
      const isComplete = deleted < request.batchSize
      if (isComplete) {
        const minute = startOfMinute(request.minutesBefore ?? failedBefore)
        await asks.write(async connection => {
          await connection.query(`DELETE FROM ${HOUR_SUMS.name} WHERE hour < $1`, [startOfHour(failedBefore)])
          await connection.query(`DELETE FROM ${MINUTE_SUMS.name} WHERE minute < $1`, [minute])
        })
        await asks.write(connection => dropPartitionsBefore(connection, monthOf(failedBefore)))
        months.clear()
      }
      return { deleted, until, isComplete }
    },
    async purgeContent(before, batchSize) {
      const deleted = await asks.write(connection => deleteOldestContent(connection, before, batchSize))
      const isComplete = deleted < batchSize
      if (isComplete) {
        await asks.write(connection => dropPartitionsBefore(connection, monthOf(before), [PAYLOADS]))
        months.clear()
      }
      return { deleted, isComplete }
    },
    async audit(entry) {
      const placeholders = AUDIT_COLUMNS.map((_, index) => `$${index + 1}`)
      const sql = `INSERT INTO gateway_admin_audit (${AUDIT_COLUMNS.join(', ')}) VALUES (${placeholders.join(', ')})`
      await asks.write(connection =>
        connection.query(
          sql,
          AUDIT_COLUMNS.map(column => entry[column])
        )
      )
    },
    async purgeAudit(before, batchSize) {
      const { rowCount } = await asks.write(connection => connection.query(DELETE_AUDIT, [before, batchSize]))
      const deleted = rowCount ?? 0
      return { deleted, isComplete: deleted < batchSize }
    },
    async write(records) {
      try {
        const created = await writes
          .write(connection => insertNew(connection, records))
          .catch(error => {
            const code = codeOf(error)
            // The tables have no check of their own: another gateway has dropped the partition of an old month.
            if (code === CHECK_VIOLATION) months.clear()
            // Records that are sent again, after a writer or a connection was lost.
            else if (code !== UNIQUE_VIOLATION) throw error
            return writes.write(connection => insertMissing(connection, records))
          })
        for (const month of created) months.add(month)
      } catch (error) {
        throw isRefusal(error) ? new RecordsRefusedError(error) : error
      }
    },
    close: async () => undefined
  }
}

async function deleteExpired(
  connection: PoolClient,
  request: PurgeRequest
): Promise<{ deleted: number; until?: string | undefined }> {
  // Several gateways may share the database, and two that delete the same records would wait for each other.
  await connection.query('SELECT pg_advisory_xact_lock($1)', [PURGE_LOCK])
  const { sql, values } = selectExpired(request, postgresDialect)
  const { rows } = await connection.query<{ deleted: number; until: string | null }>(
    `WITH expired AS (${sql}), payloads AS (
       DELETE FROM ${PAYLOADS} AS payload USING expired
       WHERE payload.id = expired.id AND payload.created_at = expired.created_at
     ), logs AS (
       DELETE FROM gateway_traffic_logs AS log USING expired
       WHERE log.id = expired.id AND log.created_at = expired.created_at
       RETURNING log.created_at
     )
     SELECT count(*)::integer AS deleted, ${postgresDialect.selectTime('max(created_at)')} AS until FROM logs`,
    [...values]
  )
  return { deleted: rows[0]?.deleted ?? 0, until: rows[0]?.until ?? undefined }
}

async function deleteOldestContent(connection: PoolClient, before: string, limit: number): Promise<number> {
  await connection.query('SELECT pg_advisory_xact_lock($1)', [PURGE_LOCK])
  const { rowCount } = await connection.query(
    `WITH oldest AS (
       SELECT id, created_at FROM ${PAYLOADS} WHERE created_at < $1 ORDER BY created_at, id LIMIT $2
     ), cleared AS (
       UPDATE gateway_traffic_logs AS log SET ${FLAG_COLUMNS.map(name => `${name} = false`).join(', ')}
       FROM oldest WHERE log.id = oldest.id AND log.created_at = oldest.created_at
     )
     DELETE FROM ${PAYLOADS} AS payload USING oldest
     WHERE payload.id = oldest.id AND payload.created_at = oldest.created_at`,
    [before, limit]
  )
  return rowCount ?? 0
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function isRefusal(error: unknown): boolean {
  return REFUSED_CLASSES.has(codeOf(error).slice(0, 2))
}

/** A batch as one array for each column: the statement is the same for every size. */
function writeInsert(table: string, columns: readonly string[]): string {
  const arrays = columns.map((column, index) => `$${index + 1}::${TYPES[column] ?? 'text'}[]`)
  return `INSERT INTO ${table} (${columns.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})`
}

function listColumns(rows: ReadonlyArray<readonly ColumnValue[]>, columns: readonly string[]): ColumnValue[][] {
  return columns.map((_, column) => rows.map(row => row[column] ?? null))
}

/** The rows of both tables. */
function writeRows(records: readonly TrafficRecord[]): { logs: ColumnValue[][]; payloads: ColumnValue[][] } {
  const logs: ColumnValue[][] = []
  const payloads: ColumnValue[][] = []
  for (const record of records) {
    const payload = writePayloadColumns(record)
    const flags = [payload?.requestBody == null ? 'false' : 'true', payload?.responseBody == null ? 'false' : 'true']
    logs.push([...writeMemberColumns(record).map(cleanMember), ...flags])
    if (payload === undefined) continue
    const { requestHeaders, requestBody, responseBody } = payload
    payloads.push([record.id, record.created_at, ...[requestHeaders, requestBody, responseBody].map(cleanJson)])
  }
  return { logs, payloads }
}

function cleanMember(value: ColumnValue, column: number): ColumnValue {
  const isJson = TYPES[MEMBER_COLUMNS[column] ?? ''] === 'jsonb'
  return isJson ? cleanJson(value as string | null) : cleanText(value)
}

async function addSums(connection: PoolClient, records: readonly TrafficRecord[]): Promise<void> {
  for (const { table, sums } of sumRecords(records)) {
    const statement = ADD_SUMS.get(table)
    if (sums.length === 0 || statement === undefined) continue
    const keys = listSumKeys(table)
    const rows = sums.map(sum => writeSumColumns(sum).map(cleanText))
    const columns = listColumns(rows, [...keys, ...SUM_COLUMNS])
    // Written here because the driver looks for quotes in each of some thousand numbers.
    const counts = columns.slice(keys.length).map(values => `{${values.join(',')}}`)
    await connection.query(statement, [...columns.slice(0, keys.length), ...counts])
  }
}

/** Adds rows of sums to those of the same keys. */
function writeAddition(table: SumTable): string {
  const keys = listSumKeys(table)
  return `${writeInsert(table.name, [...keys, ...SUM_COLUMNS])} ON CONFLICT (${keys.join(', ')})
    DO UPDATE SET ${SUM_COLUMNS.map(name => `${name} = ${table.name}.${name} + excluded.${name}`).join(', ')}`
}
