// Maps response ids to the conversations that the upstream stores: the id of a response is the id of its thread (responses.md 4 and
// 6). Without a store these are the only ids.

import { isJsonObject, type NormalizedRequest } from '../../../normalized/index.ts'

const ID_PREFIX = 'resp_'

/**
 * The id of the response: that of the gateway's own memory where it keeps the state (memory.md 2).
 * @param conversationId id of the stored conversation in the provider's response; undefined when it has none.
 */
export function writeResponseId(request: NormalizedRequest, conversationId: string | undefined): string {
  if (request.turn !== undefined) return request.turn.id
  return ID_PREFIX + (conversationId ?? findRequestedThread(request) ?? request.requestId)
}

/** The id of the provider's stored conversation in a response id; clients may omit the prefix. */
export function readResponseId(responseId: string): string {
  return responseId.startsWith(ID_PREFIX) ? responseId.slice(ID_PREFIX.length) : responseId
}

/** The thread that the request continues. An additional field wins over the members of the protocol, as it does upstream. */
export function findRequestedThread(request: NormalizedRequest): string | undefined {
  const storage = request.additionalFields?.storage
  const given = isJsonObject(storage) ? storage.thread_id : undefined
  if (typeof given === 'string' && given !== '') return given
  return request.conversation?.storedConversationId
}

/** The key in the ids of the items that the gateway writes; undefined for that of the request or the provider. */
export function findItemKey({ turn }: NormalizedRequest): string | undefined {
  // A client may give several requests one id, and items of stored responses are found by theirs.
  return turn?.id.slice(ID_PREFIX.length)
}

/** True when any member of the request asks the upstream to store the conversation. */
export function isStored(request: NormalizedRequest): boolean {
  const { storedConversationId, store } = request.conversation ?? {}
  const storage = request.additionalFields?.storage
  return storedConversationId !== undefined || store === true || storage === true || isJsonObject(storage)
}
