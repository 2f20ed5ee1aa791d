// Deletes content with its bytes (decisions.md 104): otherwise they stay in free pages of the file and in the write-ahead log.
import type { Database } from 'better-sqlite3'

const RETRY_MS = 1000

export interface Erasure {
  /** Runs what deletes or empties rows; the bytes are overwritten, and free pages leave the file. */
  erase<Result>(work: () => Result): Result
  /** Ends the attempts to empty the log. */
  close(): void
}

/** @param busyTimeoutMs how long the connection waits otherwise for another one that keeps a lock. */
export function createErasure(database: Database, busyTimeoutMs: number): Erasure {
  let timer: NodeJS.Timeout | undefined

  /** A connection that reads the log, such as that of a question or a backup, keeps it; the purge does not wait for that connection, and the log is emptied at the next try. */
  function emptyLog(): void {
    clearTimeout(timer)
    database.pragma('busy_timeout = 0')
    try {
      database.pragma('incremental_vacuum')
      const isKept = database.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) !== 0
      if (isKept) retry()
    } catch {
      retry()
    } finally {
      database.pragma(`busy_timeout = ${busyTimeoutMs}`)
    }
  }

  function retry(): void {
    timer = setTimeout(emptyLog, RETRY_MS).unref()
  }

  return {
    erase(work) {
      database.pragma('secure_delete = ON')
      try {
        return work()
      } finally {
        database.pragma('secure_delete = OFF')
        emptyLog()
      }
    },
    close: () => clearTimeout(timer)
  }
}
