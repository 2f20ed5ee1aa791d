// Pools of connections to a Postgres server, for the writer of the traffic log and for the store of responses.
import pg from 'pg'

const CONNECT_TIMEOUT_MS = 5_000

/** Raises the driver's error for an address that it cannot read, or that names a file which cannot be read. No connection is made. */
export function checkDsn(dsn: string): void {
  new pg.Client({ connectionString: dsn })
}

/** A pool that survives the loss of its connections: a lost one fails its query alone and is replaced when it is needed. */
export function createPool(dsn: string, options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    connectionString: dsn,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'llm-gateway',
    ...options
  })
  // An idle connection that breaks is replaced when it is needed.
  pool.on('error', () => undefined)
  // One that breaks while it is in use fails its query too.
  pool.on('connect', client => client.on('error', () => undefined))
  return pool
}
