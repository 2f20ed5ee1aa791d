// The schema of the Postgres store, as the steps that lead to it (operations.md 8.4). Records and
// their content are partitioned by month, so that old ones are deleted by dropping a table.
import type { PoolClient } from 'pg'
import { prepareSchema, type Schema } from '../../../postgres/migrations.ts'
import { LATENCY_COLUMNS } from '../columns.ts'
import { NewerSchemaError, SchemaMissingError } from '../schema-errors.ts'

const INDEXES: Readonly<Record<string, string>> = {
  created_at: '(created_at DESC, id DESC)',
  request_id: '(request_id)',
  trace_id: '(trace_id)',
  protocol: '(protocol, created_at DESC, id DESC)',
  route: '(route, created_at DESC, id DESC)',
  status_code: '(status_code, created_at DESC, id DESC)',
  model_requested: '(model_requested, created_at DESC, id DESC)',
  model_effective: '(model_effective, created_at DESC, id DESC)',
  provider: '(provider, created_at DESC, id DESC)',
  api_key_hash: '(api_key_hash, created_at DESC, id DESC)',
  errors: '(created_at DESC, id DESC) WHERE error_type IS NOT NULL OR status_code >= 400',
  metadata_gin: 'USING gin (metadata)'
}

/** Each but those of ids ends with the order of the list, which is read from the end. */
const CHEAPER_INDEXES: Readonly<Record<string, string>> = {
  created_at: '(created_at, id)',
  request_id: 'USING hash (request_id)',
  trace_id: 'USING hash (trace_id)',
  protocol: '(protocol, created_at, id)',
  route: '(route, created_at, id)',
  status_code: '(status_code, created_at, id)',
  model_requested: '(model_requested, created_at, id)',
  model_effective: '(model_effective, created_at, id)',
  provider: '(provider, created_at, id)',
  api_key_hash: '(api_key_hash, created_at, id)',
  caller: "((metadata #>> '{annotations,caller,name}'), created_at, id)",
  errors: '(created_at, id) WHERE error_type IS NOT NULL OR status_code >= 400',
  error_type: '(error_type, created_at, id) WHERE error_type IS NOT NULL',
  // For the operator's own questions; the gateway asks for the caller alone.
  metadata_gin: 'USING gin (metadata jsonb_path_ops)'
}

const STEPS: readonly string[] = [
  `CREATE TABLE gateway_traffic_logs (
     id uuid NOT NULL,
     created_at timestamptz NOT NULL,
     request_id text NOT NULL,
     trace_id text,
     span_id text,
     protocol text NOT NULL,
     route text NOT NULL,
     method text NOT NULL,
     status_code integer,
     model_requested text,
     model_effective text,
     provider text,
     upstream_status_code integer,
     latency_ms integer,
     upstream_latency_ms integer,
     input_tokens integer,
     output_tokens integer,
     total_tokens integer,
     error_type text,
     error_message text,
     api_key_hash text,
     client_ip_hash text,
     metadata jsonb NOT NULL DEFAULT '{}',
     has_request_body boolean NOT NULL DEFAULT false,
     has_response_body boolean NOT NULL DEFAULT false,
     PRIMARY KEY (id, created_at)
   ) PARTITION BY RANGE (created_at);
   CREATE TABLE gateway_traffic_payloads (
     id uuid NOT NULL,
     created_at timestamptz NOT NULL,
     request_headers jsonb,
     request_body jsonb,
     response_body jsonb,
     PRIMARY KEY (id, created_at)
   ) PARTITION BY RANGE (created_at);
   CREATE TABLE gateway_traffic_sums (
     hour timestamptz NOT NULL,
     protocol text NOT NULL,
     model text NOT NULL,
     api_key_hash text NOT NULL,
     requests bigint NOT NULL,
     errors bigint NOT NULL,
     input_tokens bigint NOT NULL,
     output_tokens bigint NOT NULL,
     ${LATENCY_COLUMNS.map(column => `${column} bigint NOT NULL DEFAULT 0`).join(',\n     ')},
     PRIMARY KEY (hour, protocol, model, api_key_hash)
   );
   CREATE TABLE gateway_admin_audit (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     created_at timestamptz NOT NULL,
     request_id text NOT NULL,
     action text NOT NULL,
     target text,
     outcome text NOT NULL,
     row_count bigint,
     admin_key_hash text,
     client_ip_hash text
   );
   ${Object.entries(INDEXES)
     .map(([name, columns]) => `CREATE INDEX ix_gateway_traffic_logs_${name} ON gateway_traffic_logs ${columns};`)
     .join('\n   ')}`,
  // What each record costs: new records go to the end of an ascending index, whose pages are then filled completely; a hash index of random
  // ids is half as large; and an index of paths in the metadata has fewer entries than one of all its words.
  `${Object.keys(INDEXES)
    .map(name => `DROP INDEX ix_gateway_traffic_logs_${name};`)
    .join('\n   ')}
   ${Object.entries(CHEAPER_INDEXES)
     .map(([name, columns]) => `CREATE INDEX ix_gateway_traffic_logs_${name} ON gateway_traffic_logs ${columns};`)
     .join('\n   ')}`,
  // Content can be deleted before its record.
  'CREATE INDEX ix_gateway_traffic_payloads_created_at ON gateway_traffic_payloads (created_at, id);',
  // Records and sums by the name of the client's key, and their cost (keys.md 4 and 5). What was added up before has neither.
  `CREATE INDEX ix_gateway_traffic_logs_api_key_name ON gateway_traffic_logs
     ((metadata #>> '{api_key_name}'), created_at, id);
   ALTER TABLE gateway_traffic_logs ADD COLUMN cost numeric(18, 9);
   ALTER TABLE gateway_traffic_logs ADD COLUMN currency text;
   ALTER TABLE gateway_traffic_sums ADD COLUMN api_key_name text NOT NULL DEFAULT '';
   ALTER TABLE gateway_traffic_sums ADD COLUMN currency text NOT NULL DEFAULT '';
   ALTER TABLE gateway_traffic_sums ADD COLUMN cost_nanos bigint NOT NULL DEFAULT 0;
   ALTER TABLE gateway_traffic_sums DROP CONSTRAINT gateway_traffic_sums_pkey;
   ALTER TABLE gateway_traffic_sums ADD PRIMARY KEY (hour, protocol, model, api_key_hash, api_key_name, currency);`,
  // Why and who (decisions.md 96): the error, the alias and the profile of a record, and sums by them and by minute. Known keys have no
  // hash any more, so its index has entries of unknown ones alone.
  `${['alias', 'profile_id', 'error_code', 'error_field']
    .map(column => `ALTER TABLE gateway_traffic_logs ADD COLUMN ${column} text;`)
    .join('\n   ')}
   DROP INDEX ix_gateway_traffic_logs_api_key_hash;
   ${['alias', 'profile_id', 'error_code', 'api_key_hash']
     .map(
       column => `CREATE INDEX ix_gateway_traffic_logs_${column} ON gateway_traffic_logs (${column}, created_at, id)
     WHERE ${column} IS NOT NULL;`
     )
     .join('\n   ')}
   CREATE INDEX ix_gateway_traffic_logs_unknown_key ON gateway_traffic_logs (created_at, id)
     WHERE api_key_hash IS NOT NULL AND (metadata #>> '{api_key_name}') IS NULL;
   ${['alias', 'profile_id', 'provider', 'error_code']
     .map(column => `ALTER TABLE gateway_traffic_sums ADD COLUMN ${column} text NOT NULL DEFAULT '';`)
     .join('\n   ')}
   ALTER TABLE gateway_traffic_sums DROP CONSTRAINT gateway_traffic_sums_pkey;
   CREATE TABLE gateway_traffic_minutes (LIKE gateway_traffic_sums INCLUDING DEFAULTS);
   ALTER TABLE gateway_traffic_minutes RENAME COLUMN hour TO minute;
   ${['hour', 'minute']
     .map(
       time => `ALTER TABLE gateway_traffic_${time === 'hour' ? 'sums' : 'minutes'} ADD PRIMARY KEY
     (${time}, protocol, model, api_key_hash, api_key_name, currency, alias, profile_id, provider, error_code);`
     )
     .join('\n   ')}`
]

