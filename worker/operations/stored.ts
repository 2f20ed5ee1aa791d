// The operations on what the memory of Responses stores (memory.md 4). They are served only with a store; without one their paths do not
// exist (responses.md 1).

import type { Operation } from './operation.ts'

const stored = {
  prefixes: ['', '/v1', '/v2'],
  family: 'completions',
  isModelRequest: false,
  needsStore: true
} as const
const response = { ...stored, tag: 'OpenAI / Responses' } as const
const conversation = { ...stored, tag: 'OpenAI / Conversations' } as const

export const storedOperations = [
  {
    ...response,
    id: 'getResponse',
    method: 'GET',
    path: '/responses/{response_id}',
    summary: 'Get a response',
    description:
      'With `stream=true` its events are sent once more, and those of a running background response as they come.'
  },
  {
    ...response,
    id: 'deleteResponse',
    method: 'DELETE',
    path: '/responses/{response_id}',
    summary: 'Delete a response'
  },
  {
    ...response,
    id: 'cancelResponse',
    method: 'POST',
    path: '/responses/{response_id}/cancel',
    summary: 'Cancel a response that runs in the background'
  },
  {
    ...response,
    id: 'listInputItems',
    method: 'GET',
    path: '/responses/{response_id}/input_items',
    summary: 'List the input items of a response',
    description: 'The items of its own request; those of earlier turns are listed with their own response.'
  },
  {
    ...conversation,
    id: 'createConversation',
    method: 'POST',
    path: '/conversations',
    summary: 'Create a conversation'
  },
  {
    ...conversation,
    id: 'getConversation',
    method: 'GET',
    path: '/conversations/{conversation_id}',
    summary: 'Get a conversation'
  },
  {
    ...conversation,
    id: 'updateConversation',
    method: 'POST',
    path: '/conversations/{conversation_id}',
    summary: 'Replace the metadata of a conversation'
  },
  {
    ...conversation,
    id: 'deleteConversation',
    method: 'DELETE',
    path: '/conversations/{conversation_id}',
    summary: 'Delete a conversation with its items'
  },
  {
    ...conversation,
    id: 'listConversationItems',
    method: 'GET',
    path: '/conversations/{conversation_id}/items',
    summary: 'List the items of a conversation'
  },
  {
    ...conversation,
    id: 'createConversationItems',
    method: 'POST',
    path: '/conversations/{conversation_id}/items',
    summary: 'Add items to a conversation'
  },
  {
    ...conversation,
    id: 'getConversationItem',
    method: 'GET',
    path: '/conversations/{conversation_id}/items/{item_id}',
    summary: 'Get an item of a conversation'
  },
  {
    ...conversation,
    id: 'deleteConversationItem',
    method: 'DELETE',
    path: '/conversations/{conversation_id}/items/{item_id}',
    summary: 'Delete an item of a conversation'
  }
] as const satisfies readonly Operation[]

export type StoredOperationId = (typeof storedOperations)[number]['id']

/** The operations that are served: without a store those that need one do not exist. */
export function selectServed(
  operations: readonly Operation[],
  { hasStore }: { hasStore: boolean }
): readonly Operation[] {
  return hasStore ? operations : operations.filter(({ needsStore }) => needsStore !== true)
}
