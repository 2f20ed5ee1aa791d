// What the store process asks of the engine of a database (memory.md 6). One engine for each kind of DSN; `open-engine.ts` chooses it.
import type { Logger } from '../../shared/logging.ts'
import type { ResponseStore } from '../../shared/memory/store.ts'
import type { SpendExchange } from './spend.ts'

export interface StoreEngineOptions {
  /** `sqlite:<path>` or `postgres://…`, with its password. */
  readonly dsn: string
  /** 32 bytes; undefined: content is stored as it is. */
  readonly key: Buffer | undefined
  /** The key before: content that was sealed with it can still be read. */
  readonly previousKey: Buffer | undefined
  /** The largest response with its own input, or other single write. */
  readonly maxBytes: number
  /** All content of one owner; 0: no limit. */
  readonly maxBytesPerOwner: number
  /** Age of the last use at which a thread is removed. */
  readonly retentionDays: number
  /** Whether tables are created and upgraded. */
  readonly autoMigrate: boolean
  /** Workers of this host, for the number of connections to a database server. */
  readonly workers: number
  readonly nowMs: () => number
  readonly log: Logger
}

/** An open database. Every method may reject with any error; the process tells workers `failed` and keeps the error in its log. */
export interface OpenStore extends ResponseStore {
  /** Adds to the spend of budgets in one step, and resolves with the sums in the order of the exchange (keys.md 3). */
  addSpend(exchange: SpendExchange): Promise<readonly number[]>
  /**
   * Removes what is too old, in one small batch; true: more may be left. The process calls it from time to time. Where several hosts share
   * the database, one of them purges and the others resolve with false.
   */
  purge(): Promise<boolean>
  /** Ends the operations that run, then closes the database. */
  close(): Promise<void>
}

export type OpenEngine = (options: StoreEngineOptions) => Promise<OpenStore>

/**
 * - `dsn_invalid`: no DSN of this engine.
 * - `not_writable`: the file or its folder cannot be opened for writing.
 * - `not_a_store`: the file or the tables are not those of a store.
 * - `schema_newer`: a newer version of the gateway has written it.
 * - `schema_missing`: there are no tables, or older ones, and `autoMigrate` is off.
 * - `key_wrong`: content was sealed with another key than those given.
 * - `access_denied`: the server refuses the user, the password or the database.
 * - `unreachable`: the server gives no answer, or the file is locked.
 */
export type OpenFailure =
  | 'dsn_invalid'
  | 'not_writable'
  | 'not_a_store'
  | 'schema_newer'
  | 'schema_missing'
  | 'key_wrong'
  | 'access_denied'
  | 'unreachable'

/** A database could not be opened. After `unreachable` the process tries again; every other failure ends a first start. */
export class StoreOpenError extends Error {
  readonly failure: OpenFailure

  /** `message`: what the operator can do, for the log and the terminal; it holds no secret. */
  constructor(failure: OpenFailure, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'StoreOpenError'
    this.failure = failure
  }
}
