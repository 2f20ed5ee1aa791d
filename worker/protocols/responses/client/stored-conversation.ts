// The conversation that the upstream keeps, seen from the client: the id of a response is that of the thread it stands in
// (responses.md 4 and 6). The gateway itself keeps nothing, so an id can only be what the upstream gave.

import { isJsonObject, type NormalizedRequest } from '../../../normalized/index.ts'

const ID_PREFIX = 'resp_'

/** @param threadId the thread the upstream named in its answer, if it did. */
export function writeResponseId(request: NormalizedRequest, threadId: string | undefined): string {
  return ID_PREFIX + (threadId ?? findRequestedThread(request) ?? request.requestId)
}

/** The thread that the request continues. A literal additional field wins over `previous_response_id`, as it does upstream. */
export function findRequestedThread(request: NormalizedRequest): string | undefined {
  const storage = request.providerOptions.native?.fields.storage
  const given = isJsonObject(storage) ? storage.thread_id : undefined
  if (typeof given === 'string' && given !== '') return given
  const previous = request.conversation?.previousResponseId
  return previous?.startsWith(ID_PREFIX) ? previous.slice(ID_PREFIX.length) : previous
}

/** True when the upstream is asked to keep the conversation, whatever member asks for it. */
export function isStored(request: NormalizedRequest): boolean {
  const { previousResponseId, store } = request.conversation ?? {}
  const storage = request.providerOptions.native?.fields.storage
  return previousResponseId !== undefined || store === true || storage === true || isJsonObject(storage)
}
