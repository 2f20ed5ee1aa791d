// Connects to a Postgres server and opens the store on it.

import { createPool } from '../../../postgres/pool.ts'
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

const SILENCE_MS = 1_000

/** Opens the store with pools of its own. Rejects like `openPostgresStore`; nothing stays open then. */
export async function connectToPostgres(dsn: string, options: PostgresOptions): Promise<RelationalStore> {
  // Behind the bound of the server: for a server or a network that has fallen silent.
  const limits = { query_timeout: options.timeoutMs + SILENCE_MS }
  const asking = createPool(dsn, { max: options.askConnections, ...limits })
  const writing = createPool(dsn, { max: options.writeConnections, ...limits })
  const close = async () => void (await Promise.all([asking.end(), writing.end()]))
  try {
    const store = await openPostgresStore(asking, {
      mayMigrate: options.mayMigrate,
      writing,
      timeoutMs: options.timeoutMs
    })
    return { ...store, close }
  } catch (error) {
    await close()
    throw error
  }
}
