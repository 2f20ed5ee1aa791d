// Waits for another process that keeps a lock on the file. SQLite's own wait would keep the event loop, which serves the other sinks.
import { setTimeout } from 'node:timers/promises'
import Database from 'better-sqlite3'

/** SQLite's own wait: enough for a batch of another gateway. */
export const BUSY_TIMEOUT_MS = 10
const PAUSE_MS = 25
/** Then the attempt fails; a batch is tried again after a pause, as after every failure. */
const WAIT_MS_MAX = 5_000

/** Runs work that changes all or nothing, again while the file is locked. */
export async function whenUnlocked<Result>(work: () => Result): Promise<Result> {
  const endMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isLocked(error) || performance.now() >= endMs) throw error
    }
    await setTimeout(PAUSE_MS)
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
