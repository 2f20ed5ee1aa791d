// Responses of the operations on stored responses and conversations (memory.md 4).
import { z } from 'zod'
import type { Conversation, DeletedConversation, DeletedResponse, ItemList } from '../../memory/stored-object.ts'
import type { JsonObject } from '../../normalized/index.ts'
import { count, describe, jsonObject, labels } from '../schema.ts'

describe<DeletedResponse>()(
  'DeletedResponse',
  z.strictObject({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) })
)

describe<Conversation>()(
  'Conversation',
  z.strictObject({ id: z.string(), object: z.literal('conversation'), created_at: count, metadata: labels })
)

describe<DeletedConversation>()(
  'DeletedConversation',
  z.strictObject({ id: z.string(), object: z.literal('conversation.deleted'), deleted: z.literal(true) })
)

describe<JsonObject>()(
  'ConversationItem',
  z.any().meta({ type: 'object' }) as unknown as z.ZodType<JsonObject>,
  'An item as its client or its provider wrote it, with an id.'
)

describe<ItemList>()(
  'ItemList',
  z.strictObject({
    object: z.literal('list'),
    data: z.array(jsonObject),
    first_id: z.string(),
    last_id: z.string(),
    has_more: z.boolean()
  }),
  'The first and the last id are empty where the list is.'
)
