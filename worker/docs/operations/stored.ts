// What the API document says of the operations on stored responses and conversations (memory.md 4).
import type { StoredOperationId } from '../../operations/stored.ts'
import type { OperationDetails, Parameter } from '../operation.ts'
import type { JsonSchema } from '../schema.ts'
import { reference } from './references.ts'

const inPath = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', minLength: 1 }
})
const inQuery = (name: string, description: string, schema: JsonSchema): Parameter => ({
  name,
  in: 'query',
  description,
  schema
})

const responseId = inPath('response_id', 'Id of a stored response.')
const conversationId = inPath('conversation_id', 'Id of a conversation.')
const itemId = inPath('item_id', 'Id of an item of the conversation.')
const include = inQuery('include', 'Accepted: nothing is left out without it.', {
  type: 'array',
  items: { type: 'string' }
})
const page: readonly Parameter[] = [
  inQuery('after', 'Id of the last item of the page before.', { type: 'string', minLength: 1 }),
  inQuery('limit', 'How many items a page has at most.', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
  inQuery('order', 'By the time at which the items were added.', { enum: ['asc', 'desc'], default: 'desc' }),
  include
]

/** Nothing is asked of a provider. */
const STATUSES = [400, 401, 404, 503]
const BODY_STATUSES = [...STATUSES, 408, 413, 415]

const describe = (description: string, name: string) => ({
  200: { description, content: { 'application/json': reference(name) } }
})
const list = describe('A page of items.', 'ItemList')
const conversation = describe('The conversation.', 'Conversation')

const metadata: JsonSchema = {
  type: ['object', 'null'],
  maxProperties: 16,
  propertyNames: { maxLength: 64 },
  additionalProperties: { type: 'string', maxLength: 512 }
}
const items: JsonSchema = {
  type: 'array',
  maxItems: 20,
  items: { type: 'object' },
  description: 'Items of Responses input, not references. One without an id gets one.'
}

export const storedDetails: Readonly<Record<StoredOperationId, OperationDetails>> = {
  getResponse: {
    parameters: [
      responseId,
      include,
      inQuery('stream', 'Send the events of the response.', { type: 'boolean', default: false }),
      inQuery('starting_after', 'With `stream`: only events with a greater `sequence_number`.', {
        type: 'integer',
        minimum: 0
      }),
      inQuery('include_obfuscation', 'Accepted: nothing is obfuscated.', { type: 'boolean' })
    ],
    responses: {
      200: {
        description:
          'The response, or server-sent events when `stream` is true: the schema is that of the data of one event.',
        content: {
          'application/json': reference('Response'),
          'text/event-stream': reference('ResponseStreamEvent')
        }
      }
    },
    statuses: STATUSES
  },
  deleteResponse: {
    parameters: [responseId],
    responses: describe('It is deleted; a response that continues it cannot be continued any more.', 'DeletedResponse'),
    statuses: STATUSES
  },
  cancelResponse: {
    parameters: [responseId],
    responses: describe('The response as it ended.', 'Response'),
    statuses: BODY_STATUSES
  },
  listInputItems: { parameters: [responseId, ...page], responses: list, statuses: STATUSES },
  createConversation: {
    body: {
      name: 'ConversationRequest',
      schema: { type: 'object', properties: { metadata, items: { ...items, type: ['array', 'null'] } } },
      isOptional: true
    },
    responses: conversation,
    statuses: BODY_STATUSES
  },
  getConversation: { parameters: [conversationId], responses: conversation, statuses: STATUSES },
  updateConversation: {
    parameters: [conversationId],
    body: {
      name: 'ConversationUpdateRequest',
      schema: { type: 'object', properties: { metadata }, required: ['metadata'] }
    },
    responses: conversation,
    statuses: BODY_STATUSES
  },
  deleteConversation: {
    parameters: [conversationId],
    responses: describe('It is deleted.', 'DeletedConversation'),
    statuses: STATUSES
  },
  listConversationItems: { parameters: [conversationId, ...page], responses: list, statuses: STATUSES },
  createConversationItems: {
    parameters: [conversationId, include],
    body: { name: 'ConversationItemsRequest', schema: { type: 'object', properties: { items }, required: ['items'] } },
    responses: describe('The added items.', 'ItemList'),
    statuses: BODY_STATUSES
  },
  getConversationItem: {
    parameters: [conversationId, itemId, include],
    responses: describe('The item.', 'ConversationItem'),
    statuses: STATUSES
  },
  deleteConversationItem: { parameters: [conversationId, itemId], responses: conversation, statuses: STATUSES }
}
