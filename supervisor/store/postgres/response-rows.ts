// The rows of responses, and how they become records.
import type { OwnedId, ResponseRecord, ResponseStatus, StoredItem } from '../../../shared/memory/store.ts'
import { readStatus } from '../lost-response.ts'
import { isAlive, isId, ownerOf, type PostgresContext, readExpiry } from './context.ts'
import type { Run } from './database.ts'
import { type BoundedRow, boundContent, type ContentRow, openBounded, openItem } from './items.ts'

export interface ResponseRow {
  readonly id: string
  readonly thread: string
  /** The id of the response that this one continues; there may be none any more. */
  readonly previous: string | null
  readonly is_in_conversation: boolean
  /** The last place of the conversation when the response ended. */
  readonly last_position: number | null
  readonly created_at: number
  readonly status: ResponseStatus
  readonly model: string
  readonly upstream_thread: string | null
  readonly is_background: boolean
  /** The end of the path of its items. */
  readonly last_item: Buffer | null
  /** How many of the items are its output. */
  readonly outputs: number
  readonly last_sequence_number: number
  readonly last_event: number
  readonly lease_until: number | null
  readonly is_cancelled: boolean
  /** Of its body and its events. */
  readonly bytes: number
}

const COLUMNS = [
  'id',
  'thread',
  'previous',
  'is_in_conversation',
  'last_position',
  'created_at',
  'status',
  'model',
  'upstream_thread',
  'is_background',
  'last_item',
  'outputs',
  'last_sequence_number',
  'last_event',
  'lease_until',
  'is_cancelled',
  'bytes'
]
  .map(name => `r.${name}`)
  .join(', ')

const FIND = `SELECT ${COLUMNS} FROM gateway_responses r JOIN gateway_responses_threads t ON t.id = r.thread
  WHERE r.id = $1 AND r.owner = $2 AND ${isAlive('$3')}`

/** The response of this owner, unless it has expired. `lock` keeps it as it is until the transaction ends. */
export async function findResponse(
  run: Run,
  context: PostgresContext,
  { owner, id }: OwnedId,
  lock = ''
): Promise<ResponseRow | undefined> {
  if (!isId(id)) return undefined
  const [row] = await run<ResponseRow>(`${FIND} ${lock}`, [id, ownerOf(context, owner), readExpiry(context)])
  return row
}

/** Changes of a thread and of its responses lock them in this order. */
export const LOCK_WITH_THREAD = 'FOR UPDATE OF t, r'
export const LOCK_RESPONSE = 'FOR UPDATE OF r'

export function statusOf({ nowMs }: PostgresContext, { status, lease_until }: ResponseRow): ResponseStatus {
  return readStatus(status, lease_until ?? undefined, nowMs())
}

interface PathRow {
  readonly response: string
  readonly key: Buffer
}

/** The items of turns from the last one back. Each walk goes by the primary key of items. */
const PATHS = `WITH RECURSIVE path AS (
    SELECT r.id AS response, 0 AS step, i.key, i.parent, i.id, i.content FROM gateway_responses r
      JOIN gateway_responses_items i ON i.key = r.last_item WHERE r.id = ANY($1::text[])
    UNION ALL
    SELECT path.response, path.step + 1, i.key, i.parent, i.id, i.content
      FROM path JOIN gateway_responses_items i ON i.key = path.parent
  )`

/** The items of one turn without content, first to last. */
export async function listPath(run: Run, id: string): Promise<Array<{ readonly key: Buffer; readonly id: string }>> {
  const rows = await run<{ key: Buffer; id: Buffer }>(`${PATHS} SELECT key, id FROM path ORDER BY step DESC`, [[id]])
  return rows.map(row => ({ key: row.key, id: row.id.toString() }))
}

