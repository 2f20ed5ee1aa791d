// Connects to a Postgres server and opens the store on it.
import pg from 'pg'
import type { RelationalStore } from '../../sink.ts'
import { openPostgresStore } from './sink.ts'

export interface PostgresOptions {
  readonly connections: number
  /** Bound of one statement, and of the wait for a connection. */
  readonly timeoutMs: number
  readonly mayMigrate: boolean
}

const CONNECT_TIMEOUT_MS = 5_000

/** Opens the store with a pool of its own. Rejects like `openPostgresStore`; nothing stays open then. */
export async function connectToPostgres(dsn: string, options: PostgresOptions): Promise<RelationalStore> {
  const pool = new pg.Pool({
    connectionString: dsn,
    max: options.connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: options.timeoutMs,
    query_timeout: options.timeoutMs,
    application_name: 'llm-gateway'
  })
  // An idle connection that breaks is replaced when it is needed.
  pool.on('error', () => undefined)
  // One that breaks while it is in use fails its query too.
  pool.on('connect', client => client.on('error', () => undefined))
  try {
    const store = await openPostgresStore(pool, options)
    return { ...store, close: () => pool.end() }
  } catch (error) {
    await pool.end()
    throw error
  }
}
