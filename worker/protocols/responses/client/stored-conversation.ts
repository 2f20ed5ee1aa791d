// The conversation that the upstream keeps, seen from the client: the id of a response is that of the thread it stands in
// (responses.md 4 and 6). The gateway itself keeps nothing, so an id can only be what the upstream gave.

import { isJsonObject, type NormalizedRequest } from '../../../normalized/index.ts'

const ID_PREFIX = 'resp_'

/** @param conversationId the stored conversation that the provider named in its response, if it did. */
export function writeResponseId(request: NormalizedRequest, conversationId: string | undefined): string {
  return ID_PREFIX + (conversationId ?? findRequestedThread(request) ?? request.requestId)
}

/** The provider's stored conversation that a response id of the client stands for; clients may leave the prefix out. */
export function readResponseId(responseId: string): string {
  return responseId.startsWith(ID_PREFIX) ? responseId.slice(ID_PREFIX.length) : responseId
}

/** The thread that the request continues. A literal additional field wins over `previous_response_id`, as it does upstream. */
export function findRequestedThread(request: NormalizedRequest): string | undefined {
  const storage = request.additionalFields?.storage
  const given = isJsonObject(storage) ? storage.thread_id : undefined
  if (typeof given === 'string' && given !== '') return given
  return request.conversation?.storedConversationId
}

/** True when the upstream is asked to keep the conversation, whatever member asks for it. */
export function isStored(request: NormalizedRequest): boolean {
  const { previousResponseId, store } = request.conversation ?? {}
  const storage = request.additionalFields?.storage
  return previousResponseId !== undefined || store === true || storage === true || isJsonObject(storage)
}
