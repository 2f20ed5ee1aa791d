// How the engine talks to Postgres (memory.md 6): each operation is one short transaction, and what does not wait for a result goes over the
// connection at once. No session state and no named statement is used, so that a pool such as PgBouncer may lend a server connection for
// one transaction at a time; it refuses timeouts as startup parameters too, therefore every transaction sets its own.
import pg from 'pg'
import { createPool } from '../../postgres/pool.ts'

export type Value =
  | string
  | number
  | boolean
  | Uint8Array
  | null
  | readonly string[]
  | readonly number[]
  | ReadonlyArray<Uint8Array | null>
export type Row = Readonly<Record<string, unknown>>
/** Runs one statement. Several may be asked at once; each sees what those before it have changed. */
export type Run = <Found extends object = Row>(text: string, values?: readonly Value[]) => Promise<Found[]>

export interface Database {
  /** Statements that see one state of the database. */
  read<Answer>(work: (run: Run) => Promise<Answer>): Promise<Answer>
  /** Changes all that `work` changes, or nothing where it fails. `lock`: statements that are run first. */
  write<Answer>(work: (run: Run) => Promise<Answer>, lock?: string): Promise<Answer>
  /** A connection outside of these rules, for the change of the schema. */
  connect(): Promise<pg.PoolClient>
  close(): Promise<void>
}

const STATEMENT_TIMEOUT_MS = 5_000
const LOCK_TIMEOUT_MS = 3_000
/** A transaction of a process that has fallen silent gives its locks back. */
const IDLE_TIMEOUT_MS = 10_000
/** For a server or a network that has fallen silent. */
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 1_000

/** Every question goes by an index. Without statistics of new tables the planner reads whole tables, and compiles queries of high estimates. */
const PLANS = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'].map(name => `SET LOCAL ${name} = off`)
const LIMITS = [
  `SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
  `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`,
  `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}`
]
const SETTINGS = [...LIMITS, ...PLANS].join('; ')
const BEGIN_READ = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${SETTINGS}`
const BEGIN_WRITE = `BEGIN ISOLATION LEVEL READ COMMITTED; ${SETTINGS}`

/** The server has undone one of two transactions that waited for each other. */
const DEADLOCK = '40P01'
const ATTEMPTS = 3

const BIGINT = pg.types.builtins.INT8

/** Opens no connection yet. */
export function createDatabase(dsn: string, connections: number): Database {
  const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
    oid === BIGINT ? Number : pg.types.getTypeParser(oid, format as 'text')
  const pool = createPool(dsn, {
    max: connections,
    pipeline: true,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    types: { getTypeParser }
  })

  async function transaction<Answer>(
    begin: string,
    work: (run: Run) => Promise<Answer>,
    isRead = false
  ): Promise<Answer> {
    const connection = await pool.connect()
    let failure: unknown
    const noteFailure = (error: unknown) => {
      failure ??= error
      throw error
    }
    const run: Run = <Found extends object>(text: string, values: readonly Value[] = []) =>
      connection.query<Found & pg.QueryResultRow>(text, [...values]).then(({ rows }) => rows, noteFailure)
    try {
      // Not awaited: a server that refuses it refuses the statements behind it as well, and its error is the first one.
      const begun = connection.query(begin).catch(noteFailure)
      begun.catch(() => undefined)
      const answer = await work(run)
      await begun
      const committed = connection.query('COMMIT').catch(noteFailure)
      if (isRead) {
        // What was read does not depend on it.
        committed.then(
          () => connection.release(),
          () => connection.release(true)
        )
        return answer
      }
      await committed
      connection.release()
      return answer
    } catch (error) {
      failure ??= error
      const isUsable = await rollBack(connection, failure)
      connection.release(!isUsable)
      throw failure
    }
  }

  async function write<Answer>(work: (run: Run) => Promise<Answer>, lock?: string): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await transaction(lock === undefined ? BEGIN_WRITE : `${BEGIN_WRITE}; ${lock}`, work)
      } catch (error) {
        if (error instanceof Undo) return error.answer as Answer
        if (readCode(error) !== DEADLOCK || attempt === ATTEMPTS) throw error
      }
    }
  }

  return {
    read: work => transaction(BEGIN_READ, work, true),
    write,
    connect: () => pool.connect(),
    close: () => (pool.ending ? Promise.resolve() : pool.end())
  }
}

/** Whether the connection can be used again: on one that has fallen silent a ROLLBACK would wait as long as the statement before it. */
async function rollBack(connection: pg.PoolClient, failure: unknown): Promise<boolean> {
  if (readCode(failure) === undefined && !(failure instanceof Undo)) return false
  return connection.query('ROLLBACK').then(
    () => true,
    () => false
  )
}

/** Raised to undo what a question has changed, and to answer it. */
export class Undo<Answer> {
  readonly answer: Answer

  constructor(answer: Answer) {
    this.answer = answer
  }
}

/** The code of an error that the server has sent. */
export function readCode(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}
