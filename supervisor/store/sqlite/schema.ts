// The schema of the SQLite store of responses, as the steps that lead to it (memory.md 6). A step that was released is never changed; a new
// one is added.
import { randomBytes } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { StoreOpenError } from '../engine.ts'

/**
 * Content stands in tables of its own: the rows that searches walk through stay small, and counting a holder does not write content again.
 * Numbers of rows are never used twice, because a chain refers to a response by its number.
 */
export const STEPS: readonly string[] = [
  `CREATE TABLE owners (
     number INTEGER PRIMARY KEY,
     key BLOB NOT NULL UNIQUE,
     name BLOB NOT NULL,
     bytes INTEGER NOT NULL DEFAULT 0,
     responses INTEGER NOT NULL DEFAULT 0,
     conversations INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE TABLE threads (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     owner INTEGER NOT NULL,
     is_conversation INTEGER NOT NULL,
     is_deleted INTEGER NOT NULL DEFAULT 0,
     created_ms INTEGER NOT NULL,
     used_ms INTEGER NOT NULL,
     turns INTEGER NOT NULL DEFAULT 0,
     bytes INTEGER NOT NULL DEFAULT 0,
     model TEXT NOT NULL DEFAULT '',
     created_at INTEGER NOT NULL,
     positions INTEGER NOT NULL DEFAULT 0,
     holder TEXT,
     held_until INTEGER,
     metadata BLOB
   ) STRICT;
   CREATE INDEX threads_by_use ON threads (used_ms, number);
   CREATE INDEX threads_of_owner ON threads (owner, used_ms);
   CREATE INDEX deleted_threads ON threads (owner) WHERE is_deleted = 1;
   CREATE TABLE responses (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     owner INTEGER NOT NULL,
     thread INTEGER NOT NULL,
     previous INTEGER,
     previous_id TEXT,
     is_in_conversation INTEGER NOT NULL,
     last_position INTEGER,
     created_at INTEGER NOT NULL,
     status TEXT NOT NULL,
     model TEXT NOT NULL,
     upstream_thread TEXT,
     is_background INTEGER NOT NULL,
     input INTEGER,
     first_output INTEGER NOT NULL,
     outputs INTEGER NOT NULL,
     last_sequence_number INTEGER NOT NULL,
     last_event INTEGER NOT NULL DEFAULT -1,
     lease_until INTEGER,
     is_cancelled INTEGER NOT NULL DEFAULT 0,
     body_bytes INTEGER NOT NULL,
     event_bytes INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE INDEX responses_of_thread ON responses (thread, number);
   CREATE TABLE bodies (response INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;
   CREATE TABLE events (
     response INTEGER NOT NULL,
     last INTEGER NOT NULL,
     content BLOB NOT NULL,
     PRIMARY KEY (response, last)
   ) STRICT;
   CREATE TABLE items (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     owner INTEGER NOT NULL,
     thread INTEGER NOT NULL,
     id TEXT NOT NULL,
     parent INTEGER,
     key BLOB,
     holders INTEGER NOT NULL,
     bytes INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX items_by_id ON items (owner, id);
   CREATE UNIQUE INDEX items_by_key ON items (key) WHERE key IS NOT NULL;
   CREATE TABLE contents (item INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;
   CREATE TABLE conversation_items (
     thread INTEGER NOT NULL,
     position INTEGER NOT NULL,
     turn INTEGER NOT NULL,
     item INTEGER NOT NULL,
     PRIMARY KEY (thread, position)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX conversation_items_by_item ON conversation_items (item);`,
  `CREATE TABLE spend (
     counter TEXT NOT NULL,
     period TEXT NOT NULL,
     nanos INTEGER NOT NULL,
     PRIMARY KEY (counter, period)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX spend_by_period ON spend (period) WHERE period <> 'total';
   CREATE TABLE spend_exchanges (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     gateway TEXT NOT NULL,
     exchange TEXT NOT NULL,
     added_ms INTEGER NOT NULL,
     UNIQUE (gateway, exchange)
   ) STRICT;
   CREATE INDEX spend_exchanges_of_gateway ON spend_exchanges (gateway, number);
   CREATE INDEX spend_exchanges_by_age ON spend_exchanges (added_ms);`
]

const META = 'CREATE TABLE store_meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID'
const SECRET_BYTES = 32

/** Values that belong to the database as a whole. */
export interface StoreMeta {
  read(name: string): Buffer | undefined
  write(name: string, value: Buffer): void
}

export function openMeta(database: Database): StoreMeta {
  const select = database.prepare<[string], Buffer>('SELECT value FROM store_meta WHERE name = ?').pluck()
  const upsert = database.prepare('INSERT OR REPLACE INTO store_meta (name, value) VALUES (?, ?)')
  return { read: name => select.get(name), write: (name, value) => void upsert.run(name, value) }
}

/**
 * Brings an empty or older database to the current schema, in one transaction. Raises `StoreOpenError` where that may not be done, and the
 * driver's errors.
 */
export function migrate(
  database: Database,
  { isAllowed, steps = STEPS }: { isAllowed: boolean; steps?: readonly string[] }
): void {
  const apply = database.transaction(() => {
    const version = readVersion(database)
    if (version === steps.length) return
    if (version > steps.length) {
      throw new StoreOpenError(
        'schema_newer',
        `The store of responses has schema version ${version}; this version of the gateway knows ${steps.length}.`
      )
    }
    if (!isAllowed) {
      throw new StoreOpenError(
        'schema_missing',
        `The store of responses has ${version === 0 ? 'no tables' : `schema version ${version} of ${steps.length}`}. Set GATEWAY_RESPONSES_STORE_AUTO_MIGRATE=True to let the gateway create or upgrade it.`
      )
    }
    if (version === 0) database.exec(META)
    const meta = openMeta(database)
    if (version === 0) meta.write('secret', randomBytes(SECRET_BYTES))
    for (const step of steps.slice(version)) database.exec(step)
    meta.write('schema_version', Buffer.from(String(steps.length)))
  })
  apply.immediate()
}

/** 0 for an empty file. Raises `StoreOpenError` for the file of something else. */
export function readVersion(database: Database): number {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[]
  if (tables.length === 0) return 0
  const version = tables.includes('store_meta') ? Number(openMeta(database).read('schema_version')) : Number.NaN
  if (Number.isInteger(version)) return version
  throw new StoreOpenError('not_a_store', 'The file is a database of something else than a store of responses.')
}
