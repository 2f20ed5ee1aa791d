// The schema of the Postgres store of responses, as the steps that lead to it (memory.md 6). A step that was released is never changed; a
// new one is added.
import { randomBytes } from 'node:crypto'
import type { PoolClient } from 'pg'
import { prepareSchema } from '../../postgres/migrations.ts'
import { StoreOpenError } from '../engine.ts'

/**
 * Ids are compared byte by byte, so that no rule of a language takes part. Rows that are changed often leave room for their next version on
 * their page. The sums of an owner stand in several rows, of which a transaction changes one: many may store for one owner at a time.
 */
export const STEPS: readonly string[] = [
  `CREATE TABLE gateway_responses_meta (name text PRIMARY KEY, value bytea NOT NULL);
   CREATE TABLE gateway_responses_usage (
     owner bytea NOT NULL,
     shard smallint NOT NULL,
     bytes bigint NOT NULL,
     responses bigint NOT NULL,
     conversations bigint NOT NULL,
     PRIMARY KEY (owner, shard)
   ) WITH (fillfactor = 50);
   CREATE TABLE gateway_responses_threads (
     id text COLLATE "C" PRIMARY KEY,
     owner bytea NOT NULL,
     owner_name bytea NOT NULL,
     is_conversation boolean NOT NULL,
     is_deleted boolean NOT NULL DEFAULT false,
     created_ms bigint NOT NULL,
     used_ms bigint NOT NULL,
     turns integer NOT NULL DEFAULT 0,
     bytes bigint NOT NULL DEFAULT 0,
     model text NOT NULL DEFAULT '',
     created_at double precision,
     metadata bytea,
     positions bigint NOT NULL DEFAULT 0,
     holder text,
     held_until bigint
   ) WITH (fillfactor = 80);
   CREATE INDEX ix_gateway_responses_threads_used ON gateway_responses_threads (used_ms, id);
   CREATE INDEX ix_gateway_responses_threads_owner ON gateway_responses_threads (owner, used_ms);
   CREATE INDEX ix_gateway_responses_threads_deleted ON gateway_responses_threads (id) WHERE is_deleted;
   CREATE TABLE gateway_responses (
     id text COLLATE "C" PRIMARY KEY,
     ordinal bigint GENERATED ALWAYS AS IDENTITY,
     owner bytea NOT NULL,
     thread text COLLATE "C" NOT NULL,
     previous text COLLATE "C",
     is_in_conversation boolean NOT NULL,
     last_position bigint,
     created_at double precision NOT NULL,
     status text NOT NULL,
     model text NOT NULL,
     upstream_thread text,
     is_background boolean NOT NULL,
     last_item bytea,
     outputs integer NOT NULL,
     body bytea NOT NULL,
     body_bytes integer NOT NULL,
     last_sequence_number bigint NOT NULL,
     last_event bigint NOT NULL DEFAULT -1,
     lease_until bigint,
     is_cancelled boolean NOT NULL DEFAULT false,
     bytes bigint NOT NULL
   ) WITH (fillfactor = 80);
   CREATE INDEX ix_gateway_responses_thread ON gateway_responses (thread, ordinal);
   CREATE INDEX ix_gateway_responses_last_item ON gateway_responses (last_item) WHERE last_item IS NOT NULL;
   CREATE TABLE gateway_responses_events (
     response text COLLATE "C" NOT NULL,
     last bigint NOT NULL,
     content bytea NOT NULL,
     PRIMARY KEY (response, last)
   );
   CREATE TABLE gateway_responses_items (
     key bytea PRIMARY KEY,
     ordinal bigint GENERATED ALWAYS AS IDENTITY,
     parent bytea,
     thread text COLLATE "C" NOT NULL,
     id bytea NOT NULL,
     id_key bytea NOT NULL,
     content bytea NOT NULL,
     bytes integer NOT NULL
   );
   CREATE INDEX ix_gateway_responses_items_parent ON gateway_responses_items (parent) WHERE parent IS NOT NULL;
   CREATE INDEX ix_gateway_responses_items_id ON gateway_responses_items (id_key);
   CREATE TABLE gateway_responses_conversation_items (
     thread text COLLATE "C" NOT NULL,
     position bigint NOT NULL,
     turn bigint NOT NULL,
     item bytea NOT NULL,
     PRIMARY KEY (thread, position)
   );
   CREATE INDEX ix_gateway_responses_conversation_items_item ON gateway_responses_conversation_items (item);`,
  `CREATE TABLE gateway_spend (
     counter text COLLATE "C" NOT NULL,
     period text COLLATE "C" NOT NULL,
     nanos bigint NOT NULL,
     PRIMARY KEY (counter, period)
   ) WITH (fillfactor = 50);
   CREATE INDEX ix_gateway_spend_period ON gateway_spend (period) WHERE period <> 'total';
   CREATE TABLE gateway_spend_exchanges (
     number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     gateway text COLLATE "C" NOT NULL,
     exchange text COLLATE "C" NOT NULL,
     added_ms bigint NOT NULL,
     UNIQUE (gateway, exchange)
   );
   CREATE INDEX ix_gateway_spend_exchanges_gateway ON gateway_spend_exchanges (gateway, number);
   CREATE INDEX ix_gateway_spend_exchanges_added ON gateway_spend_exchanges (added_ms);`
]

/** Key of the advisory lock under which one process at a time changes the schema: "gw-resp1" as bytes. */
const SCHEMA_LOCK = '7455874085092487217'
const SECRET_BYTES = 32

/** Checks or changes the schema. Rejects with `StoreOpenError` where that may not be done, and with the driver's errors. */
export async function openSchema(connection: PoolClient, { mayMigrate }: { mayMigrate: boolean }): Promise<void> {
  const schema = { versionTable: 'gateway_responses_schema_version', lock: SCHEMA_LOCK, steps: STEPS }
  const state = await prepareSchema(connection, schema, { mayMigrate })
  if (state.kind === 'newer') {
    throw new StoreOpenError(
      'schema_newer',
      `The store of responses has schema version ${state.version}; this version of the gateway knows ${STEPS.length}.`
    )
  }
  if (state.kind === 'missing') {
    throw new StoreOpenError(
      'schema_missing',
      'The tables of the store of responses are missing or older than this version. Set GATEWAY_RESPONSES_STORE_AUTO_MIGRATE=True, or let a user who may create tables start the gateway once with it.'
    )
  }
}

/** A value of the whole database. The first host writes `create()`; all others find it. */
export async function ensureMeta(connection: PoolClient, name: string, create: () => Buffer): Promise<Buffer> {
  const found = await readMeta(connection, name)
  if (found !== undefined) return found
  await connection.query('INSERT INTO gateway_responses_meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    name,
    create()
  ])
  const written = await readMeta(connection, name)
  if (written === undefined) throw new Error(`the store of responses has no ${name}`)
  return written
}

export function createSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

export async function replaceMeta(connection: PoolClient, name: string, value: Buffer): Promise<void> {
  await connection.query('UPDATE gateway_responses_meta SET value = $2 WHERE name = $1', [name, value])
}

async function readMeta(connection: PoolClient, name: string): Promise<Buffer | undefined> {
  const { rows } = await connection.query<{ value: Buffer }>(
    'SELECT value FROM gateway_responses_meta WHERE name = $1',
    [name]
  )
  return rows[0]?.value
}
