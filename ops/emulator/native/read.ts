// What the requests of v1 and v2 have in common: the body, the thread, the model, and the place of a message.
import type { ChatTurn } from '../chat-request.ts'
import { joinTurns, type ReadScope } from '../chat-wire.ts'
import { badRequest, noSuchModel, unprocessable } from '../errors.ts'
import { isObject } from '../json.ts'
import type { Thread } from '../threads.ts'
import { checkSystemPlace, refuseNulls } from '../validation.ts'

/** The body as an object. Throws UpstreamError 400 for nulls and for members of other protocols. */
export function readNativeBody(body: unknown, foreignMembers: readonly string[]): Record<string, unknown> {
  if (!isObject(body)) throw badRequest('the body must be an object')
  refuseNulls(body, '')
  for (const name of foreignMembers) {
    if (body[name] !== undefined) throw badRequest(`${name} is not known here`)
  }
  return body
}

export interface Conversation {
  model: string
  thread: Thread | null
  /** The messages of the request. */
  turns: ChatTurn[]
  /** The same behind the stored ones of the thread. */
  joined: ChatTurn[]
}

export interface ConversationReader {
  /** Whether a `storage` object without a thread id starts a thread. */
  startsThread: (storage: Record<string, unknown>) => boolean
  readMessage: (message: unknown, index: number, scope: ReadScope) => ChatTurn
}

/** Reads thread, model and messages, in this order. Throws UpstreamError 400, 404 or 422. */
export function readConversation(
  body: Record<string, unknown>,
  scope: ReadScope,
  { startsThread, readMessage }: ConversationReader
): Conversation {
  const storage = isObject(body.storage) ? body.storage : undefined
  const thread = storage === undefined ? null : findThread(body, scope, { storage, startsThread })
  const model = typeof body.model === 'string' ? body.model : thread?.model
  if (model === undefined) throw unprocessable('model is required')
  const known = scope.models.find(model)
  if (known === undefined) throw noSuchModel()
  if (known.type !== 'chat') throw unprocessable('Requested model does not support chat completions')
  if (!Array.isArray(body.messages) || body.messages.length === 0) throw unprocessable('messages must not be empty')
  const turns = body.messages.map((message, index) => readMessage(message, index, scope))
  return { model, thread, turns, joined: joinTurns(thread, turns, storage?.limit) }
}

interface Storage extends Pick<ConversationReader, 'startsThread'> {
  storage: Record<string, unknown>
}

function findThread(
  body: Record<string, unknown>,
  scope: ReadScope,
  { storage, startsThread }: Storage
): Thread | null {
  const { account, threads } = scope
  if (typeof storage.thread_id === 'string') return threads.find({ account, id: storage.thread_id })
  if (!startsThread(storage)) return null
  return threads.start({ account, model: typeof body.model === 'string' ? body.model : 'GigaChat' })
}

/** Returns message and role. Throws UpstreamError 400 or 422 for an unknown role, and for one in the wrong place. */
export function checkMessage(
  message: unknown,
  index: number,
  roles: readonly string[]
): { fields: Record<string, unknown>; role: string; at: string } {
  const at = `messages[${index}]`
  if (!isObject(message)) throw badRequest(`${at} must be an object`)
  const { role } = message
  if (typeof role !== 'string' || !roles.includes(role)) throw unprocessable(`${at}.role is unknown`)
  checkSystemPlace(role, index)
  return { fields: message, role, at }
}
