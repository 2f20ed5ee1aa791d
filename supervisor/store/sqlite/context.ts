// What the tables of the SQLite store share.
import type { Database } from 'better-sqlite3'
import type { Sealing } from '../sealing.ts'
import type { Ledger } from './ledger.ts'

export interface SqliteContext {
  readonly database: Database
  readonly sealing: Sealing
  readonly ledger: Ledger
  /** Of the hashes of owners. */
  readonly ownerSecret: Buffer
  /** Of the keys of nodes. */
  readonly nodeSecret: Buffer
  readonly nowMs: () => number
  readonly maxBytes: number
  /** 0: no limit. */
  readonly maxBytesPerOwner: number
  readonly retentionMs: number
  /** Content of one answer. */
  readonly answerBytesMax: number
}

/** Where content is charged. */
export interface Place {
  readonly owner: number
  readonly thread: number
}
