// The sums that are kept of owners and threads: what a question adds and removes is gathered, and written once at its end.
import type { Database } from 'better-sqlite3'

export interface Change {
  readonly bytes?: number
  readonly responses?: number
  readonly conversations?: number
}

export interface Ledger {
  charge(place: { readonly owner: number; readonly thread: number }, change: Change): void
  /** Writes what was gathered. */
  flush(): void
  /** Forgets what was gathered. */
  clear(): void
}

interface Sum {
  bytes: number
  responses: number
  conversations: number
}

export function createLedger(database: Database): Ledger {
  const owners = new Map<number, Sum>()
  const threads = new Map<number, Sum>()
  const changeOwner = database.prepare<[number, number, number, number]>(
    `UPDATE owners SET bytes = bytes + ?, responses = responses + ?, conversations = conversations + ? WHERE number = ?`
  )
  const changeThread = database.prepare<[number, number, number]>(
    'UPDATE threads SET bytes = bytes + ?, turns = turns + ? WHERE number = ?'
  )

  function add(sums: Map<number, Sum>, key: number, { bytes = 0, responses = 0, conversations = 0 }: Change): void {
    const sum = sums.get(key) ?? { bytes: 0, responses: 0, conversations: 0 }
    sums.set(key, sum)
    sum.bytes += bytes
    sum.responses += responses
    sum.conversations += conversations
  }

  function clear(): void {
    owners.clear()
    threads.clear()
  }

  return {
    charge({ owner, thread }, change) {
      add(owners, owner, change)
      add(threads, thread, change)
    },
    flush() {
      for (const [owner, sum] of owners) changeOwner.run(sum.bytes, sum.responses, sum.conversations, owner)
      for (const [thread, sum] of threads) changeThread.run(sum.bytes, sum.responses, thread)
      clear()
    },
    clear
  }
}
