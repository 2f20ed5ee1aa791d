// Makes a request the only one that may add a turn to its conversation, for as long as it runs (memory.md 3).

import { setTimeout as wait } from 'node:timers/promises'
import type { OwnedId, ResponseStore } from '../../shared/memory/store.ts'
import { GatewayError } from '../normalized/index.ts'

/** A lease whose holder has ended without a word runs out. */
const LEASE_MS = 30_000
const RENEWAL_MS = 10_000
/** How long a turn waits for the one before it. */
const WAIT_MS_MAX = 10_000
const POLL_MS = 100

export interface ConversationLease {
  /** Lets the next turn begin. Never rejects: the lease runs out. */
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly store: Pick<ResponseStore, 'acquireConversation' | 'releaseConversation'>
  readonly conversation: OwnedId
  readonly holder: string
  /** Ends the wait. */
  readonly signal: AbortSignal
  readonly nowMs: () => number
}

/**
 * Waits for the conversation, at most ten seconds. Raises `conversation_busy` then, and `object_not_found` for one that is not stored.
 */
export async function acquireLease(options: LeaseOptions): Promise<ConversationLease> {
  const { store, conversation, holder, signal, nowMs } = options
  const acquire = { ...conversation, holder, leaseMs: LEASE_MS }
  const deadline = nowMs() + WAIT_MS_MAX
  for (;;) {
    const result = await store.acquireConversation(acquire)
    if (result === undefined) throw unknownConversation(conversation.id)
    if (result === 'acquired') break
    if (nowMs() >= deadline) throw new GatewayError('conversation_busy', { param: 'conversation' })
    await wait(POLL_MS, undefined, { signal }).catch(() => {
      throw signal.reason
    })
  }
  // A renewal that fails is followed by the next one: the lease outlives two of them.
  const renewal = setInterval(() => void store.acquireConversation(acquire).catch(() => undefined), RENEWAL_MS)
  return {
    async release() {
      clearInterval(renewal)
      await store.releaseConversation({ ...conversation, holder }).catch(() => undefined)
    }
  }
}

/** Longer ids are cut in the error. */
const SHOWN_ID_CHARACTERS_MAX = 128

/** The error for a conversation that is not stored, or is another owner's. */
export function unknownConversation(id: string): GatewayError {
  return new GatewayError('object_not_found', {
    param: 'conversation',
    message: `Conversation with id '${id.slice(0, SHOWN_ID_CHARACTERS_MAX)}' not found.`
  })
}
