// The schema of the SQLite store, as the steps that lead to it (operations.md 8.4). A step that was
// released is never changed; a new one is added.
import type { Database } from 'better-sqlite3'
import { LATENCY_COLUMNS } from '../columns.ts'
import { NewerSchemaError } from '../schema-errors.ts'

/** Each index ends with the time, because every list is ordered by it and shows the newest records first. */
const INDEXES: Readonly<Record<string, string>> = {
  created_at: '(created_at)',
  request_id: '(request_id)',
  trace_id: '(trace_id)',
  protocol: '(protocol, created_at)',
  route: '(route, created_at)',
  status_code: '(status_code, created_at)',
  model_requested: '(model_requested, created_at)',
  model_effective: '(model_effective, created_at)',
  provider: '(provider, created_at)',
  api_key_hash: '(api_key_hash, created_at)',
  caller: "(json_extract(metadata, '$.annotations.caller.name'), created_at)",
  errors: '(created_at) WHERE error_type IS NOT NULL OR status_code >= 400'
}

/** What the fourth step adds up. */
const SUMS = ['requests', 'errors', 'input_tokens', 'output_tokens', ...LATENCY_COLUMNS]
/** The columns of its sums besides the hour. */
const FOURTH_SUMS = ['protocol', 'model', 'api_key_hash', 'api_key_name', 'currency', 'cost_nanos', ...SUMS]

const STEPS: readonly string[] = [
  `CREATE TABLE gateway_traffic_logs (
     id TEXT PRIMARY KEY,
     created_at TEXT NOT NULL,
     request_id TEXT NOT NULL,
     trace_id TEXT,
     span_id TEXT,
     protocol TEXT NOT NULL,
     route TEXT NOT NULL,
     method TEXT NOT NULL,
     status_code INTEGER,
     model_requested TEXT,
     model_effective TEXT,
     provider TEXT,
     upstream_status_code INTEGER,
     latency_ms INTEGER,
     upstream_latency_ms INTEGER,
     input_tokens INTEGER,
     output_tokens INTEGER,
     total_tokens INTEGER,
     error_type TEXT,
     error_message TEXT,
     api_key_hash TEXT,
     client_ip_hash TEXT,
     metadata TEXT NOT NULL DEFAULT '{}',
     has_request_body INTEGER NOT NULL DEFAULT 0,
     has_response_body INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE TABLE gateway_traffic_payloads (
     id TEXT PRIMARY KEY REFERENCES gateway_traffic_logs (id) ON DELETE CASCADE,
     created_at TEXT NOT NULL,
     request_headers TEXT,
     request_body TEXT,
     response_body TEXT
   ) STRICT;
   CREATE TABLE gateway_traffic_sums (
     hour TEXT NOT NULL,
     protocol TEXT NOT NULL,
     model TEXT NOT NULL,
     api_key_hash TEXT NOT NULL,
     requests INTEGER NOT NULL,
     errors INTEGER NOT NULL,
     input_tokens INTEGER NOT NULL,
     output_tokens INTEGER NOT NULL,
     ${LATENCY_COLUMNS.map(column => `${column} INTEGER NOT NULL DEFAULT 0`).join(',\n     ')},
     PRIMARY KEY (hour, protocol, model, api_key_hash)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE gateway_admin_audit (
     id INTEGER PRIMARY KEY,
     created_at TEXT NOT NULL,
     request_id TEXT NOT NULL,
     action TEXT NOT NULL,
     target TEXT,
     outcome TEXT NOT NULL,
     row_count INTEGER,
     admin_key_hash TEXT,
     client_ip_hash TEXT
   ) STRICT;
   ${Object.entries(INDEXES)
     .map(([name, columns]) => `CREATE INDEX ix_gateway_traffic_logs_${name} ON gateway_traffic_logs ${columns};`)
     .join('\n   ')}`,
  // Ids are random, so every record changed another page of these two indexes; now they are in order within a block only.
  `ALTER TABLE gateway_traffic_logs ADD COLUMN block INTEGER NOT NULL DEFAULT 0;
   DROP INDEX ix_gateway_traffic_logs_request_id;
   DROP INDEX ix_gateway_traffic_logs_trace_id;
   CREATE INDEX ix_gateway_traffic_logs_request_id ON gateway_traffic_logs (block, request_id);
   CREATE INDEX ix_gateway_traffic_logs_trace_id ON gateway_traffic_logs (block, trace_id);
   CREATE INDEX ix_gateway_traffic_logs_error_type ON gateway_traffic_logs (error_type, created_at)
     WHERE error_type IS NOT NULL;`,
  // Content can be deleted before its record.
  'CREATE INDEX ix_gateway_traffic_payloads_created_at ON gateway_traffic_payloads (created_at, id);',
  // Records and sums by the name of the client's key, and their cost (keys.md 4 and 5). What was added up before has neither.
  `CREATE INDEX ix_gateway_traffic_logs_api_key_name ON gateway_traffic_logs
     (json_extract(metadata, '$.api_key_name'), created_at)
     WHERE json_extract(metadata, '$.api_key_name') IS NOT NULL;
   ALTER TABLE gateway_traffic_logs ADD COLUMN cost REAL;
   ALTER TABLE gateway_traffic_logs ADD COLUMN currency TEXT;
   ALTER TABLE gateway_traffic_sums RENAME TO gateway_traffic_sums_by_hash;
   CREATE TABLE gateway_traffic_sums (
     hour TEXT NOT NULL,
     protocol TEXT NOT NULL,
     model TEXT NOT NULL,
     api_key_hash TEXT NOT NULL,
     api_key_name TEXT NOT NULL DEFAULT '',
     currency TEXT NOT NULL DEFAULT '',
     cost_nanos INTEGER NOT NULL DEFAULT 0,
     ${SUMS.map(column => `${column} INTEGER NOT NULL DEFAULT 0`).join(',\n     ')},
     PRIMARY KEY (hour, protocol, model, api_key_hash, api_key_name, currency)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO gateway_traffic_sums (hour, protocol, model, api_key_hash, ${SUMS.join(', ')})
     SELECT hour, protocol, model, api_key_hash, ${SUMS.join(', ')} FROM gateway_traffic_sums_by_hash;
   DROP TABLE gateway_traffic_sums_by_hash;`,
  // Why and who (decisions.md 96): the error, the alias and the profile of a record, and sums by them and by minute. Known keys have no
  // hash any more, so its index has entries of unknown ones alone.
  `ALTER TABLE gateway_traffic_logs ADD COLUMN alias TEXT;
   ALTER TABLE gateway_traffic_logs ADD COLUMN profile_id TEXT;
   ALTER TABLE gateway_traffic_logs ADD COLUMN error_code TEXT;
   ALTER TABLE gateway_traffic_logs ADD COLUMN error_field TEXT;
   CREATE INDEX ix_gateway_traffic_logs_alias ON gateway_traffic_logs (alias, created_at) WHERE alias IS NOT NULL;
   CREATE INDEX ix_gateway_traffic_logs_profile_id ON gateway_traffic_logs (profile_id, created_at)
     WHERE profile_id IS NOT NULL;
   CREATE INDEX ix_gateway_traffic_logs_error_code ON gateway_traffic_logs (error_code, created_at)
     WHERE error_code IS NOT NULL;
   DROP INDEX ix_gateway_traffic_logs_api_key_hash;
   CREATE INDEX ix_gateway_traffic_logs_api_key_hash ON gateway_traffic_logs (api_key_hash, created_at)
     WHERE api_key_hash IS NOT NULL;
   CREATE INDEX ix_gateway_traffic_logs_unknown_key ON gateway_traffic_logs (created_at)
     WHERE api_key_hash IS NOT NULL AND json_extract(metadata, '$.api_key_name') IS NULL;
   ALTER TABLE gateway_traffic_sums RENAME TO gateway_traffic_sums_by_key;
   ${['hour', 'minute'].map(writeSumTable).join(';\n   ')};
   INSERT INTO gateway_traffic_sums (hour, ${FOURTH_SUMS.join(', ')})
     SELECT hour, ${FOURTH_SUMS.join(', ')} FROM gateway_traffic_sums_by_key;
   DROP TABLE gateway_traffic_sums_by_key;`
]

