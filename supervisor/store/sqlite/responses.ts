// Responses: written, read, continued and deleted (memory.md 2 and 3).
import {
  type History,
  type HistoryQuestion,
  isEnded,
  type OwnedId,
  type Page,
  type PagedItems,
  type ResponseRecord,
  type ResponseStatus,
  type SaveResponse,
  type SaveResult,
  type StoredItem
} from '../../../shared/memory/store.ts'
import { type CountBytes, createByteCount } from '../answer-size.ts'
import { cutPage } from '../item-pages.ts'
import type { Place, SqliteContext } from './context.ts'
import type { Conversations } from './conversations.ts'
import type { Events } from './events.ts'
import type { ItemRange, Items, NumberedItem } from './items.ts'
import type { Owners } from './owners.ts'
import type { Removal } from './removal.ts'
import { LOST, type ResponseRow, type ResponseRows } from './response-rows.ts'
import type { ThreadRow, Threads } from './threads.ts'
import { Undo } from './transactions.ts'

export interface Responses {
  save(save: SaveResponse): SaveResult
  read(id: OwnedId): ResponseRecord | undefined
  readHistory(question: HistoryQuestion): History
  remove(id: OwnedId): boolean
  listInput(id: OwnedId, page: Page): PagedItems
  /** The responses of a thread, oldest first; fewer where they are large. */
  readThread(id: string, limit: number): ResponseRecord[]
}

export interface ResponsesOptions {
  readonly context: SqliteContext
  readonly owners: Owners
  readonly threads: Threads
  readonly items: Items
  readonly rows: ResponseRows
  readonly events: Events
  readonly conversations: Conversations
  readonly removal: Removal
}

/** Written for a new response and when one is replaced. */
const CONTENT_COLUMNS = [
  'last_position',
  'status',
  'model',
  'upstream_thread',
  'input',
  'first_output',
  'outputs',
  'last_sequence_number',
  'lease_until',
  'body_bytes'
] as const
/** Written once. */
const FIXED_COLUMNS = [
  'id',
  'owner',
  'thread',
  'previous',
  'previous_id',
  'is_in_conversation',
  'created_at',
  'is_background'
] as const
type Column = (typeof CONTENT_COLUMNS)[number] | (typeof FIXED_COLUMNS)[number]
type Values = Readonly<Record<string, string | number | null>>

const CHAIN = `WITH RECURSIVE chain (number, previous, depth) AS (
    SELECT number, previous, 0 FROM responses WHERE number = ?
    UNION ALL
    SELECT responses.number, responses.previous, depth + 1
    FROM chain JOIN responses ON responses.number = chain.previous
  ) SELECT responses.* FROM chain JOIN responses ON responses.number = chain.number ORDER BY depth DESC`