/** Key of the advisory lock under which one process at a time changes the schema: "gateway" as bytes. */
const SCHEMA_LOCK = '29099043906544761'
const SCHEMA: Schema = { versionTable: 'gateway_schema_version', lock: SCHEMA_LOCK, steps: STEPS }

/**
 * Checks the schema and, where `mayMigrate`, brings it to the current version in one transaction. Rejects with `SchemaMissingError`,
 * `NewerSchemaError` and the driver's errors.
 */
export async function prepareTrafficSchema(client: PoolClient, options: { mayMigrate: boolean }): Promise<void> {
  const state = await prepareSchema(client, SCHEMA, options)
  if (state.kind === 'newer') throw new NewerSchemaError(state.version, STEPS.length)
  if (state.kind === 'missing') throw new SchemaMissingError()
}

const PARTITIONED = ['gateway_traffic_logs', 'gateway_traffic_payloads'] as const
export type PartitionedTable = (typeof PARTITIONED)[number]

/** The month of a record's time, such as `2026-01`. */
export function monthOf(time: string): string {
  return time.slice(0, 7)
}

/** Creates the partitions of a month where they do not exist yet. */
export async function createPartitions(client: PoolClient, month: string): Promise<void> {
  const [year, number] = month.split('-').map(Number) as [number, number]
  const next = number === 12 ? `${year + 1}-01` : `${year}-${String(number + 1).padStart(2, '0')}`
  await client.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK])
  for (const table of PARTITIONED) {
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${table}_y${String(year).padStart(4, '0')}m${String(number).padStart(2, '0')}
       PARTITION OF ${table} FOR VALUES FROM ('${month}-01T00:00:00Z') TO ('${next}-01T00:00:00Z')`
    )
  }
}

/** Drops the partitions of all months before this one; their rows are deleted already. */
export async function dropPartitionsBefore(
  client: PoolClient,
  month: string,
  tables: readonly PartitionedTable[] = PARTITIONED
): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK])
  const limit = month.replace(/^(\d+)-(\d+)$/, 'y$1m$2')
  for (const table of tables) {
    const { rows } = await client.query<{ name: string }>(
      'SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass',
      [table]
    )
    const old = rows.filter(({ name }) => name.slice(table.length + 1) < limit && name.startsWith(`${table}_y`))
    for (const { name } of old) await client.query(`DROP TABLE ${name}`)
  }
}
