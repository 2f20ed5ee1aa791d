// Collects the requests that run in all workers when one of them asks, for the admin API
// (field-lessons.md L17).
import { type Asker, createAsker } from '../../shared/ipc/ask.ts'
import type { WorkerMessageHandlers } from '../../shared/ipc/handlers.ts'
import type { SupervisorMessageContent, WorkerMessageContent } from '../../shared/ipc/messages.ts'
import { mergeRunning } from '../../shared/running-request.ts'

/** A worker whose event loop is busy for longer is left out. */
const COLLECT_TIMEOUT_MS = 1_000

export type RunningMessageKind = 'running-list' | 'running-collected'

type Collect = Extract<SupervisorMessageContent, { kind: 'running-collect' }>
type Collected = Extract<WorkerMessageContent, { kind: 'running-collected' }>
const pairs = { 'running-collect': ['running-collected'] } as const
type CollectAsker = Asker<Collect, Collected, typeof pairs>

export interface RunningCollector {
  readonly handlers: WorkerMessageHandlers<RunningMessageKind, { readonly owner: number }>
  /** A worker has exited: what it was asked gets no reply. */
  releaseOwner(owner: number): void
}

export interface RunningCollectorDependencies {
  readonly send: (owner: number, message: SupervisorMessageContent) => void
  readonly readyOwners: () => readonly number[]
}

export function createRunningCollector({ send, readyOwners }: RunningCollectorDependencies): RunningCollector {
  const askers = new Map<number, CollectAsker>()

  function findAsker(owner: number): CollectAsker {
    const known = askers.get(owner)
    if (known !== undefined) return known
    const asker = createAsker<Collect, Collected, typeof pairs>(pairs, message => send(owner, message))
    askers.set(owner, asker)
    return asker
  }

  async function collect(): Promise<Omit<Extract<SupervisorMessageContent, { kind: 'running-listed' }>, 'requestId'>> {
    const options = { timeoutMs: COLLECT_TIMEOUT_MS }
    const replies = await Promise.all(
      readyOwners().map(owner => findAsker(owner).ask({ kind: 'running-collect' }, options))
    )
    const lists = replies.filter(reply => reply.kind === 'running-collected')
    const { requests, total } = mergeRunning(lists)
    return { kind: 'running-listed', requests: [...requests], total, silentWorkers: replies.length - lists.length }
  }

  return {
    handlers: {
      'running-list': ({ requestId }, { owner }) => void collect().then(list => send(owner, { ...list, requestId })),
      'running-collected': (message, { owner }) => askers.get(owner)?.receive(message)
    },
    releaseOwner(owner) {
      askers.get(owner)?.close()
      askers.delete(owner)
    }
  }
}
