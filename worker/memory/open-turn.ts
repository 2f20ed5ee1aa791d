// Begins the turn of a Responses request: reads what its body wants of the memory, asks the store for the history, and writes the body
// that is translated (memory.md 2 and 3).

import { type History, STORED_RESPONSE_ID, type StoredItem, StoreUnavailable } from '../../shared/memory/store.ts'
import { type ExecutionPlan, resolveRoute } from '../bridge/resolve-route.ts'
import { GatewayError, invalidRequest, type ResponseTurn } from '../normalized/index.ts'
import type { ChatTurn } from './chat-turn.ts'
import { acquireLease, type ConversationLease, unknownConversation } from './conversation-lease.ts'
import { createResponseId } from './new-ids.ts'
import { listReferences, type MemoryWish, needsHistory, readMemoryWishInTurns, unknownItem } from './read-wish.ts'
import { StoredTurn, type TurnHistory } from './stored-turn.ts'
import type { MemoryDependencies, TurnRequest } from './turn-request.ts'

/**
 * Begins a turn. Undefined for a request that neither needs nor gets anything stored, and for one whose provider keeps its state: it takes
 * its way without memory. Raises the errors of what it names and the store does not have.
 */
export async function openTurn(dependencies: MemoryDependencies, request: TurnRequest): Promise<ChatTurn | undefined> {
  const wish = await readMemoryWishInTurns(request.body, dependencies.ownTurn)
  if (wish === undefined) return undefined
  const isCount = request.isCount === true
  const isStored = !isCount && (wish.store ?? dependencies.storesByDefault)
  const isBackground = !isCount && wish.isBackground
  if (!isStored && !isBackground && !needsHistory(wish)) return undefined
  const plan = findPlan(dependencies, wish, request)
  if (plan === 'none' || (plan !== undefined && keepsOwnState(plan))) return undefined
  if (isThread(wish, plan) && !isStored && listReferences(wish.input).length === 0) return undefined
  if (isBackground && !isStored) {
    throw invalidRequest('store', `A response that runs in the background is stored: 'store' must not be false.`)
  }
  const response = createResponse(wish, { isStored, isBackground, createdAt: request.createdAt })
  const lease = isStored ? await leaseConversation(dependencies, request, { wish, response }) : undefined
  try {
    const history = await readHistory(dependencies, request, { wish, plan })
    return new StoredTurn({ dependencies, request, wish, response, history, lease })
  } catch (thrown) {
    await lease?.release()
    throw thrown
  }
}

function createResponse(
  { previousResponseId, conversationId }: MemoryWish,
  kind: Pick<Required<ResponseTurn>, 'isStored' | 'isBackground' | 'createdAt'>
): ResponseTurn {
  return {
    id: createResponseId(),
    ...kind,
    ...(previousResponseId !== undefined && { previousResponseId }),
    ...(conversationId !== undefined && { conversationId })
  }
}

/** 'none' for a model that leads nowhere, undefined for a request without one: the translation says so. */
function findPlan(
  { routes, faces }: MemoryDependencies,
  { model }: MemoryWish,
  { apiMode, scope }: Pick<TurnRequest, 'apiMode' | 'scope'>
): ExecutionPlan | 'none' | undefined {
  const named = model?.trim()
  try {
    return resolveRoute(named === undefined || named === '' ? {} : { model: named }, apiMode, { routes, faces, scope })
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown
    return thrown.code === 'unknown_model_alias' ? 'none' : undefined
  }
}

/** Whether the provider keeps the state of its clients: a Responses wire, unless its profile says otherwise (decisions.md 86). */
function keepsOwnState({ wire, isStateOurs }: ExecutionPlan): boolean {
  return wire === 'responses' && isStateOurs !== true
}

/** Whether the request continues a thread of the native upstream. */
function isThread({ previousResponseId }: MemoryWish, plan: ExecutionPlan | undefined): boolean {
  if (previousResponseId === undefined || STORED_RESPONSE_ID.test(previousResponseId)) return false
  return plan === undefined || (plan.providerKind === NATIVE && plan.apiMode === 'v2')
}

const NATIVE = 'native'

function leaseConversation(
  { store, nowMs }: MemoryDependencies,
  { owner, signal }: TurnRequest,
  { wish, response }: { wish: MemoryWish; response: ResponseTurn }
): Promise<ConversationLease> | undefined {
  const { conversationId } = wish
  if (conversationId === undefined) return undefined
  const conversation = { owner, id: conversationId }
  return needed(acquireLease({ store, conversation, holder: response.id, signal, nowMs }))
}

const NO_HISTORY: TurnHistory = { turns: [], references: new Map(), threadId: undefined }

async function readHistory(
  { store }: MemoryDependencies,
  { owner }: TurnRequest,
  { wish, plan }: { wish: MemoryWish; plan: ExecutionPlan | undefined }
): Promise<TurnHistory> {
  if (!needsHistory(wish)) return NO_HISTORY
  const { previousResponseId, conversationId } = wish
  const references = listReferences(wish.input)
  const isOfThread = isThread(wish, plan)
  if (isOfThread && references.length === 0) return { ...NO_HISTORY, threadId: toThreadId(previousResponseId) }
  if (previousResponseId !== undefined && !isOfThread && !STORED_RESPONSE_ID.test(previousResponseId)) {
    throw unknownResponse(previousResponseId)
  }
  const found = await needed(
    store.readHistory({
      owner,
      previousResponseId: isOfThread ? undefined : previousResponseId,
      conversationId,
      itemIds: references.map(({ id }) => id)
    })
  )
  if (found.kind !== 'found') throw refuseHistory(found, wish)
  const inHistory = new Set(found.turns.flatMap(turn => turn.map(({ id }) => id)))
  return {
    turns: found.turns,
    threadId: isOfThread ? toThreadId(previousResponseId) : found.threadId,
    references: new Map(
      references.map(({ index, id }, place): [number, StoredItem | 'in-history'] => {
        const item = found.items[place]
        if (inHistory.has(id)) return [index, 'in-history']
        if (item === undefined) throw unknownItem(index, id)
        return [index, item]
      })
    )
  }
}

/** A store that gives no answer is an error of the request only where it needs the store. */
async function needed<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked
  } catch (thrown) {
    if (!(thrown instanceof StoreUnavailable)) throw thrown
    throw new GatewayError('store_unavailable', { retryAfter: '1', cause: thrown })
  }
}

function refuseHistory({ kind, what, id }: Exclude<History, { kind: 'found' }>, wish: MemoryWish): GatewayError {
  if (kind === 'running') {
    return invalidRequest(
      'previous_response_id',
      'The previous response is still running. Continue it when it has ended.'
    )
  }
  switch (what) {
    case 'response':
      return unknownResponse(wish.previousResponseId ?? id)
    case 'conversation':
      return unknownConversation(wish.conversationId ?? id)
    case 'item': {
      const reference = listReferences(wish.input).find(one => one.id === id)
      return unknownItem(reference?.index ?? 0, id)
    }
  }
}

/** Longer ids are cut in the error. */
const SHOWN_ID_CHARACTERS_MAX = 128

function unknownResponse(id: string): GatewayError {
  return new GatewayError('previous_response_not_found', {
    param: 'previous_response_id',
    message: `Previous response with id '${id.slice(0, SHOWN_ID_CHARACTERS_MAX)}' not found.`
  })
}

function toThreadId(id: string | undefined): string | undefined {
  return id?.startsWith('resp_') === true ? id.slice('resp_'.length) : id
}
