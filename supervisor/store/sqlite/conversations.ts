// Conversations: their items in order, and who may add the next turn (memory.md 3 and 4).
import type {
  ConversationRecord,
  OwnedId,
  Owner,
  Page,
  PagedItems,
  ResponseStore,
  SaveResult,
  StoredItem
} from '../../../shared/memory/store.ts'
import type { CountBytes } from '../answer-size.ts'
import type { SqliteContext } from './context.ts'
import type { Items } from './items.ts'
import type { Owners } from './owners.ts'
import type { Removal } from './removal.ts'
import type { ThreadRow, Threads } from './threads.ts'
import { Undo } from './transactions.ts'

type Argument<Name extends keyof ResponseStore> = Parameters<ResponseStore[Name]>[0]

export interface Conversations {
  find(id: OwnedId): ThreadRow | undefined
  create(create: Argument<'createConversation'>): SaveResult
  read(id: OwnedId): ConversationRecord | undefined
  update(update: Argument<'updateConversation'>): ConversationRecord | undefined
  remove(id: OwnedId): boolean
  addItems(add: Argument<'addConversationItems'>): SaveResult
  /** Adds items that are stored already as one turn, and holds them. Returns the last place of the conversation. */
  appendTurn(thread: number, numbers: readonly number[]): number
  list(id: OwnedId, page: Page): PagedItems
  /** The items by turns, up to a place. */
  readTurns(thread: number, count: CountBytes, lastPosition?: number): StoredItem[][]
  readItem(item: Argument<'readConversationItem'>): StoredItem | undefined
  removeItem(item: Argument<'deleteConversationItem'>): boolean
  acquire(acquire: Argument<'acquireConversation'>): 'acquired' | 'busy' | undefined
  release(release: Argument<'releaseConversation'>): void
}

export interface ConversationsOptions {
  readonly context: SqliteContext
  readonly owners: Owners
  readonly threads: Threads
  readonly items: Items
  readonly removal: Removal
}

interface PlacedItem {
  readonly position: number
  readonly turn: number
  readonly number: number
  readonly id: string
  readonly content: Buffer
}

const PLACED = `SELECT position, turn, number, id, content FROM conversation_items
  JOIN items ON items.number = conversation_items.item JOIN contents ON contents.item = items.number
  WHERE conversation_items.thread = ?`
