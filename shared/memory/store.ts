// What the memory of Responses asks of its store, and the records that it holds (memory.md 2 to 4). The engines of the store process and
// the connection of a worker to it have this interface, so that the code that uses the store does not know where it is.

/** Whose a record is. Another owner gets the same answer as for a record that does not exist. */
export interface Owner {
  /** The name of the client's key; '' without authentication. */
  readonly name: string
  /** SHA-256 in hex of the client's own provider credential, under pass-through. The store keeps a keyed hash of it. */
  readonly credential?: string | undefined
}

/** An item of a conversation. */
export interface StoredItem {
  /** As the client or the provider wrote it, or given by the gateway; then `json` has no `id`. */
  readonly id: string
  /** The item in UTF-8, byte for byte as it was sent or received. */
  readonly json: Uint8Array
}

export const RESPONSE_STATUSES = ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] as const
export type ResponseStatus = (typeof RESPONSE_STATUSES)[number]

/** Statuses after which a response changes no more. */
export function isEnded(status: ResponseStatus): boolean {
  return status !== 'queued' && status !== 'in_progress'
}

export interface ResponseRecord {
  /** `resp_` and 24 random bytes in base64url. */
  readonly id: string
  /** Seconds since the epoch. */
  readonly createdAt: number
  readonly status: ResponseStatus
  /** The model as the client sees it. */
  readonly model: string
  readonly previousResponseId?: string | undefined
  readonly conversationId?: string | undefined
  /** The thread of the native upstream that has the history of this chain (decisions.md 89). */
  readonly threadId?: string | undefined
  readonly isBackground: boolean
  /** The items of this request alone; those of earlier turns are in their own records. */
  readonly input: readonly StoredItem[]
  readonly output: readonly StoredItem[]
  /** JSON of the response object, its `output` empty. */
  readonly body: Uint8Array
  /** The number of the last event of its stream. */
  readonly lastSequenceNumber: number
}

export interface OwnedId {
  readonly owner: Owner
  readonly id: string
}

export interface SaveResponse {
  readonly owner: Owner
  readonly record: ResponseRecord
  /** How long the runner of a response that has not ended may be silent, in ms; a reader then finds it `failed`. */
  readonly leaseMs?: number | undefined
  /** Events of its stream that become readable together with the record: no reader sees the end of a response without its last event. */
  readonly events?: readonly StoredEvent[] | undefined
  /** The record was stored before: where it was deleted since, nothing is stored. */
  readonly isUpdate?: true
}

/**
 * `too_large`: the record, or what its owner has beside it, is above the bounds; nothing was stored. `conversation_not_found`: it was deleted
 * while the response ran; nothing was stored. `deleted`: the same of the response itself, for an update only.
 */
export type SaveResult = 'saved' | 'too_large' | 'conversation_not_found' | 'deleted'

export interface HistoryQuestion {
  readonly owner: Owner
  readonly previousResponseId?: string | undefined
  readonly conversationId?: string | undefined
  /** Ids of `item_reference` items: of the input and output of any response, and of conversations of the owner. */
  readonly itemIds: readonly string[]
}

export type History =
  | {
      readonly kind: 'found'
      /** The items of the chain or of the conversation, oldest turn first, input before output. Empty for a thread. */
      readonly turns: readonly (readonly StoredItem[])[]
      readonly threadId?: string | undefined
      /** The referenced items, in the order of `itemIds`. */
      readonly items: readonly StoredItem[]
    }
  /** `running`: the response to continue has not ended. */
  | { readonly kind: 'not-found' | 'running'; readonly what: 'response' | 'conversation' | 'item'; readonly id: string }

/** An event of a stream. */
export interface StoredEvent {
  readonly sequenceNumber: number
  /** The event's JSON. */
  readonly json: Uint8Array
}

export interface AppendEvents extends OwnedId {
  /**
   * May be empty: then only the lease is extended. Those whose numbers are stored already are left out: a call is repeated where its
   * answer was lost.
   */
  readonly events: readonly StoredEvent[]
  readonly leaseMs: number
  /** A queued response has begun. */
  readonly status?: 'in_progress'
}

export interface ReadEvents extends OwnedId {
  /** Events with a greater number only; -1 for all. */
  readonly after: number
}

/** Many events come in several pages; a page that is not the last has the status `in_progress`, so that its reader asks again. */
export interface EventPage {
  readonly events: readonly StoredEvent[]
  readonly status: ResponseStatus
}

export interface Page {
  /** The id of an item. */
  readonly after?: string | undefined
  readonly limit: number
  readonly order: 'asc' | 'desc'
}

export interface ItemPage {
  readonly items: readonly StoredItem[]
  readonly hasMore: boolean
}

/** `unknown_cursor`: `after` is no item of the list. Undefined: there is no such list. */
export type PagedItems = ItemPage | 'unknown_cursor' | undefined

export interface ConversationRecord {
  /** `conv_` and 24 random bytes in base64url. */
  readonly id: string
  /** Seconds since the epoch. */
  readonly createdAt: number
  /** JSON of the metadata. */
  readonly metadata: Uint8Array
}

