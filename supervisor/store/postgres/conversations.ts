// Conversations: their items in order, and who may add the next turn (memory.md 3 and 4).
import type {
  ConversationRecord,
  OwnedId,
  ResponseStore,
  SaveResult,
  StoredItem
} from '../../../shared/memory/store.ts'
import {
  cleanText,
  isAlive,
  isId,
  lockForAdding,
  lockForRemoving,
  ownerOf,
  type PostgresContext,
  readExpiry
} from './context.ts'
import { appendTurn } from './conversation-items.ts'
import { type Run, Undo } from './database.ts'
import { addItems, type BoundedRow, type ContentRow, hashItemId, openItem, planSingle, removePaths } from './items.ts'
import type { Removal } from './removal.ts'
import { type NeedsRoom, OWNER_PLACE } from './save.ts'
import { addUsage, readUsedBytes } from './usage.ts'

type Conversations = Pick<
  ResponseStore,
  | 'createConversation'
  | 'readConversation'
  | 'updateConversation'
  | 'deleteConversation'
  | 'addConversationItems'
  | 'listConversationItems'
  | 'readConversationItem'
  | 'deleteConversationItem'
  | 'acquireConversation'
  | 'releaseConversation'
>

interface ConversationRow {
  readonly id: string
  readonly created_at: number
  readonly metadata: Buffer
  readonly positions: number
  readonly bytes: number
}

interface PlacedRow extends ContentRow {
  readonly position: number
}

interface PageRow extends BoundedRow {
  readonly position: number
}

/** The rows of a page, those behind the largest answer without content. */
function boundPage(page: string, order: 'ASC' | 'DESC'): string {
  return `SELECT position, key, id, CASE WHEN sum(bytes) OVER (ORDER BY position ${order}) - bytes <= $4 THEN content END AS content
    FROM (${page}) AS page ORDER BY position ${order}`
}

const ATTEMPTS = 3

const IS_FOUND = `t.id = $1 AND t.owner = $2 AND t.is_conversation AND ${isAlive('$3')}`
const FIND = `SELECT t.id, t.created_at, t.metadata, t.positions, t.bytes FROM gateway_responses_threads t WHERE ${IS_FOUND}`
const PLACED = `SELECT p.position, i.key, i.id, i.content, i.bytes FROM gateway_responses_conversation_items p
  JOIN gateway_responses_items i ON i.key = p.item`
/** Looked for among the few items of an id. */
const FIND_ITEM = `SELECT p.position, i.key, i.id, i.content FROM gateway_responses_items i
  JOIN gateway_responses_conversation_items p ON p.item = i.key
  WHERE i.id_key = $2 AND p.thread = $1 ORDER BY p.position DESC LIMIT 1`

