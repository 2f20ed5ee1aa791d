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

/** Opens the store with pools of its own. Rejects like `openPostgresStore`; nothing stays open then. */
export async function connectToPostgres(dsn: string, options: PostgresOptions): Promise<RelationalStore> {
  const limits = { statement_timeout: options.timeoutMs, query_timeout: options.timeoutMs }
  const asking = createPool(dsn, { max: options.askConnections, ...limits })
  const writing = createPool(dsn, { max: options.writeConnections, ...limits })
  const close = async () => void (await Promise.all([asking.end(), writing.end()]))
  try {
    const store = await openPostgresStore(asking, { mayMigrate: options.mayMigrate, writing })
    return { ...store, close }
  } catch (error) {
    await close()
    throw error
  }
}