/** The table of hours or minutes, as the fifth step makes it. The list is that of the step: it stays when `columns.ts` gets more columns. */
function writeSumTable(time: string): string {
  const groups = [
    'protocol',
    'model',
    'api_key_hash',
    'api_key_name',
    'currency',
    'alias',
    'profile_id',
    'provider',
    'error_code'
  ]
  return `CREATE TABLE gateway_traffic_${time === 'hour' ? 'sums' : 'minutes'} (
     ${time} TEXT NOT NULL,
     ${groups.map(column => `${column} TEXT NOT NULL DEFAULT ''`).join(',\n     ')},
     ${['cost_nanos', ...SUMS].map(column => `${column} INTEGER NOT NULL DEFAULT 0`).join(',\n     ')},
     PRIMARY KEY (${[time, ...groups].join(', ')})
   ) STRICT, WITHOUT ROWID`
}

/**
 * The block of the next record, as SQL: consecutive records share one (ADR 2026-11-23-what-a-stored-record-costs). Small enough that its part of an
 * index, some 60 pages, is written at once with a batch; large enough that a search in each of the 245 blocks of a million records takes
 * less than a millisecond.
 */
export const NEXT_BLOCK = `(SELECT coalesce(max(rowid), 0) / 4096 FROM gateway_traffic_logs)`

/** Lets an index that begins with the block be used: it is searched in every block. */
export const IS_IN_ANY_BLOCK = `block IN (
  WITH RECURSIVE blocks (number) AS (
    SELECT min(block) FROM gateway_traffic_logs
    UNION ALL SELECT number + 1 FROM blocks WHERE number < (SELECT max(block) FROM gateway_traffic_logs)
  ) SELECT number FROM blocks)`

/** Brings an empty or older database to the current schema, in one transaction. Raises `NewerSchemaError` and the driver's errors. */
export function migrate(database: Database): void {
  const apply = database.transaction(() => {
    const version = Number(database.pragma('user_version', { simple: true }))
    if (version > STEPS.length) throw new NewerSchemaError(version, STEPS.length)
    for (const step of STEPS.slice(version)) database.exec(step)
    if (version < STEPS.length) database.pragma(`user_version = ${STEPS.length}`)
  })
  apply.immediate()
}
