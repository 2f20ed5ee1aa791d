// The start of a running gateway: it is live when its workers listen and its services have started, and ready when the lifecycle says so.
import type { Logger } from '../../shared/logging.ts'
import type { CatalogOfRecord } from '../host/catalog-of-record.ts'
import { EXIT_CODES } from '../lifecycle/exit-codes.ts'
import type { LifecycleEvent } from '../lifecycle/lifecycle.ts'
import type { LifecycleSteps } from '../lifecycle/lifecycle-runner.ts'
import type { ServiceManager } from '../lifecycle/service-manager.ts'
import type { StartFailure } from '../lifecycle/start-failure.ts'
import type { KeptServices } from '../services/kept-services.ts'
import type { Fleet } from '../workers/fleet.ts'

export interface ServedAddress {
  readonly host: string
  readonly port: number
}

export interface StartupDependencies {
  readonly log: Logger
  readonly fleet: Pick<Fleet, 'start' | 'broadcast'>
  readonly kept: Pick<KeptServices, 'start' | 'areStarted'>
  readonly catalog: Pick<CatalogOfRecord, 'startWarmUp'>
  readonly serviceManager: Pick<ServiceManager, 'showStatus' | 'ready'> | undefined
  readonly dispatch: (event: LifecycleEvent) => void
  readonly writeError: (line: string) => void
  /** Called once, when every worker listens. */
  readonly onServing: (address: ServedAddress) => void
}

export interface Startup {
  readonly steps: LifecycleSteps<'start-workers' | 'announce-startup' | 'announce-readiness'>
  /** Every worker listens, for the first time. */
  workersListen(address: ServedAddress): void
  /** Every service has started once. */
  servicesStarted(): void
  failed(failure: StartFailure): void
}

export function createStartup(dependencies: StartupDependencies): Startup {
  const { log, fleet, kept, serviceManager, dispatch } = dependencies
  let address: ServedAddress | undefined

  function complete(): void {
    if (address !== undefined && kept.areStarted) dispatch({ kind: 'startup-completed' })
  }

  return {
    steps: {
      'start-workers'() {
        kept.start()
        fleet.start()
      },
      'announce-startup'() {
        fleet.broadcast({ kind: 'host-started' })
        log.info({ event: 'startup_complete' }, 'Application startup complete')
        if (address !== undefined) dependencies.onServing(address)
        serviceManager?.showStatus('waiting for the model list')
        dependencies.catalog.startWarmUp()
      },
      'announce-readiness': () => serviceManager?.ready()
    },
    workersListen(served) {
      address = served
      complete()
    },
    servicesStarted: complete,
    failed({ reason, summary }) {
      dependencies.writeError(summary)
      const exitCode = reason === 'configuration' ? EXIT_CODES.wrongConfiguration : EXIT_CODES.startupFailed
      dispatch({ kind: 'startup-failed', exitCode })
    }
  }
}
