// Conversations that the upstream stores: only v2 has them, and only Responses requests use them (responses.md 6).

import { invalidRequest, isJsonObject, type JsonObject, type NormalizedRequest } from '../../normalized/index.ts'
import type { ModelRequest } from '../client-face.ts'

const THREAD_ID = /^[A-Za-z0-9._:-]{1,256}$/

/**
 * The v2 `storage` member, from the request and its additional field; undefined for a conversation that is not stored.
 * Raises `invalid_request` for the id of a response that holds no thread id.
 */
export function planStorage(request: NormalizedRequest, given: JsonObject | undefined): JsonObject | undefined {
  const { storedConversationId, store } = request.conversation ?? {}
  if (storedConversationId === undefined) return store === true ? { ...given } : given
  if (!THREAD_ID.test(storedConversationId)) {
    const { previousResponse } = request.fieldPaths
    throw invalidRequest(previousResponse ?? 'previous_response_id', 'The id is not that of a stored response.')
  }
  return { thread_id: storedConversationId, ...given }
}

/** True when the body names a stored thread, which determines the model. */
export function hasThread(storage: JsonObject | undefined): boolean {
  const threadId = storage?.thread_id
  return typeof threadId === 'string' && threadId !== ''
}

/** The assistant or the stored thread that determines the model, as a key for the concurrency limit. */
export function findImpliedModel(request: ModelRequest): string | undefined {
  const fields = request.additionalFields
  const assistantId = fields?.assistant_id
  if (typeof assistantId === 'string' && assistantId !== '') return `assistant:${assistantId}`
  const threadId = isJsonObject(fields?.storage) ? fields.storage.thread_id : undefined
  if (typeof threadId === 'string' && threadId !== '') return `thread:${threadId}`
  const stored = request.conversation?.storedConversationId
  return stored === undefined ? undefined : `thread:${stored}`
}