/** The items of each turn, first to last. */
export async function readTurns(
  run: Run,
  context: PostgresContext,
  ids: readonly string[]
): Promise<Map<string, StoredItem[]>> {
  const turns = new Map<string, StoredItem[]>(ids.map(id => [id, []]))
  if (ids.length === 0) return turns
  const rows = await run<ContentRow & PathRow>(
    `${PATHS} SELECT response, key, id, content FROM path ORDER BY step DESC`,
    [ids]
  )
  for (const row of rows) turns.get(row.response)?.push(openItem(context, row))
  return turns
}

/** The whole records of these rows. */
export async function readRecords(
  run: Run,
  context: PostgresContext,
  rows: readonly ResponseRow[]
): Promise<ResponseRecord[]> {
  const ids = rows.map(({ id }) => id)
  const [turns, bodies] = await Promise.all([
    readTurns(run, context, ids),
    run<{ id: string; body: Buffer }>('SELECT id, body FROM gateway_responses WHERE id = ANY($1::text[])', [ids])
  ])
  const bodyOf = new Map(bodies.map(({ id, body }) => [id, context.sealing.open(body, bodyPlace(id))]))
  return rows.map(row => {
    const items = turns.get(row.id) ?? []
    const inputs = items.length - row.outputs
    return {
      id: row.id,
      createdAt: row.created_at,
      status: statusOf(context, row),
      model: row.model,
      ...(row.previous !== null && { previousResponseId: row.previous }),
      ...(row.is_in_conversation && { conversationId: row.thread }),
      ...(row.upstream_thread !== null && { threadId: row.upstream_thread }),
      isBackground: row.is_background,
      input: items.slice(0, inputs),
      output: items.slice(inputs),
      body: bodyOf.get(row.id) ?? new Uint8Array(),
      lastSequenceNumber: row.last_sequence_number
    }
  })
}

export function bodyPlace(id: string): string {
  return `response ${id}`
}

/** The responses of a thread, oldest first. */
export function listThread(run: Run, thread: string, limit: number): Promise<ResponseRow[]> {
  return run<ResponseRow>(
    `SELECT ${COLUMNS} FROM gateway_responses r WHERE r.thread = $1 ORDER BY r.ordinal LIMIT $2`,
    [thread, limit]
  )
}

const CHAIN = `WITH RECURSIVE chain AS (
    SELECT id, previous, last_item, 0 AS depth FROM gateway_responses WHERE id = $1 AND owner = $2
    UNION ALL
    SELECT r.id, r.previous, r.last_item, chain.depth + 1
      FROM chain JOIN gateway_responses r ON r.id = chain.previous AND r.owner = $2
  )`

export interface ChainedTurn {
  readonly row: ResponseRow
  readonly items: readonly StoredItem[]
}

/** A response with all that it continues, the oldest first. Both questions are asked at once. */
export async function readChain(
  run: Run,
  context: PostgresContext,
  { owner, id }: { readonly owner: Buffer; readonly id: string }
): Promise<ChainedTurn[]> {
  const [rows, contents] = await Promise.all([
    run<ResponseRow>(
      `${CHAIN} SELECT ${COLUMNS} FROM chain JOIN gateway_responses r ON r.id = chain.id ORDER BY chain.depth DESC`,
      [id, owner]
    ),
    run<BoundedRow & { readonly response: string }>(
      `${CHAIN}, path AS (
         SELECT chain.id AS response, 0 AS step, i.key, i.parent, i.id, i.content, i.bytes
           FROM chain JOIN gateway_responses_items i ON i.key = chain.last_item
         UNION ALL
         SELECT path.response, path.step + 1, i.key, i.parent, i.id, i.content, i.bytes
           FROM path JOIN gateway_responses_items i ON i.key = path.parent
       ) SELECT response, key, id, ${boundContent('bytes', 'content', '$3')} FROM path ORDER BY step DESC`,
      [id, owner, context.answerBytesMax]
    )
  ])
  const turns = new Map<string, StoredItem[]>(rows.map(row => [row.id, []]))
  for (const content of contents) turns.get(content.response)?.push(openBounded(context, content))
  return rows.map(row => ({ row, items: turns.get(row.id) ?? [] }))
}