export function createConversations(context: PostgresContext, removal: Removal): Conversations {
  const { database, sealing, nowMs, maxBytes, maxBytesPerOwner } = context

  const sealMetadata = (id: string, metadata: Uint8Array) => sealing.seal(metadata, `conversation ${id}`)
  const openRow = ({ id, created_at, metadata }: ConversationRow): ConversationRecord => ({
    id,
    createdAt: created_at,
    metadata: sealing.open(metadata, `conversation ${id}`)
  })

  async function find(run: Run, { owner, id }: OwnedId, lock = ''): Promise<ConversationRow | undefined> {
    if (!isId(id)) return undefined
    const [row] = await run<ConversationRow>(`${FIND} ${lock}`, [id, ownerOf(context, owner), readExpiry(context)])
    return row
  }

  async function findItem(run: Run, thread: string, owner: Buffer, itemId: string): Promise<PlacedRow | undefined> {
    const [row] = await run<PlacedRow>(FIND_ITEM, [thread, hashItemId(context, owner, itemId)])
    return row
  }

  /** Adds what `write` adds, after it has made room where that is needed. */
  async function add(owner: Buffer, write: (run: Run, isBounded: boolean) => Promise<SaveResult>): Promise<SaveResult> {
    for (let attempt = 1; ; attempt++) {
      const result = await database.write<SaveResult | NeedsRoom>(
        run => write(run, attempt < ATTEMPTS),
        lockForAdding(owner)
      )
      if (typeof result === 'string') return result
      if (!(await removal.makeRoom({ owner, ...result }))) return 'too_large'
    }
  }

  /** Stores items for the conversation alone; its row is locked. */
  async function store(
    run: Run,
    {
      owner,
      thread,
      items,
      isBounded,
      ownBytes
    }: {
      readonly owner: Buffer
      readonly thread: Pick<ConversationRow, 'id' | 'positions' | 'bytes'>
      readonly items: readonly StoredItem[]
      readonly isBounded: boolean
      /** Of a new conversation. */
      readonly ownBytes?: number
    }
  ): Promise<SaveResult> {
    const plan = planSingle(items)
    const [added] = await Promise.all([
      addItems(run, context, { owner, thread: thread.id, items: plan }),
      appendTurn(run, thread, plan)
    ])
    const bytes = added + (ownBytes ?? 0)
    await run(
      'UPDATE gateway_responses_threads SET used_ms = greatest(used_ms, $2), bytes = bytes + $3 WHERE id = $1',
      [thread.id, Math.floor(nowMs()), bytes]
    )
    await addUsage(run, owner, { bytes, conversations: ownBytes === undefined ? 0 : 1 })
    if (maxBytesPerOwner > 0 && isBounded) {
      if (thread.bytes + bytes > maxBytesPerOwner) throw new Undo<SaveResult>('too_large')
      if ((await readUsedBytes(run, owner)) > maxBytesPerOwner) throw new Undo<NeedsRoom>({ kept: thread.id, bytes })
    }
    return 'saved'
  }

  /** Those of the items that the conversation has not from the same question asked before. */
  async function listNew(run: Run, thread: string, owner: Buffer, items: readonly StoredItem[]): Promise<StoredItem[]> {
    const rows = await Promise.all(items.map(({ id }) => findItem(run, thread, owner, id)))
    return items.filter(({ json }, index) => {
      const row = rows[index]
      return row === undefined || Buffer.compare(openItem(context, row).json, json) !== 0
    })
  }

  return {
    createConversation({ owner, conversation: { id, createdAt, metadata }, items }) {
      if (countBytes(items) + metadata.length > maxBytes) return Promise.resolve('too_large')
      if (!isId(id)) throw new Error('the id of a conversation cannot be stored')
      const hash = ownerOf(context, owner)
      return add(hash, async (run, isBounded) => {
        const now = Math.floor(nowMs())
        const sealed = sealMetadata(id, metadata)
        const created = await run(
          `INSERT INTO gateway_responses_threads
             (id, owner, owner_name, is_conversation, created_ms, used_ms, created_at, metadata)
           VALUES ($1, $2, $3, true, $4, $4, $5, $6) ON CONFLICT (id) DO NOTHING RETURNING id`,
          [id, hash, sealing.seal(Buffer.from(owner.name), OWNER_PLACE), now, createdAt, sealed]
        )
        // The same question twice.
        if (created.length === 0) return 'saved'
        const thread = { id, positions: 0, bytes: 0 }
        return store(run, { owner: hash, thread, items, isBounded, ownBytes: sealed.length })
      })
    },
    readConversation: id =>
      database.read(async run => {
        const row = await find(run, id)
        return row && openRow(row)
      }),
    updateConversation: ({ owner, id, metadata }) =>
      database.write(
        async run => {
          const row = await find(run, { owner, id }, 'FOR UPDATE')
          if (row === undefined) return undefined
          const sealed = sealMetadata(id, metadata)
          const bytes = sealed.length - row.metadata.length
          await run(
            `UPDATE gateway_responses_threads SET metadata = $2, used_ms = greatest(used_ms, $3), bytes = bytes + $4 WHERE id = $1`,
            [id, sealed, Math.floor(nowMs()), bytes]
          )
          await addUsage(run, ownerOf(context, owner), { bytes })
          return { id, createdAt: row.created_at, metadata }
        },
        lockForAdding(ownerOf(context, owner))
      ),
    async deleteConversation({ owner, id }) {
      const hash = ownerOf(context, owner)
      const isDeleted = await removal.markThread(hash, run => find(run, { owner, id }, 'FOR UPDATE'))
      if (isDeleted) await removal.removeThread(hash, id)
      return isDeleted
    },
    addConversationItems({ owner, id, items }) {
      if (countBytes(items) > maxBytes) return Promise.resolve('too_large')
      const hash = ownerOf(context, owner)
      return add(hash, async (run, isBounded) => {
        const thread = await find(run, { owner, id }, 'FOR UPDATE')
        if (thread === undefined) return 'conversation_not_found'
        const added = await listNew(run, thread.id, hash, items)
        return store(run, { owner: hash, thread, items: added, isBounded })
      })
    },
    listConversationItems: ({ page: { after, limit, order }, ...id }) =>
      database.read(async run => {
        const thread = await find(run, id)
        if (thread === undefined) return undefined
        const cursor =
          after === undefined ? undefined : await findItem(run, thread.id, ownerOf(context, id.owner), after)
        if (after !== undefined && cursor === undefined) return 'unknown_cursor'
        const rows =
          order === 'asc'
            ? await run<PageRow>(
                boundPage(`${PLACED} WHERE p.thread = $1 AND p.position > $2 ORDER BY p.position LIMIT $3`, 'ASC'),
                [thread.id, cursor?.position ?? -1, limit + 1, context.answerBytesMax]
              )
            : await run<PageRow>(
                boundPage(
                  `${PLACED} WHERE p.thread = $1 AND p.position < $2 ORDER BY p.position DESC LIMIT $3`,
                  'DESC'
                ),
                [thread.id, cursor?.position ?? Number.MAX_SAFE_INTEGER, limit + 1, context.answerBytesMax]
              )
        // A page of large items is shorter than asked for.
        const shown = rows
          .slice(0, limit)
          .flatMap(({ content, ...row }) => (content === null ? [] : [{ ...row, content }]))
        return { items: shown.map(row => openItem(context, row)), hasMore: shown.length < rows.length }
      }),
    readConversationItem: ({ itemId, ...id }) =>
      database.read(async run => {
        const thread = await find(run, id)
        const item = thread && (await findItem(run, thread.id, ownerOf(context, id.owner), itemId))
        return item && openItem(context, item)
      }),
    deleteConversationItem({ itemId, ...id }) {
      const owner = ownerOf(context, id.owner)
      return database.write(async run => {
        const thread = await find(run, id, 'FOR UPDATE')
        const item = thread && (await findItem(run, thread.id, owner, itemId))
        if (thread === undefined || item === undefined) return false
        await run('DELETE FROM gateway_responses_conversation_items WHERE thread = $1 AND position = $2', [
          thread.id,
          item.position
        ])
        await addUsage(run, owner, { bytes: -(await removePaths(run, [item.key])) })
        return true
      }, lockForRemoving(owner))
    },
    acquireConversation: ({ owner, id, holder, leaseMs }) =>
      database.write(async run => {
        const thread = await find(run, { owner, id })
        if (thread === undefined) return undefined
        const now = Math.floor(nowMs())
        // One statement decides: of two that ask at the same time, the second sees the first one's lease.
        const acquired = await run(
          `UPDATE gateway_responses_threads t SET holder = $4, held_until = $5
           WHERE ${IS_FOUND} AND (t.holder IS NULL OR t.holder = $4 OR t.held_until <= $6) RETURNING t.id`,
          [id, ownerOf(context, owner), readExpiry(context), cleanText(holder), now + leaseMs, now]
        )
        return acquired.length === 0 ? 'busy' : 'acquired'
      }),
    releaseConversation: ({ owner, id, holder }) =>
      database.write(async run => {
        if (!isId(id)) return
        await run(
          `UPDATE gateway_responses_threads t SET holder = NULL, held_until = NULL WHERE ${IS_FOUND} AND t.holder = $4`,
          [id, ownerOf(context, owner), readExpiry(context), cleanText(holder)]
        )
      })
  }
}

function countBytes(items: readonly StoredItem[]): number {
  return items.reduce((sum, { json }) => sum + json.length, 0)
}
