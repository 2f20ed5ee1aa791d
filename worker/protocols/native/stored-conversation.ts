// Conversations that the upstream stores: only v2 has them, and only the Responses operation asks for them (responses.md 6).

import { GatewayError, invalidRequest, type JsonObject, type NormalizedRequest } from '../../normalized/index.ts'

const THREAD_ID = /^[A-Za-z0-9._:-]{1,256}$/

/**
 * The v2 `storage` member that the request and its additional field ask for; undefined for a conversation that is not stored.
 * Raises `invalid_request` for a response id that holds no thread id.
 */
export function planStorage(request: NormalizedRequest, given: JsonObject | undefined): JsonObject | undefined {
  if (request.protocol !== 'responses') return given
  const { previousResponseId, store } = request.conversation ?? {}
  if (previousResponseId === undefined) return store === true ? { ...given } : given
  const threadId = previousResponseId.replace(/^resp_/, '')
  if (!THREAD_ID.test(threadId)) {
    throw invalidRequest('previous_response_id', 'The id is not that of a stored response.')
  }
  return { thread_id: threadId, ...given }
}

/** v1 stores nothing. Raises `unsupported_semantic` when the client relies on it (decisions 4). */
export function refuseStorage(request: NormalizedRequest): void {
  if (request.protocol !== 'responses') return
  const { previousResponseId, store } = request.conversation ?? {}
  const param = previousResponseId !== undefined ? 'previous_response_id' : store === true ? 'store' : undefined
  if (param === undefined) return
  throw new GatewayError('unsupported_semantic', {
    param,
    message: 'The v1 contract of the upstream stores no conversations.'
  })
}

/** True when the body names a stored thread, which brings its own model. */
export function hasThread(storage: JsonObject | undefined): boolean {
  const threadId = storage?.thread_id
  return typeof threadId === 'string' && threadId !== ''
}