export function createResponses(options: ResponsesOptions): Responses {
  const { context, owners, threads, items, rows, events, conversations, removal } = options
  const { database, sealing, ledger, nowMs, maxBytes, maxBytesPerOwner, answerBytesMax } = context
  const all = [...FIXED_COLUMNS, ...CONTENT_COLUMNS]
  const insert = database.prepare<[Values]>(
    `INSERT INTO responses (${all.join(', ')}) VALUES (${all.map(name => `@${name}`).join(', ')})`
  )
  const replace = database.prepare<[Values]>(
    `UPDATE responses SET ${CONTENT_COLUMNS.map(name => `${name} = @${name}`).join(', ')} WHERE number = @number`
  )
  const writeBody = database.prepare<[number, Buffer]>(
    'INSERT OR REPLACE INTO bodies (response, content) VALUES (?, ?)'
  )
  const selectChain = database.prepare<[number], ResponseRow>(CHAIN)
  /** Of several items with one id the newest is meant. */
  const selectItems = database.prepare<[number, string], NumberedItem & { thread: number }>(
    'SELECT number, id, thread FROM items WHERE owner = ? AND id = ? ORDER BY number DESC'
  )

  function findItem(owner: number | undefined, id: string): StoredItem | undefined {
    if (owner === undefined) return undefined
    for (const item of selectItems.iterate(owner, id)) {
      // A node may be in use after the thread that stored it was removed.
      if (threads.isAlive(item.thread) || threads.read(item.thread) === undefined) return items.read(item)
    }
    return undefined
  }

  function save({ owner, record, leaseMs, events: added = [], isUpdate }: SaveResponse): SaveResult {
    if (countRecordBytes(record) > maxBytes) return 'too_large'
    const { conversationId } = record
    const conversation = conversationId === undefined ? undefined : conversations.find({ owner, id: conversationId })
    if (conversationId !== undefined && conversation === undefined) return 'conversation_not_found'
    const old = rows.find({ owner, id: record.id })
    if (old === undefined && isUpdate === true) return 'deleted'
    // The same question twice.
    if (old !== undefined && isEnded(old.status)) return 'saved'
    const number = write({ save: { owner, record, leaseMs }, old, conversation })
    const row = old ?? { number, id: record.id, last_event: -1, ...placeOf(number) }
    events.add(row, added)
    ledger.flush()
    const isThreadFull = maxBytesPerOwner > 0 && (threads.read(row.thread)?.bytes ?? 0) > maxBytesPerOwner
    if (isThreadFull || !removal.makeRoom(row)) throw new Undo<SaveResult>('too_large')
    return 'saved'
  }

  const selectPlace = database.prepare<[number], Place>('SELECT owner, thread FROM responses WHERE number = ?')

  function placeOf(number: number): Place {
    const place = selectPlace.get(number)
    if (place === undefined) throw new Error(`the response ${number} was not written`)
    return place
  }

  /** Writes the row with its content, and returns its number. */
  function write({
    save: { owner, record, leaseMs },
    old,
    conversation
  }: {
    save: SaveResponse
    old: ResponseRow | undefined
    conversation: ThreadRow | undefined
  }): number {
    const previousId = record.previousResponseId
    const previous = previousId === undefined ? undefined : rows.find({ owner, id: previousId })
    const ownerNumber = old?.owner ?? owners.ensure(owner)
    const thread =
      old?.thread ??
      conversation?.number ??
      previous?.thread ??
      threads.create({ id: record.id, owner: ownerNumber, isConversation: false, createdAt: record.createdAt })
    const place = { owner: ownerNumber, thread }
    // What both have is held before the old record lets go of it. The items of a conversation have ids of their own, so its inputs
    // share no nodes.
    const ownerKey = conversation === undefined ? owners.hash(owner) : undefined
    const input = items.addInput({ ...place, items: record.input, ownerKey })
    const output = items.addOutput(place, record.output)
    const values = {
      last_position: conversation === undefined ? null : addToConversation(thread, record.status, { input, output }),
      status: record.status,
      model: record.model,
      upstream_thread: record.threadId ?? null,
      input: input ?? null,
      first_output: output.first,
      outputs: output.count,
      last_sequence_number: record.lastSequenceNumber,
      lease_until: leaseMs === undefined || isEnded(record.status) ? null : nowMs() + leaseMs,
      body_bytes: record.body.length
    } satisfies Partial<Record<Column, unknown>>
    threads.use(thread, record.model)
    const body = sealing.seal(record.body, `response ${record.id}`)
    if (old !== undefined) {
      replace.run({ ...values, number: old.number })
      if (old.input !== null) items.release(old.input)
      items.releaseRange({ first: old.first_output, count: old.outputs })
      writeBody.run(old.number, body)
      ledger.charge(place, { bytes: record.body.length - old.body_bytes })
      return old.number
    }
    const number = Number(
      insert.run({
        ...values,
        ...place,
        id: record.id,
        previous: previousId === undefined ? null : (previous?.number ?? LOST),
        previous_id: previousId ?? null,
        is_in_conversation: conversation === undefined ? 0 : 1,
        created_at: record.createdAt,
        is_background: record.isBackground ? 1 : 0
      }).lastInsertRowid
    )
    writeBody.run(number, body)
    ledger.charge(place, { bytes: record.body.length, responses: 1 })
    return number
  }

  /** Returns the last place of the conversation that the response has seen or added. */
  function addToConversation(
    thread: number,
    status: ResponseStatus,
    { input, output }: { input: number | undefined; output: ItemRange }
  ): number {
    const outputs = Array.from({ length: output.count }, (_, index) => output.first + index)
    const inputs = items.listInput(input).map(({ number }) => number)
    return conversations.appendTurn(thread, isInConversation(status) ? [...inputs, ...outputs] : [])
  }

  const readTurn = (row: ResponseRow): StoredItem[] => [
    ...items.readInput(row.input ?? undefined),
    ...items.readRange({ first: row.first_output, count: row.outputs })
  ]

  /** The turns of a chain; undefined where one of its responses was deleted. */
  function readChain(newest: ResponseRow, count: CountBytes): StoredItem[][] | undefined {
    const chain = selectChain.all(newest.number)
    const first = chain[0]
    if (first === undefined || first.previous !== null) return undefined
    const read = (row: ResponseRow) => count(readTurn(row))
    if (first.is_in_conversation === 0) return chain.map(read)
    const conversation = conversations.readTurns(first.thread, count, first.last_position ?? undefined)
    return [...conversation, ...(isInConversation(first.status) ? chain.slice(1) : chain).map(read)]
  }

  function readPrevious(owner: HistoryQuestion['owner'], id: string, count: CountBytes): History {
    const notFound = { kind: 'not-found', what: 'response', id } as const
    const row = rows.find({ owner, id })
    if (row === undefined) return notFound
    if (!isEnded(rows.statusOf(row))) return { ...notFound, kind: 'running' }
    if (row.upstream_thread !== null) return { kind: 'found', turns: [], threadId: row.upstream_thread, items: [] }
    const turns = readChain(row, count)
    return turns === undefined ? notFound : { kind: 'found', turns, items: [] }
  }

  function readConversation(owner: HistoryQuestion['owner'], id: string, count: CountBytes): History {
    const thread = conversations.find({ owner, id })
    if (thread === undefined) return { kind: 'not-found', what: 'conversation', id }
    return { kind: 'found', turns: conversations.readTurns(thread.number, count), items: [] }
  }

  return {
    save,
    read(id) {
      const row = rows.find(id)
      return row && rows.read(row)
    },
    readHistory({ owner, previousResponseId, conversationId, itemIds }) {
      let history: History = { kind: 'found', turns: [], items: [] }
      const count = createByteCount(answerBytesMax)
      if (previousResponseId !== undefined) history = readPrevious(owner, previousResponseId, count)
      else if (conversationId !== undefined) history = readConversation(owner, conversationId, count)
      if (history.kind !== 'found') return history
      const ownerNumber = itemIds.length === 0 ? undefined : owners.find(owner)
      const referenced: StoredItem[] = []
      for (const id of itemIds) {
        const item = findItem(ownerNumber, id)
        if (item === undefined) return { kind: 'not-found', what: 'item', id }
        referenced.push(...count([item]))
      }
      return { ...history, items: referenced }
    },
    remove(id) {
      const row = rows.find(id)
      if (row === undefined) return false
      removal.removeResponse(row)
      const thread = threads.read(row.thread)
      const isEmpty = thread?.is_conversation === 0 && rows.listThread(row.thread, 1).length === 0
      if (isEmpty) removal.removeThread(thread)
      return true
    },
    listInput(id, page) {
      const row = rows.find(id)
      if (row === undefined) return undefined
      const cut = cutPage(items.listInput(row.input ?? undefined), page)
      return cut === 'unknown_cursor' ? cut : { items: cut.entries.map(items.read), hasMore: cut.hasMore }
    },
    readThread(id, limit) {
      const thread = threads.find(id)
      const found: ResponseRecord[] = []
      let bytes = 0
      for (const row of thread === undefined ? [] : rows.listThread(thread.number, limit)) {
        if (bytes > answerBytesMax) break
        const record = rows.read(row)
        found.push(record)
        bytes += countRecordBytes(record)
      }
      return found
    }
  }
}

/** Whether the conversation gets the items of such a response: one that failed is asked again, and would be there twice. */
function isInConversation(status: ResponseStatus): boolean {
  return status === 'completed' || status === 'incomplete'
}

/** A response with its own input. */
function countRecordBytes({ input, output, body }: ResponseRecord): number {
  return [...input, ...output].reduce((sum, { json }) => sum + json.length, body.length)
}
