// Adds up what the workers have seen of the profiles and tells all workers the sum, once a second at
// most (bridge.md 5.4). What a worker has reported stays when it exits.
import type { WorkerMessageHandlers } from '../../shared/ipc/handlers.ts'
import type { SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import { createHealthBoard, type ProviderHealth } from '../../shared/provider-health.ts'

/** Between two messages to the workers. */
const PUBLISH_INTERVAL_MS = 1_000

export interface HealthOfRecord {
  readonly handlers: WorkerMessageHandlers<'provider-health-report', unknown>
  current(): readonly ProviderHealth[]
  close(): void
}

export function createHealthOfRecord(
  { broadcast }: { readonly broadcast: (message: SupervisorMessageContent) => void },
  profileIds: readonly string[]
): HealthOfRecord {
  const board = createHealthBoard(profileIds)
  /** Runs while the last message is younger than the interval. */
  let timer: NodeJS.Timeout | undefined
  let isChanged = false

  function publish(): void {
    isChanged = false
    broadcast({ kind: 'provider-health-published', providers: [...board.list()] })
    timer = setTimeout(() => {
      timer = undefined
      if (isChanged) publish()
    }, PUBLISH_INTERVAL_MS).unref()
  }

  return {
    handlers: {
      'provider-health-report'({ reports }) {
        board.add(reports)
        isChanged = true
        if (timer === undefined) publish()
      }
    },
    current: board.list,
    close() {
      clearTimeout(timer)
    }
  }
}
