// Grants concurrency slots to the workers: the configured number is the total for the host
// (operations.md 3.7).
import type { MessageSender, WorkerMessageHandlers } from '../../shared/ipc/handlers.ts'
import type { SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import {
  createSlotPool,
  hostSlotLimits,
  isHostSlotKey,
  type SlotSettings,
  type SlotTicket,
  type SlotUsage,
  slotLimitsFrom
} from '../../shared/model-slots.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'

export interface ConcurrencyBroker {
  /** For the messages about slots. */
  readonly handlers: WorkerMessageHandlers<'slot-acquire' | 'slot-cancel' | 'slot-release', MessageSender>
  /** Takes back the slots of a worker process that has exited. */
  releaseOwner(owner: number): void
  counts(): { held: number; waiting: number }
  /** The models of which a slot is held or wanted now, or was refused before. */
  usage(): SlotUsage[]
  close(): void
}

/** `owner` names a worker process, not its place: a respawned worker is another owner. */
export function createConcurrencyBroker(
  { send }: { send: (owner: number, message: SupervisorMessageContent) => void },
  settings: SlotSettings,
  profiles: readonly ProviderProfile[]
): ConcurrencyBroker {
  const pool = createSlotPool(slotLimitsFrom(settings, profiles))
  const hostSlots = createSlotPool(hostSlotLimits)

  /** A pool ignores the tickets of the other one. */
  function release(ticket: SlotTicket): void {
    pool.release(ticket)
    hostSlots.release(ticket)
  }

  return {
    handlers: {
      'slot-acquire': ({ requestId, key }, { owner }) =>
        (isHostSlotKey(key) ? hostSlots : pool).acquire({ owner, requestId }, key, outcome =>
          send(owner, { kind: outcome === 'granted' ? 'slot-granted' : 'slot-refused', requestId })
        ),
      // A cancel may cross a grant, so it releases the slot as well as the place in the queue.
      'slot-cancel': ({ requestId }, { owner }) => release({ owner, requestId }),
      'slot-release': ({ requestId }, { owner }) => release({ owner, requestId })
    },
    releaseOwner(owner) {
      pool.releaseOwner(owner)
      hostSlots.releaseOwner(owner)
    },
    counts: pool.counts,
    usage: pool.usage,
    close: pool.close
  }
}
