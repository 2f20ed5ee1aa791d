// A store of responses in memory, for tests of the code that uses one. It keeps no bounds and nothing expires.

import {
  type ConversationRecord,
  type History,
  isEnded,
  type OwnedId,
  type Owner,
  type ResponseRecord,
  type ResponseStore,
  type SaveResponse,
  type StoredItem,
  StoreUnavailable
} from '../../shared/memory/store.ts'

type UsedStore = Pick<
  ResponseStore,
  | 'saveResponse'
  | 'readResponse'
  | 'readHistory'
  | 'deleteResponse'
  | 'createConversation'
  | 'listConversationItems'
  | 'acquireConversation'
  | 'releaseConversation'
>

interface Conversation {
  record: ConversationRecord
  turns: StoredItem[][]
  holder?: string | undefined
}

export interface MemoryStore extends ResponseStore {
  /** Every operation is refused while it is true. */
  isDown: boolean
  /** All records of an owner, oldest first. */
  listRecords(): ResponseRecord[]
}

export function createMemoryStore({ bytesMax = Number.POSITIVE_INFINITY } = {}): MemoryStore {
  const responses = new Map<string, ResponseRecord>()
  const conversations = new Map<string, Conversation>()
  const keyOf = ({ owner, id }: OwnedId) => JSON.stringify([owner, id])

  function assertUp(): void {
    if (store.isDown) throw new StoreUnavailable('disconnected')
  }

  /** The turns of a chain; undefined where one of it is missing. */
  function readChain(owner: Owner, id: string | undefined): StoredItem[][] | undefined {
    if (id === undefined) return []
    const record = responses.get(keyOf({ owner, id }))
    const before = record && readChain(owner, record.previousResponseId)
    return before && record && [...before, [...record.input, ...record.output]]
  }

  function findItem(owner: Owner, id: string): StoredItem | undefined {
    for (const [key, record] of responses) {
      if (key !== keyOf({ owner, id: record.id })) continue
      const item = [...record.input, ...record.output].find(one => one.id === id)
      if (item !== undefined) return item
    }
    return undefined
  }

  const used: UsedStore = {
    async saveResponse({ owner, record }: SaveResponse) {
      assertUp()
      const bytes = [...record.input, ...record.output].reduce((sum, { json }) => sum + json.byteLength, 0)
      if (bytes > bytesMax) return 'too_large'
      const { conversationId } = record
      const conversation =
        conversationId === undefined ? undefined : conversations.get(keyOf({ owner, id: conversationId }))
      if (conversationId !== undefined && conversation === undefined) return 'conversation_not_found'
      responses.set(keyOf({ owner, id: record.id }), structuredClone(record))
      if (isEnded(record.status)) conversation?.turns.push(structuredClone([...record.input, ...record.output]))
      return 'saved'
    },
    async readResponse(id) {
      assertUp()
      return responses.get(keyOf(id))
    },
    async readHistory({ owner, previousResponseId, conversationId, itemIds }): Promise<History> {
      assertUp()
      const previous =
        previousResponseId === undefined ? undefined : responses.get(keyOf({ owner, id: previousResponseId }))
      const conversation =
        conversationId === undefined ? undefined : conversations.get(keyOf({ owner, id: conversationId }))
      if (conversationId !== undefined && conversation === undefined) {
        return { kind: 'not-found', what: 'conversation', id: conversationId }
      }
      const turns = conversation?.turns ?? readChain(owner, previousResponseId)
      if (previousResponseId !== undefined && (previous === undefined || turns === undefined)) {
        return { kind: 'not-found', what: 'response', id: previousResponseId }
      }
      if (previous !== undefined && !isEnded(previous.status)) {
        return { kind: 'running', what: 'response', id: previous.id }
      }
      const items: StoredItem[] = []
      for (const id of itemIds) {
        const item = findItem(owner, id)
        if (item === undefined) return { kind: 'not-found', what: 'item', id }
        items.push(item)
      }
      if (previous?.threadId !== undefined) return { kind: 'found', turns: [], threadId: previous.threadId, items }
      return { kind: 'found', turns: turns ?? [], items }
    },
    async deleteResponse(id) {
      assertUp()
      return responses.delete(keyOf(id))
    },
    async createConversation({ owner, conversation, items }) {
      assertUp()
      const turns = items.length === 0 ? [] : [[...items]]
      conversations.set(keyOf({ owner, id: conversation.id }), { record: conversation, turns })
      return 'saved'
    },
    async listConversationItems(id) {
      assertUp()
      const conversation = conversations.get(keyOf(id))
      return conversation && { items: conversation.turns.flat(), hasMore: false }
    },
    async acquireConversation({ holder, ...id }) {
      assertUp()
      const conversation = conversations.get(keyOf({ owner: id.owner, id: id.id }))
      if (conversation === undefined) return undefined
      if ((conversation.holder ?? holder) !== holder) return 'busy'
      conversation.holder = holder
      return 'acquired'
    },
    async releaseConversation({ holder, ...id }) {
      assertUp()
      const conversation = conversations.get(keyOf({ owner: id.owner, id: id.id }))
      if (conversation?.holder === holder) conversation.holder = undefined
    }
  }
  const store = Object.assign(used as ResponseStore, {
    isDown: false,
    listRecords: () => [...responses.values()]
  })
  return store
}
