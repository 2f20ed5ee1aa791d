// Pools of connections to a Postgres server, for the writer of the traffic log and for the store of responses.
import pg from 'pg'
import { PreferringClient, readAddress } from './address.ts'

const CONNECT_TIMEOUT_MS = 5_000

/** Raises an error for an address that cannot be read, or that names a file which cannot be read. No connection is made. */
export function checkDsn(dsn: string): void {
  new pg.Client({ connectionString: readAddress(dsn).connectionString })
}

/** Of the server; a pool such as PgBouncer refuses them as startup parameters, so a transaction sets its own (decisions.md 115). */
type ServerTimeouts = 'statement_timeout' | 'lock_timeout' | 'idle_in_transaction_session_timeout'
export type PoolOptions = Omit<pg.PoolConfig, ServerTimeouts | 'connectionString'>

/** A pool that survives the loss of its connections: a lost one fails its query alone and is replaced when it is needed. */
export function createPool(dsn: string, options: PoolOptions): pg.Pool {
  const { connectionString, mayBePlain } = readAddress(dsn)
  const pool = new pg.Pool({
    connectionString,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'llm-gateway',
    ...(mayBePlain && { Client: PreferringClient }),
    ...options
  })
  // An idle connection that breaks is replaced when it is needed.
  pool.on('error', () => undefined)
  // One that breaks while it is in use fails its query too.
  pool.on('connect', client => client.on('error', () => undefined))
  return pool
}
