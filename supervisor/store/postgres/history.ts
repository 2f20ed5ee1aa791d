// Reads what a new response continues (memory.md 3).
import {
  type History,
  type HistoryQuestion,
  isEnded,
  type OwnedId,
  type ResponseStore,
  type StoredItem
} from '../../../shared/memory/store.ts'
import { createByteCount } from '../answer-size.ts'
import { cutPage } from '../item-pages.ts'
import { isAlive, isId, ownerOf, type PostgresContext, readExpiry } from './context.ts'
import { isInConversation, readConversationTurns } from './conversation-items.ts'
import type { Run } from './database.ts'
import { type BoundedRow, boundContent, hashItemId, openBounded, readItems } from './items.ts'
import { type ChainedTurn, findResponse, listPath, readChain, readRecords, statusOf } from './response-rows.ts'

type Turns = ReadonlyArray<readonly StoredItem[]>
type Reading = Pick<ResponseStore, 'readResponse' | 'readHistory' | 'listInputItems'>

/** The newest item of an id, unless its thread has expired. An item of a removed thread that others share has none. */
const FIND_ITEMS = `SELECT id_key, key, id, ${boundContent('bytes', 'content', '$3')} FROM (
  SELECT DISTINCT ON (i.id_key) i.id_key, i.key, i.id, i.content, i.bytes FROM gateway_responses_items i
  LEFT JOIN gateway_responses_threads t ON t.id = i.thread
  WHERE i.id_key = ANY($1::bytea[]) AND (t.id IS NULL OR ${isAlive('$2')})
  ORDER BY i.id_key, i.ordinal DESC) AS newest`

export function createReading(context: PostgresContext): Reading {
  const { database } = context

  /** The turns of a chain; undefined where one of its responses was deleted. */
  async function listTurns(run: Run, chain: readonly ChainedTurn[]): Promise<Turns | undefined> {
    const first = chain[0]?.row
    if (first === undefined || first.previous !== null) return undefined
    if (!first.is_in_conversation) return chain.map(({ items }) => items)
    const place = { thread: first.thread, last: first.last_position ?? -1 }
    const own = isInConversation(first.status) ? chain.slice(1) : chain
    return [...(await readConversationTurns(run, context, place)), ...own.map(({ items }) => items)]
  }

  async function readPrevious(run: Run, owner: HistoryQuestion['owner'], id: string): Promise<History> {
    const notFound = { kind: 'not-found', what: 'response', id } as const
    if (!isId(id)) return notFound
    const [row, chain] = await Promise.all([
      findResponse(run, context, { owner, id }),
      readChain(run, context, { owner: ownerOf(context, owner), id })
    ])
    if (row === undefined) return notFound
    if (!isEnded(statusOf(context, row))) return { ...notFound, kind: 'running' }
    if (row.upstream_thread !== null) return { kind: 'found', turns: [], threadId: row.upstream_thread, items: [] }
    const turns = await listTurns(run, chain)
    return turns === undefined ? notFound : { kind: 'found', turns, items: [] }
  }

  async function readConversation(run: Run, { owner, id }: OwnedId): Promise<History> {
    const found = isId(id)
      ? await run(
          `SELECT t.id FROM gateway_responses_threads t WHERE t.id = $1 AND t.owner = $2 AND t.is_conversation AND ${isAlive('$3')}`,
          [id, ownerOf(context, owner), readExpiry(context)]
        )
      : []
    if (found.length === 0) return { kind: 'not-found', what: 'conversation', id }
    return { kind: 'found', turns: await readConversationTurns(run, context, { thread: id }), items: [] }
  }

  async function readReferenced(run: Run, { owner, itemIds }: HistoryQuestion): Promise<History> {
    if (itemIds.length === 0) return { kind: 'found', turns: [], items: [] }
    const hash = ownerOf(context, owner)
    const keys = itemIds.map(id => hashItemId(context, hash, id))
    const rows = await run<BoundedRow & { readonly id_key: Buffer }>(FIND_ITEMS, [
      keys,
      readExpiry(context),
      context.answerBytesMax
    ])
    const found = new Map(rows.map(row => [row.id_key.toString('hex'), openBounded(context, row)]))
    const items: StoredItem[] = []
    for (const [index, id] of itemIds.entries()) {
      const item = found.get(keys[index]?.toString('hex') ?? '')
      if (item === undefined) return { kind: 'not-found', what: 'item', id }
      items.push(item)
    }
    return { kind: 'found', turns: [], items }
  }

  return {
    readResponse: id =>
      database.read(async run => {
        const row = await findResponse(run, context, id)
        return row && (await readRecords(run, context, [row]))[0]
      }),
    readHistory: question =>
      database.read(async run => {
        const { owner, previousResponseId, conversationId } = question
        let history: History = { kind: 'found', turns: [], items: [] }
        if (previousResponseId !== undefined) history = await readPrevious(run, owner, previousResponseId)
        else if (conversationId !== undefined) history = await readConversation(run, { owner, id: conversationId })
        if (history.kind !== 'found') return history
        const referenced = await readReferenced(run, question)
        if (referenced.kind !== 'found') return referenced
        const count = createByteCount(context.answerBytesMax)
        for (const turn of [...history.turns, referenced.items]) count(turn)
        return { ...history, items: referenced.items }
      }),
    listInputItems: ({ page, ...id }) =>
      database.read(async run => {
        const row = await findResponse(run, context, id)
        if (row === undefined) return undefined
        const path = await listPath(run, row.id)
        const cut = cutPage(path.slice(0, path.length - row.outputs), page)
        if (cut === 'unknown_cursor') return cut
        const keys = cut.entries.map(({ key }) => key)
        return { items: await readItems(run, context, keys), hasMore: cut.hasMore }
      })
  }
}
