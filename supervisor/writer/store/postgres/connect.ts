// Connects to a Postgres server and opens the store on it.
import pg from 'pg'
import type { RelationalStore } from '../../sink.ts'
import { openPostgresStore } from './sink.ts'

export interface PostgresOptions {
  /** For writes alone: questions of an admin API that take long must not keep records waiting. */
  readonly writeConnections: number
  /** For everything else. */
  readonly askConnections: number
  /** Bound of one statement. */
  readonly timeoutMs: number
  readonly mayMigrate: boolean
}

const CONNECT_TIMEOUT_MS = 5_000

/** Raises the driver's error for an address that it cannot read, or that names a file which cannot be read. No connection is made. */
export function checkDsn(dsn: string): void {
  new pg.Client({ connectionString: dsn })
}

/** Opens the store with pools of its own. Rejects like `openPostgresStore`; nothing stays open then. */
export async function connectToPostgres(dsn: string, options: PostgresOptions): Promise<RelationalStore> {
  const asking = createPool(dsn, options.askConnections, options)
  const writing = createPool(dsn, options.writeConnections, options)
  const close = async () => void (await Promise.all([asking.end(), writing.end()]))
  try {
    const store = await openPostgresStore(asking, { mayMigrate: options.mayMigrate, writing })
    return { ...store, close }
  } catch (error) {
    await close()
    throw error
  }
}

function createPool(dsn: string, connections: number, { timeoutMs }: PostgresOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: dsn,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs,
    application_name: 'llm-gateway'
  })
  // An idle connection that breaks is replaced when it is needed.
  pool.on('error', () => undefined)
  // One that breaks while it is in use fails its query too.
  pool.on('connect', client => client.on('error', () => undefined))
  return pool
}
