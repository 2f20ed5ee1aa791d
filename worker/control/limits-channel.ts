// The worker's questions to the supervisor about limits (keys.md 3): leases of a key's counters, and what keys use now.
import type { AskSignal } from '../../shared/ipc/ask.ts'
import type { ContentOf, MessageOf, SupervisorMessageFields, WorkerMessageFields } from '../../shared/ipc/messages.ts'
import { createWorkerAsker } from '../../shared/ipc/worker-requests.ts'
import type { KeyUsage, LeaseSource } from '../../shared/limits/leases.ts'

/** The supervisor answers after at most a second, also where it asks a shared place first. */
const ANSWER_TIMEOUT_MS = 2_000

type LimitsRequest = ContentOf<
  WorkerMessageFields,
  'limits-lease' | 'limits-lease-cancelled' | 'limits-settle' | 'keys-usage'
>
export type LimitsMessage = MessageOf<
  SupervisorMessageFields,
  'limits-granted' | 'limits-refused' | 'limits-unavailable' | 'keys-usage-listed'
>

export interface LimitsChannel {
  readonly leases: LeaseSource
  /** What the keys with limits use now; undefined where the supervisor did not answer in time, or `signal` came first. */
  listUsage(signal: AskSignal): Promise<readonly KeyUsage[] | undefined>
  /** Handles a message of the supervisor. */
  receive(message: LimitsMessage): void
  /** Ends every wait: the worker exits. */
  close(): void
}

/** The channel of a worker: requests go out through `send`, replies come in through `receive`. */
export function createLimitsChannel({ send }: { send: (message: LimitsRequest) => void }): LimitsChannel {
  const asker = createWorkerAsker<'limits-lease' | 'keys-usage'>(send)
  return {
    leases: {
      async lease(key, amounts, signal) {
        signal.throwIfAborted()
        // What is granted after the end of the wait is given back by the supervisor.
        const onAbandoned = (requestId: number) => send({ kind: 'limits-lease-cancelled', requestId })
        const options = { signal, timeoutMs: ANSWER_TIMEOUT_MS, onAbandoned }
        const reply = await asker.ask({ kind: 'limits-lease', key, amounts }, options)
        switch (reply.kind) {
          case 'limits-granted': {
            const { amounts: granted, grantedAtMs, meters } = reply
            return { kind: 'granted', amounts: granted, grantedAtMs, meters }
          }
          case 'limits-refused':
            return { kind: 'refused', refusal: reply.refusal, meters: reply.meters }
          case 'limits-unavailable':
            return { kind: 'unavailable' }
          case 'unanswered':
            signal.throwIfAborted()
            return { kind: 'unavailable' }
        }
      },
      settle: settlements => send({ kind: 'limits-settle', settlements: [...settlements] })
    },
    async listUsage(signal) {
      const reply = await asker.ask({ kind: 'keys-usage' }, { signal, timeoutMs: ANSWER_TIMEOUT_MS })
      return reply.kind === 'keys-usage-listed' ? reply.usages : undefined
    },
    receive: asker.receive,
    close: asker.close
  }
}
