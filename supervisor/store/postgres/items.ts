// Items of inputs, outputs and conversations. A turn is a path of items from the first of its input to the last of its output; turns that
// begin with the same items share them (decisions.md 89). An item is removed when nothing comes after it or refers to it.
import { createHmac, randomBytes } from 'node:crypto'
import type { StoredItem } from '../../../shared/memory/store.ts'
import { HistoryTooLargeError } from '../answer-size.ts'
import { hashNodes } from '../nodes.ts'
import type { PostgresContext } from './context.ts'
import type { Run } from './database.ts'

export interface NewItem {
  readonly key: Buffer
  readonly parent: Buffer | null
  readonly item: StoredItem
}

export interface ContentRow {
  readonly key: Buffer
  readonly id: Buffer
  readonly content: Buffer
}

const KEY_BYTES = 16

/** The path of a turn. Items of a conversation have ids of their own, so its turns share none: `shared` is undefined then. */
export function planPath(
  { itemSecret }: PostgresContext,
  turn: { readonly owner: Buffer; readonly ofResponse: string | undefined; readonly items: readonly StoredItem[] }
): NewItem[] {
  const { owner, ofResponse, items } = turn
  const root = ofResponse === undefined ? owner : Buffer.concat([owner, Buffer.from(ofResponse)])
  const keys = hashNodes(itemSecret, root, items)
  return items.flatMap((item, index) => {
    const key = keys[index]
    return key === undefined ? [] : [{ key, parent: keys[index - 1] ?? null, item }]
  })
}

/** Items that stand for themselves. */
export function planSingle(items: readonly StoredItem[]): NewItem[] {
  return items.map(item => ({ key: randomBytes(KEY_BYTES), parent: null, item }))
}

/** What an id is found by: an id of a client may be of any length. */
export function hashItemId({ itemSecret }: PostgresContext, owner: Buffer, id: string): Buffer {
  return createHmac('sha256', itemSecret).update('id').update(owner).update(id).digest().subarray(0, KEY_BYTES)
}

/** Which of the items are stored already, as their keys in hex. */
export async function findStored(run: Run, items: readonly NewItem[]): Promise<Set<string>> {
  if (items.length === 0) return new Set()
  const rows = await run<{ key: Buffer }>('SELECT key FROM gateway_responses_items WHERE key = ANY($1::bytea[])', [
    items.map(({ key }) => key)
  ])
  return new Set(rows.map(({ key }) => key.toString('hex')))
}

/** All contents are one value, which the driver sends as it is; it would write each element of an array as text. */
const ADD = `INSERT INTO gateway_responses_items (key, parent, thread, id, id_key, content, bytes)
  SELECT key, parent, $1, id, id_key, substring($2::bytea FROM start FOR length), bytes
  FROM unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::integer[], $8::integer[], $9::integer[])
    AS added (key, parent, id, id_key, start, length, bytes)
  ON CONFLICT (key) DO NOTHING RETURNING bytes`

/** Adds items, parents before children, and returns how many bytes were not there yet. */
export async function addItems(
  run: Run,
  context: PostgresContext,
  { owner, thread, items }: { readonly owner: Buffer; readonly thread: string; readonly items: readonly NewItem[] }
): Promise<number> {
  if (items.length === 0) return 0
  const contents = items.map(({ key, item }) => context.sealing.seal(item.json, placeOf(key)))
  const lengths = contents.map(({ length }) => length)
  let end = 1
  const starts = lengths.map(length => {
    end += length
    return end - length
  })
  const rows = await run<{ bytes: number }>(ADD, [
    thread,
    Buffer.concat(contents),
    items.map(({ key }) => key),
    items.map(({ parent }) => parent),
    items.map(({ item }) => Buffer.from(item.id)),
    items.map(({ item }) => hashItemId(context, owner, item.id)),
    starts,
    lengths,
    items.map(({ item }) => item.json.length)
  ])
  return rows.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** A row of a history: without content where the history is larger than an answer may be, so that none of it is read. */
export interface BoundedRow extends Omit<ContentRow, 'content'> {
  readonly content: Buffer | null
}

/** The content of the rows of a query, unless all of it is more than an answer may have. */
export function boundContent(bytes: string, content: string, max: string): string {
  return `CASE WHEN sum(${bytes}) OVER () <= ${max} THEN ${content} END AS content`
}

/** Raises `HistoryTooLargeError`. */
export function openBounded(context: PostgresContext, { content, ...row }: BoundedRow): StoredItem {
  if (content === null) throw new HistoryTooLargeError(context.answerBytesMax)
  return openItem(context, { ...row, content })
}

export function openItem({ sealing }: PostgresContext, { key, id, content }: ContentRow): StoredItem {
  return { id: id.toString(), json: sealing.open(content, placeOf(key)) }
}

const placeOf = (key: Buffer) => `item ${key.toString('hex')}`

/** The contents of items in the order of their keys. */
export async function readItems(run: Run, context: PostgresContext, keys: readonly Buffer[]): Promise<StoredItem[]> {
  if (keys.length === 0) return []
  const rows = await run<ContentRow>(
    'SELECT key, id, content FROM gateway_responses_items WHERE key = ANY($1::bytea[])',
    [keys]
  )
  const found = new Map(rows.map(row => [row.key.toString('hex'), openItem(context, row)]))
  return keys.flatMap(key => found.get(key.toString('hex')) ?? [])
}

/** An item that is referred to by nothing is removed, and then the one before it, as far as that holds. */
const REMOVE_PATH = `WITH RECURSIVE doomed AS (
    SELECT i.key, i.parent FROM gateway_responses_items i WHERE i.key = $1
      AND NOT EXISTS (SELECT FROM gateway_responses_items c WHERE c.parent = i.key)
      AND NOT EXISTS (SELECT FROM gateway_responses r WHERE r.last_item = i.key)
      AND NOT EXISTS (SELECT FROM gateway_responses_conversation_items p WHERE p.item = i.key)
    UNION ALL
    SELECT i.key, i.parent FROM doomed JOIN gateway_responses_items i ON i.key = doomed.parent
    WHERE NOT EXISTS (SELECT FROM gateway_responses_items c WHERE c.parent = i.key AND c.key <> doomed.key)
      AND NOT EXISTS (SELECT FROM gateway_responses r WHERE r.last_item = i.key)
      AND NOT EXISTS (SELECT FROM gateway_responses_conversation_items p WHERE p.item = i.key)
  ), removed AS (
    DELETE FROM gateway_responses_items i USING doomed WHERE i.key = doomed.key RETURNING i.thread, i.bytes
  ) SELECT thread, sum(bytes)::bigint AS bytes FROM removed GROUP BY thread`

/** Removes paths from their ends, and takes their sizes from their threads. Returns the removed bytes. */
export async function removePaths(run: Run, keys: ReadonlyArray<Buffer | null>): Promise<number> {
  const ends = keys.filter(key => key !== null)
  const removed = await Promise.all(ends.map(key => run<{ thread: string; bytes: number }>(REMOVE_PATH, [key])))
  const threads = new Map<string, number>()
  for (const { thread, bytes } of removed.flat()) threads.set(thread, (threads.get(thread) ?? 0) + bytes)
  if (threads.size === 0) return 0
  await run(
    `UPDATE gateway_responses_threads t SET bytes = t.bytes - removed.bytes
     FROM unnest($1::text[], $2::bigint[]) AS removed (thread, bytes) WHERE t.id = removed.thread`,
    [[...threads.keys()], [...threads.values()]]
  )
  return [...threads.values()].reduce((sum, bytes) => sum + bytes, 0)
}
