// Stores of responses on databases of one Postgres server, for tests that open several engines on one database.
import pg from 'pg'
import type { Test } from 'tap'
import type { OpenStore } from '../../supervisor/store/engine.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../../supervisor/store/postgres/open.ts'
import type { PostgresServer } from './postgres.ts'
import { closeWithTest, createStoreOptions } from './response-store.ts'

export interface StoreDatabase {
  readonly dsn: string
  /** Asks the database itself, over a connection of its own. */
  query(text: string, values?: unknown[]): Promise<Array<Record<string, unknown>>>
  /** Opens an engine as one more host does; it is closed with the test. */
  open(changes?: Partial<PostgresStoreOptions>): Promise<OpenStore>
}

/** @returns how empty databases are made. */
export async function createPostgresStores(
  t: Test,
  server: PostgresServer
): Promise<{ createDatabase(): Promise<StoreDatabase> }> {
  const administrator = createPool(t, server)
  let databases = 0
  return {
    async createDatabase() {
      databases += 1
      const database = `responses_${databases}`
      await administrator.query(`CREATE DATABASE ${database}`)
      const dsn = server.dsn.replace(/[^/]+$/, database)
      const pool = createPool(t, { connectionString: dsn })
      return {
        dsn,
        query: async (text, values) => (await pool.query<Record<string, unknown>>(text, values)).rows,
        open: async changes => closeWithTest(t, await openPostgresStore({ ...createStoreOptions(dsn), ...changes }))
      }
    }
  }
}

function createPool(t: Test, options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ ...options, max: 2 })
  // The server may stop before it has seen that a connection was closed.
  pool.on('error', () => undefined)
  t.teardown(() => pool.end())
  return pool
}
