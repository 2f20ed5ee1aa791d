// The sums of what an owner has stored.
import { randomInt } from 'node:crypto'
import type { StoreTotals } from '../../../shared/memory/store.ts'
import type { Run } from './database.ts'

export interface Change {
  readonly bytes: number
  readonly responses?: number
  readonly conversations?: number
}

/** Transactions that change the same row wait for each other until they are committed. */
const SHARDS = 16

const ADD = `INSERT INTO gateway_responses_usage AS u (owner, shard, bytes, responses, conversations)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (owner, shard) DO UPDATE SET bytes = u.bytes + excluded.bytes,
    responses = u.responses + excluded.responses, conversations = u.conversations + excluded.conversations`

/** The last change of a transaction: a transaction that waits for the row then waits for the commit alone. */
export async function addUsage(run: Run, owner: Buffer, change: Change): Promise<void> {
  const { bytes, responses = 0, conversations = 0 } = change
  if (bytes === 0 && responses === 0 && conversations === 0) return
  await run(ADD, [owner, randomInt(SHARDS), bytes, responses, conversations])
}

export async function readUsedBytes(run: Run, owner: Buffer): Promise<number> {
  const [row] = await run<{ bytes: number }>(
    'SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM gateway_responses_usage WHERE owner = $1',
    [owner]
  )
  return row?.bytes ?? 0
}

export async function readTotals(run: Run): Promise<StoreTotals> {
  const [row] = await run<StoreTotals>(
    `SELECT coalesce(sum(responses), 0)::bigint AS responses, coalesce(sum(conversations), 0)::bigint AS conversations,
     coalesce(sum(bytes), 0)::bigint AS bytes FROM gateway_responses_usage`
  )
  return row ?? { responses: 0, conversations: 0, bytes: 0 }
}

/** An owner who has more than the bound. */
export async function findFullOwner(run: Run, bytesMax: number): Promise<Buffer | undefined> {
  const [row] = await run<{ owner: Buffer }>(
    'SELECT owner FROM gateway_responses_usage GROUP BY owner HAVING sum(bytes) > $1 LIMIT 1',
    [bytesMax]
  )
  return row?.owner
}