/** A chain of responses with all its branches, or a conversation. */
export interface ThreadSummary {
  /** The id of the first response, or of the conversation. */
  readonly id: string
  readonly kind: 'responses' | 'conversation'
  readonly owner: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
  /** How many responses it has. */
  readonly turns: number
  readonly bytes: number
  /** The model of the newest response; '' where there is none. */
  readonly model: string
}

export interface StoreTotals {
  readonly responses: number
  readonly conversations: number
  readonly bytes: number
}

/** Every method rejects with `StoreUnavailable` where the store gives no answer in time. */
export interface ResponseStore {
  /**
   * Writes a response, or replaces one of the same id that has not ended. When it ends `completed` or `incomplete`, its items are appended to
   * its conversation; a failed or cancelled turn leaves the conversation as it was, because its client asks again.
   */
  saveResponse(save: SaveResponse): Promise<SaveResult>
  /** One whose lease has run out has the status `failed`; its `body` and its stream are as the runner left them, without an end. */
  readResponse(id: OwnedId): Promise<ResponseRecord | undefined>
  readHistory(question: HistoryQuestion): Promise<History>
  /** Deletes the record and its items; a response that continues it cannot be continued any more. False: there is none. */
  deleteResponse(id: OwnedId): Promise<boolean>
  listInputItems(list: OwnedId & { readonly page: Page }): Promise<PagedItems>

  /** Adds events of a response that runs, and extends its lease. `isCancelled`: its client wants it to end, or has deleted it. */
  appendEvents(append: AppendEvents): Promise<{ readonly isCancelled: boolean }>
  readEvents(read: ReadEvents): Promise<EventPage | undefined>
  /** Marks a running background response. Undefined: there is no such response. */
  cancelResponse(id: OwnedId): Promise<'marked' | 'ended' | 'not_background' | undefined>

  createConversation(create: {
    readonly owner: Owner
    readonly conversation: ConversationRecord
    readonly items: readonly StoredItem[]
  }): Promise<SaveResult>
  readConversation(id: OwnedId): Promise<ConversationRecord | undefined>
  updateConversation(update: OwnedId & { readonly metadata: Uint8Array }): Promise<ConversationRecord | undefined>
  deleteConversation(id: OwnedId): Promise<boolean>
  addConversationItems(add: OwnedId & { readonly items: readonly StoredItem[] }): Promise<SaveResult>
  listConversationItems(list: OwnedId & { readonly page: Page }): Promise<PagedItems>
  readConversationItem(item: OwnedId & { readonly itemId: string }): Promise<StoredItem | undefined>
  deleteConversationItem(item: OwnedId & { readonly itemId: string }): Promise<boolean>
  /** Makes `holder` the only one that may add a turn, for `leaseMs`; the same holder may extend it. */
  acquireConversation(
    acquire: OwnedId & { readonly holder: string; readonly leaseMs: number }
  ): Promise<'acquired' | 'busy' | undefined>
  releaseConversation(release: OwnedId & { readonly holder: string }): Promise<void>

  /** All threads of all owners, the newest first, for operators. `before`: the cursor of the page before. */
  listThreads(list: { readonly before?: string | undefined; readonly limit: number }): Promise<{
    readonly threads: readonly ThreadSummary[]
    readonly cursor?: string | undefined
  }>
  /** The responses of a thread, oldest first, for operators. */
  readThread(thread: { readonly id: string; readonly limit: number }): Promise<readonly ResponseRecord[]>
  totals(): Promise<StoreTotals>
}

/** The operations by name, as they go over the socket of the store process. */
export const STORE_OPERATIONS = [
  'saveResponse',
  'readResponse',
  'readHistory',
  'deleteResponse',
  'listInputItems',
  'appendEvents',
  'readEvents',
  'cancelResponse',
  'createConversation',
  'readConversation',
  'updateConversation',
  'deleteConversation',
  'addConversationItems',
  'listConversationItems',
  'readConversationItem',
  'deleteConversationItem',
  'acquireConversation',
  'releaseConversation',
  'listThreads',
  'readThread',
  'totals'
] as const satisfies readonly (keyof ResponseStore)[]
export type StoreOperation = (typeof STORE_OPERATIONS)[number]

/** Under it the taxonomy of failed requests finds the code of an error (`worker/normalized/error.ts`). */
const errorCode: unique symbol = Symbol.for('gateway.error-code')

/** The store gave no answer: it is down, locked, full or too slow. */
export class StoreUnavailable extends Error {
  readonly [errorCode] = 'store_unavailable'
  /** A fixed word for logs and metrics. */
  readonly reason: 'disconnected' | 'timeout' | 'overloaded' | 'failed'

  constructor(reason: StoreUnavailable['reason'], cause?: unknown) {
    super(`the store of responses gave no answer: ${reason}`, { cause })
    this.name = 'StoreUnavailable'
    this.reason = reason
  }
}

/** The form of the ids that this store gives to responses; no thread of an upstream has it. */
export const STORED_RESPONSE_ID = /^resp_[A-Za-z0-9_-]{32}$/
