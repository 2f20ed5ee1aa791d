// Answers the workers' questions for concurrency slots: the configured number is the total for the host (operations contract, 3.7).
import type { SupervisorMessageContent, WorkerMessage } from '../shared/ipc.ts'
import { createSlotPool, type SlotSettings, slotLimitsFrom } from '../shared/model-slots.ts'

export interface ConcurrencyBroker {
  /** Takes in a message of a worker; returns false when it is not about slots. */
  receive(owner: number, message: WorkerMessage): boolean
  /** Gives back what a dead worker held. */
  releaseOwner(owner: number): void
  counts(): { held: number; waiting: number }
  close(): void
}

/** `owner` names a worker process, not its place: a worker that comes back is another owner. */
export function createConcurrencyBroker(
  dependencies: { send: (owner: number, message: SupervisorMessageContent) => void },
  settings: SlotSettings
): ConcurrencyBroker {
  const pool = createSlotPool(slotLimitsFrom(settings))
  return {
    receive(owner, message) {
      switch (message.kind) {
        case 'slot-acquire': {
          const { requestId, key } = message
          pool.acquire({ owner, requestId }, key, outcome =>
            dependencies.send(owner, { kind: outcome === 'granted' ? 'slot-granted' : 'slot-refused', requestId })
          )
          return true
        }
        case 'slot-cancel':
        case 'slot-release':
          // A cancel may cross a grant on its way, so both mean: whatever it is, it is over.
          pool.release({ owner, requestId: message.requestId })
          return true
        default:
          return false
      }
    },
    releaseOwner: pool.releaseOwner,
    counts: pool.counts,
    close: pool.close
  }
}
