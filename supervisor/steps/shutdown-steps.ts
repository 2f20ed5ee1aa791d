// The stop of a running gateway, one function for each effect of the lifecycle: readiness, drain, cancelled requests, workers, services.
import type { Logger } from '../../shared/logging.ts'
import type { ConcurrencyBroker } from '../host/concurrency-broker.ts'
import type { HostServices } from '../host/host-services.ts'
import type { LifecycleSteps } from '../lifecycle/lifecycle-runner.ts'
import type { ServiceManager } from '../lifecycle/service-manager.ts'
import type { KeptServices } from '../services/kept-services.ts'
import type { Fleet } from '../workers/fleet.ts'
import { startDrainReport } from './drain-report.ts'

export interface ShutdownDependencies {
  readonly log: Logger
  readonly fleet: Pick<Fleet, 'activeRequests' | 'broadcast' | 'drain' | 'close' | 'kill'>
  readonly kept: Pick<KeptServices, 'giveUpStart' | 'close' | 'kill'>
  readonly slots: Pick<ConcurrencyBroker, 'counts'>
  readonly limits: Pick<HostServices['limits'], 'close'>
  readonly serviceManager: Pick<ServiceManager, 'showStatus' | 'stopping'> | undefined
}

export interface ShutdownOptions {
  readonly graceSeconds: number
  readonly drainTimeoutMs: number
}

export interface Shutdown {
  readonly steps: LifecycleSteps<
    | 'announce-shutdown'
    | 'withdraw-readiness'
    | 'drain-workers'
    | 'close-listeners'
    | 'cancel-requests'
    | 'close-workers'
    | 'close-services'
    | 'kill-processes'
  >
  /** Ends the report of the drain, where the gateway ends before its workers were closed. */
  close(): void
}

export function createShutdown(
  { log, fleet, kept, slots, limits, serviceManager }: ShutdownDependencies,
  { graceSeconds, drainTimeoutMs }: ShutdownOptions
): Shutdown {
  let report: NodeJS.Timeout | undefined

  return {
    steps: {
      'announce-shutdown'() {
        log.info({ event: 'shutdown_initiated' }, 'Application shutdown initiated')
        serviceManager?.stopping()
      },
      'withdraw-readiness'() {
        fleet.broadcast({ kind: 'readiness-withdrawn' })
        if (graceSeconds === 0) return
        const fields = { event: 'shutdown_grace', seconds: graceSeconds }
        log.info(fields, 'Readiness is false, and requests are served until the grace ends')
        serviceManager?.showStatus(`not ready; serves for ${graceSeconds} s more`)
      },
      'drain-workers'() {
        log.info({ event: 'drain_started' }, 'New model requests are refused; running ones go on')
        fleet.drain()
        report = startDrainReport({ log, fleet, slots, serviceManager }, drainTimeoutMs)
      },
      'close-listeners': () => fleet.broadcast({ kind: 'close-listener' }),
      'cancel-requests'() {
        log.warn({ event: 'requests_cancelled', active: fleet.activeRequests() }, 'Running requests are cancelled')
        fleet.broadcast({ kind: 'cancel' })
      },
      'close-workers'() {
        clearInterval(report)
        // A terminal and a service manager signal every process, and a process that is still
        // loading exits on the signal.
        kept.giveUpStart()
        fleet.close()
      },
      'close-services'() {
        // No worker is left that counts, and the place of the counters still takes what was counted.
        limits.close()
        kept.close()
      },
      'kill-processes'() {
        log.error({ event: 'cleanup_exceeded' }, 'Cleanup took too long; processes that still run are killed')
        fleet.kill()
        kept.kill()
      }
    },
    close: () => clearInterval(report)
  }
}
