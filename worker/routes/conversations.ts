// The operations on conversations (memory.md 4).

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConversationRecord, OwnedId, SaveResult, StoredItem } from '../../shared/memory/store.ts'
import type { OperationHandlers } from '../http/mount-operations.ts'
import { sendJson } from '../http/respond.ts'
import { readItems, readMetadata } from '../memory/conversation-body.ts'
import { createConversationId } from '../memory/new-ids.ts'
import { readOwner } from '../memory/owner.ts'
import { checkQuery, readPage } from '../memory/read-query.ts'
import { writeShownItem } from '../memory/shown-item.ts'
import { notFound, readStoredId } from '../memory/stored-id.ts'
import { type DeletedConversation, writeConversation, writeItemList } from '../memory/stored-object.ts'
import { GatewayError } from '../normalized/index.ts'
import { wrongType } from '../protocols/shared/members/field.ts'
import { readJsonObject } from '../translation/json-body.ts'
import { sendItems } from './stored-responses.ts'
import type { StoredRuntime } from './worker-runtime.ts'

type ConversationOperation =
  | 'createConversation'
  | 'getConversation'
  | 'updateConversation'
  | 'deleteConversation'
  | 'listConversationItems'
  | 'createConversationItems'
  | 'getConversationItem'
  | 'deleteConversationItem'

export function createConversationHandlers({ store, clock }: StoredRuntime): OperationHandlers<ConversationOperation> {
  async function readRecord(owned: OwnedId): Promise<ConversationRecord> {
    const record = await store.readConversation(owned)
    if (record === undefined) throw notFound('conversation', owned.id)
    return record
  }

  return {
    async createConversation(request, reply) {
      const { context } = request
      checkQuery(context.query)
      const body = context.body.length === 0 ? {} : readJsonObject(context.body)
      const metadata = readMetadata(body)
      const items = (body.items ?? undefined) === undefined ? [] : readItems(context.body, body)
      const id = createConversationId()
      const conversation = { id, createdAt: Math.floor(clock.nowMs() / 1000), metadata }
      assertSaved(await store.createConversation({ owner: readOwner(context), conversation, items }), id)
      send(reply, writeConversation(conversation))
    },

    async getConversation(request, reply, { conversation_id }) {
      checkQuery(request.context.query)
      send(reply, writeConversation(await readRecord(readOwned(request, conversation_id))))
    },

    async updateConversation(request, reply, { conversation_id }) {
      checkQuery(request.context.query)
      const owned = readOwned(request, conversation_id)
      const body = readJsonObject(request.context.body)
      if (body.metadata === undefined) throw wrongType('metadata', 'an object', undefined)
      const updated = await store.updateConversation({ ...owned, metadata: readMetadata(body) })
      if (updated === undefined) throw notFound('conversation', owned.id)
      send(reply, writeConversation(updated))
    },

    async deleteConversation(request, reply, { conversation_id }) {
      checkQuery(request.context.query)
      const owned = readOwned(request, conversation_id)
      if (!(await store.deleteConversation(owned))) throw notFound('conversation', owned.id)
      send(reply, { id: owned.id, object: 'conversation.deleted', deleted: true } satisfies DeletedConversation)
    },

    async listConversationItems(request, reply, { conversation_id }) {
      const page = readPage(request.context.query)
      const owned = readOwned(request, conversation_id)
      const listed = await store.listConversationItems({ ...owned, page })
      if (listed === undefined) throw notFound('conversation', owned.id)
      sendItems(reply, listed)
    },

    async createConversationItems(request, reply, { conversation_id }) {
      const { context } = request
      checkQuery(context.query, ['include'])
      const owned = readOwned(request, conversation_id)
      const items = readItems(context.body, readJsonObject(context.body))
      assertSaved(await store.addConversationItems({ ...owned, items }), owned.id)
      sendJson(reply, 200, {}, writeItemList(items, false))
    },

    async getConversationItem(request, reply, { conversation_id, item_id }) {
      checkQuery(request.context.query, ['include'])
      const owned = readOwned(request, conversation_id)
      const itemId = readStoredId('item', item_id)
      const item = await store.readConversationItem({ ...owned, itemId })
      if (item === undefined) throw await explainMissingItem(owned, itemId)
      sendItem(reply, item)
    },

    async deleteConversationItem(request, reply, { conversation_id, item_id }) {
      checkQuery(request.context.query)
      const owned = readOwned(request, conversation_id)
      const itemId = readStoredId('item', item_id)
      if (!(await store.deleteConversationItem({ ...owned, itemId }))) throw await explainMissingItem(owned, itemId)
      send(reply, writeConversation(await readRecord(owned)))
    }
  }

  /** The error names the conversation where that is missing itself. */
  async function explainMissingItem(owned: OwnedId, itemId: string): Promise<GatewayError> {
    await readRecord(owned)
    return notFound('item', itemId)
  }
}

function readOwned({ context }: FastifyRequest, id: string | undefined): OwnedId {
  return { owner: readOwner(context), id: readStoredId('conversation', id) }
}

function assertSaved(result: SaveResult, id: string): void {
  if (result === 'saved') return
  if (result === 'too_large') {
    throw new GatewayError('request_entity_too_large', { message: 'The items are too large to be stored.' })
  }
  throw notFound('conversation', id)
}

function sendItem(reply: FastifyReply, item: StoredItem): void {
  sendJson(reply, 200, {}, writeShownItem(item))
}

function send(reply: FastifyReply, body: object): void {
  sendJson(reply, 200, {}, JSON.stringify(body))
}
