// Says every second of a drain what it still waits for, in the log and to the service manager (operations.md 3.8).
import type { Logger } from '../../shared/logging.ts'
import type { ConcurrencyBroker } from '../host/concurrency-broker.ts'
import type { ServiceManager } from '../lifecycle/service-manager.ts'
import type { Fleet } from '../workers/fleet.ts'

const INTERVAL_MS = 1_000

export interface DrainReportDependencies {
  readonly log: Logger
  readonly fleet: Pick<Fleet, 'activeRequests'>
  readonly slots: Pick<ConcurrencyBroker, 'counts'>
  readonly serviceManager: Pick<ServiceManager, 'showStatus'> | undefined
}

/** Returns the timer of the report; clearing it ends the report. */
export function startDrainReport(
  { log, fleet, slots, serviceManager }: DrainReportDependencies,
  deadlineMs: number
): NodeJS.Timeout {
  const startedAtMs = performance.now()
  return setInterval(() => {
    const elapsedMs = performance.now() - startedAtMs
    const secondsLeft = Math.max(0, Math.ceil((deadlineMs - elapsedMs) / 1000))
    const active = fleet.activeRequests()
    log.info(
      { event: 'drain_progress', active, waiting: slots.counts().waiting, seconds_left: secondsLeft },
      'Draining'
    )
    serviceManager?.showStatus(`draining ${active} active`)
  }, INTERVAL_MS)
}
