// Answers questions from Postgres, with the statements that SQLite gets.
import type { Pool } from 'pg'
import type { TrafficQueries } from '../../../../shared/traffic/query.ts'
import { type Row, readEstimate, readPayload, readStoreStatus, readSummary, readSums } from '../rows.ts'
import {
  countExpired,
  type Dialect,
  type Statement,
  selectEstimate,
  selectPage,
  selectPayload,
  selectRecord,
  selectSums
} from '../statements.ts'
import { cleanValue } from './clean-value.ts'

export const postgresDialect: Dialect = {
  placeholder: number => `$${number}`,
  selectTime: column => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
  selectJson: column => `${column}::text`,
  isWalked: condition => condition,
  byId: () => ({ table: 'gateway_traffic_logs' }),
  // The expression of the index.
  isCaller: (name, value) => `metadata #>> '{annotations,caller,name}' = ${value(name)}`,
  selectMember: path => `metadata #>> '{${path.join(',')}}'`,
  // This collation folds the letters A to Z alone, as SQLite does.
  contains: (text, part) => `strpos(lower(${text} COLLATE "C"), ${part}) > 0`
}

/** Records as the statistics of the server count them, and the sizes of all partitions. */
const STATUS: Statement = {
  sql: `WITH tables AS (
      SELECT inhrelid AS id, inhparent = 'gateway_traffic_logs'::regclass AS has_records FROM pg_inherits
      WHERE inhparent IN ('gateway_traffic_logs'::regclass, 'gateway_traffic_payloads'::regclass)
    )
    SELECT sum(pg_stat_get_live_tuples(id)) FILTER (WHERE has_records) AS records,
      (SELECT ${postgresDialect.selectTime('min(created_at)')} FROM gateway_traffic_logs) AS oldest,
      sum(pg_total_relation_size(id)) AS bytes
    FROM tables`,
  values: []
}

/** Questions for the database of this pool. */
export function createPostgresQueries(pool: Pool): TrafficQueries {
  const all = async ({ sql, values }: Statement) => (await pool.query<Row>(sql, values.map(cleanValue))).rows
  const first = async (statement: Statement) => (await all(statement))[0]

  return {
    list: async page => (await all(selectPage(page, postgresDialect))).map(readSummary),
    estimate: async filter => readEstimate(await first(selectEstimate(filter, postgresDialect))),
    async find(id) {
      const row = await first(selectRecord(id, postgresDialect))
      return row === undefined ? undefined : readSummary(row)
    },
    async findPayload(id) {
      const row = await first(selectPayload(id, postgresDialect))
      return row === undefined ? undefined : readPayload(row)
    },
    countExpired: async cutoffs => Number((await first(countExpired(cutoffs, postgresDialect)))?.count),
    sums: async request => (await all(selectSums(request, postgresDialect))).map(readSums),
    readStatus: async () => readStoreStatus((await first(STATUS)) ?? {}, { walBytes: null })
  }
}
