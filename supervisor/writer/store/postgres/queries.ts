// Answers questions from Postgres, with the statements that SQLite gets.
import type { TrafficQueries } from '../../../../shared/traffic/query.ts'
import { createStatementQueries } from '../queries.ts'
import { type Row, readStoreStatus } from '../rows.ts'
import type { Dialect, Statement } from '../statements.ts'
import { cleanText } from './clean-value.ts'
import type { Transactions } from './transactions.ts'

export const postgresDialect: Dialect = {
  placeholder: number => `$${number}`,
  selectTime: column => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
  selectDay: column => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
  startOfBucket: (column, seconds) => `to_timestamp(floor(extract(epoch FROM ${column}) / ${seconds}) * ${seconds})`,
  isMemberTrue: path => `coalesce((metadata #>> '{${path.join(',')}}')::boolean, false)`,
  selectJson: column => `${column}::text`,
  isWalked: condition => condition,
  byId: () => ({ table: 'gateway_traffic_logs' }),
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

/** Questions for the database of these transactions. */
export function createPostgresQueries({ read }: Transactions): TrafficQueries {
  const all = ({ sql, values }: Statement) =>
    read(async connection => (await connection.query<Row>(sql, values.map(cleanText))).rows)
  return {
    ...createStatementQueries(all, postgresDialect),
    readStatus: async () => readStoreStatus((await all(STATUS))[0] ?? {}, { walBytes: null })
  }
}