export function createConversations(options: ConversationsOptions): Conversations {
  const { context, owners, threads, items, removal } = options
  const { database, sealing, ledger, nowMs, maxBytes, answerBytesMax } = context
  const insertPlace = database.prepare<[number, number, number, number]>(
    'INSERT INTO conversation_items (thread, position, turn, item) VALUES (?, ?, ?, ?)'
  )
  const deletePlace = database.prepare<[number, number]>(
    'DELETE FROM conversation_items WHERE thread = ? AND position = ?'
  )
  const takePositions = database
    .prepare<[number, number], number>(
      'UPDATE threads SET positions = positions + ? WHERE number = ? RETURNING positions'
    )
    .pluck()
  const setMetadata = database.prepare<[Buffer, number]>('UPDATE threads SET metadata = ? WHERE number = ?')
  const setHolder = database.prepare<[string | null, number | null, number]>(
    'UPDATE threads SET holder = ?, held_until = ? WHERE number = ?'
  )
  const selectTurns = database.prepare<[number, number], PlacedItem>(`${PLACED} AND position <= ? ORDER BY position`)
  const selectAfter = database.prepare<[number, number, number], PlacedItem>(
    `${PLACED} AND position > ? ORDER BY position LIMIT ?`
  )
  const selectBefore = database.prepare<[number, number, number], PlacedItem>(
    `${PLACED} AND position < ? ORDER BY position DESC LIMIT ?`
  )
  const selectItems = database
    .prepare<[number, string], number>('SELECT number FROM items WHERE owner = ? AND id = ? ORDER BY number DESC')
    .pluck()
  const selectPosition = database
    .prepare<[number, number], number>('SELECT max(position) FROM conversation_items WHERE item = ? AND thread = ?')
    .pluck()

  /** The newest place of an item with this id. */
  function findPlace(
    thread: ThreadRow,
    id: string
  ): { readonly position: number; readonly number: number } | undefined {
    for (const number of selectItems.iterate(thread.owner, id)) {
      const position: number | null | undefined = selectPosition.get(number, thread.number)
      if (position !== null && position !== undefined) return { position, number }
    }
    return undefined
  }

  const sealMetadata = (id: string, metadata: Uint8Array) => sealing.seal(metadata, `conversation ${id}`)

  function find({ owner, id }: { readonly owner: Owner; readonly id: string }): ThreadRow | undefined {
    const thread = threads.find(id)
    if (thread?.is_conversation !== 1) return undefined
    return thread.owner === owners.find(owner) ? thread : undefined
  }

  function appendTurn(thread: number, numbers: readonly number[]): number {
    const end = takePositions.get(numbers.length, thread) ?? 0
    const turn = end - numbers.length
    for (const [index, number] of numbers.entries()) {
      insertPlace.run(thread, turn + index, turn, number)
      items.hold(number)
    }
    return end - 1
  }

  /** Stores items for the conversation alone. */
  function store(place: { readonly owner: number; readonly thread: number }, added: readonly StoredItem[]): void {
    const { first, count } = items.addOutput(place, added)
    const numbers = Array.from({ length: count }, (_, index) => first + index)
    appendTurn(place.thread, numbers)
    // Only the conversation holds them.
    for (const number of numbers) items.release(number)
    ledger.flush()
    const { maxBytesPerOwner } = context
    const isFull = maxBytesPerOwner > 0 && (threads.read(place.thread)?.bytes ?? 0) > maxBytesPerOwner
    if (isFull || !removal.makeRoom(place)) throw new Undo<SaveResult>('too_large')
  }

  /** Whether the conversation has the same item, from the same question asked before. */
  function isThere(thread: ThreadRow, { id, json }: StoredItem): boolean {
    const found = findPlace(thread, id)
    return found !== undefined && Buffer.compare(items.read({ number: found.number, id }).json, json) === 0
  }

  const open = ({ id, metadata, created_at }: ThreadRow): ConversationRecord => ({
    id,
    createdAt: created_at,
    metadata: metadata === null ? new Uint8Array() : sealing.open(metadata, `conversation ${id}`)
  })

  return {
    find,
    create({ owner, conversation: { id, createdAt, metadata }, items: first }) {
      if (countBytes(first) + metadata.length > maxBytes) return 'too_large'
      // The same question twice.
      if (find({ owner, id }) !== undefined) return 'saved'
      const place = { owner: owners.ensure(owner), thread: 0 }
      place.thread = threads.create({
        id,
        owner: place.owner,
        isConversation: true,
        createdAt,
        metadata: sealMetadata(id, metadata)
      })
      ledger.charge(place, { conversations: 1 })
      store(place, first)
      return 'saved'
    },
    read(id) {
      const thread = find(id)
      return thread && open(thread)
    },
    update({ metadata, ...id }) {
      const thread = find(id)
      if (thread === undefined) return undefined
      setMetadata.run(sealMetadata(thread.id, metadata), thread.number)
      threads.use(thread.number)
      removal.noteRemoved()
      return { id: thread.id, createdAt: thread.created_at, metadata }
    },
    remove(id) {
      const thread = find(id)
      if (thread === undefined) return false
      removal.removeThread(thread)
      return true
    },
    addItems({ items: added, ...id }) {
      if (countBytes(added) > maxBytes) return 'too_large'
      const thread = find(id)
      if (thread === undefined) return 'conversation_not_found'
      threads.use(thread.number)
      store(
        { owner: thread.owner, thread: thread.number },
        added.filter(item => !isThere(thread, item))
      )
      return 'saved'
    },
    appendTurn,
    list(id, { after, limit, order }) {
      const thread = find(id)
      if (thread === undefined) return undefined
      const cursor = after === undefined ? undefined : findPlace(thread, after)
      if (after !== undefined && cursor === undefined) return 'unknown_cursor'
      const rows =
        order === 'asc'
          ? selectAfter.iterate(thread.number, cursor?.position ?? -1, limit + 1)
          : selectBefore.iterate(thread.number, cursor?.position ?? Number.MAX_SAFE_INTEGER, limit + 1)
      const page: StoredItem[] = []
      let bytes = 0
      for (const row of rows) {
        // A page of large items is shorter than asked for.
        if (page.length === limit || bytes > answerBytesMax) return { items: page, hasMore: true }
        page.push(items.open(row))
        bytes += row.content.length
      }
      return { items: page, hasMore: false }
    },
    readTurns(thread, count, lastPosition = Number.MAX_SAFE_INTEGER) {
      const turns = new Map<number, StoredItem[]>()
      for (const row of selectTurns.iterate(thread, lastPosition)) {
        const turn = turns.get(row.turn) ?? []
        turns.set(row.turn, turn)
        turn.push(...count([items.open(row)]))
      }
      return [...turns.values()]
    },
    readItem({ itemId, ...id }) {
      const thread = find(id)
      const found = thread && findPlace(thread, itemId)
      return found && items.read({ number: found.number, id: itemId })
    },
    removeItem({ itemId, ...id }) {
      const thread = find(id)
      const found = thread && findPlace(thread, itemId)
      if (thread === undefined || found === undefined) return false
      deletePlace.run(thread.number, found.position)
      items.release(found.number)
      removal.noteRemoved()
      return true
    },
    acquire({ holder, leaseMs, ...id }) {
      const thread = find(id)
      if (thread === undefined) return undefined
      const isFree = thread.holder === null || thread.holder === holder || (thread.held_until ?? 0) <= nowMs()
      if (!isFree) return 'busy'
      setHolder.run(holder, nowMs() + leaseMs, thread.number)
      return 'acquired'
    },
    release({ holder, ...id }) {
      const thread = find(id)
      if (thread?.holder === holder) setHolder.run(null, null, thread.number)
    }
  }
}

function countBytes(items: readonly StoredItem[]): number {
  return items.reduce((sum, { json }) => sum + json.length, 0)
}
