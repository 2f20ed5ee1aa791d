// Runs statements in transactions that bound themselves (decisions.md 115): no state of a session and no named statement is used, so that a
// pool such as PgBouncer may lend a connection of the server for one transaction at a time.
import type { Pool, PoolClient } from 'pg'

export interface Transactions {
  /** Changes all that `work` changes, or nothing where it fails. Rejects with its error or the driver's. */
  write<Result>(work: (connection: PoolClient) => Promise<Result>): Promise<Result>
  /** Statements that change nothing. */
  read<Result>(work: (connection: PoolClient) => Promise<Result>): Promise<Result>
}

export interface TransactionOptions {
  /** Bound of one statement. */
  readonly timeoutMs: number
  /** Whether the connection can be used again after this error. */
  readonly isUsableAfter?: (error: unknown) => boolean
}

/** Transactions on connections of the pool, which stays the caller's. */
export function createTransactions(
  pool: Pool,
  { timeoutMs, isUsableAfter = () => false }: TransactionOptions
): Transactions {
  async function run<Result>(begin: string, work: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    const connection = await pool.connect()
    let isBroken = false
    try {
      await connection.query(`${begin}; SET LOCAL statement_timeout = ${timeoutMs}`)
      const result = await work(connection)
      await connection.query('COMMIT')
      return result
    } catch (error) {
      isBroken = !isUsableAfter(error)
      if (!isBroken) await connection.query('ROLLBACK').catch(() => undefined)
      throw error
    } finally {
      // A connection that failed for another reason than the values is closed, which ends its transaction: on one that has fallen silent a
      // ROLLBACK would wait as long as the statement before it.
      connection.release(isBroken)
    }
  }

  return { write: work => run('BEGIN', work), read: work => run('BEGIN READ ONLY', work) }
}
