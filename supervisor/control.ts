// Builds the running gateway: fleet, services, startup, shutdown and renewals around one lifecycle, and turns their events into its events.
import type { MessageSender, WorkerMessageHandlers } from '../shared/ipc/handlers.ts'
import type { ListenOptions } from '../shared/ipc/messages.ts'
import type { RuntimeLog } from '../shared/logging.ts'
import type { ServiceName } from '../shared/services.ts'
import { createHostServices } from './host/host-services.ts'
import type { KeysInForce } from './keys/keys-in-force.ts'
import { EXIT_CODES, type ExitCode } from './lifecycle/exit-codes.ts'
import { createLifecycleRunner } from './lifecycle/lifecycle-runner.ts'
import { createServiceManager } from './lifecycle/service-manager.ts'
import { CLEANUP_MS, SETTLE_MS } from './lifecycle/shutdown-bounds.ts'
import { StartFailure, workerFailure } from './lifecycle/start-failure.ts'
import type { createLimitsService } from './limits/limits-service.ts'
import type { MetricsMessageKind, SupervisorMetrics } from './metrics/supervisor-metrics.ts'
import type { RuntimePlan } from './plan/runtime-plan.ts'
import type { ForkChild } from './processes/child-process.ts'
import type { HealthPolicy } from './processes/process-keeper.ts'
import { createRestartPolicy, type RestartPolicy } from './processes/restart-policy.ts'
import { type RenewalSignals, startRenewals } from './renewals.ts'
import { createKeptServices, type KeptServicesEvent } from './services/kept-services.ts'
import type { ServiceMetricsMessage } from './services/service-keeper.ts'
import { createShutdown } from './steps/shutdown-steps.ts'
import { createStartup, type ServedAddress } from './steps/startup-steps.ts'
import { createFleet, type FleetEvent } from './workers/fleet.ts'
import { createWorkerConfiguration, type WorkerConfigurationOptions } from './workers/worker-configuration.ts'

export interface ControlOptions extends WorkerConfigurationOptions {
  readonly plan: RuntimePlan
  readonly keys: KeysInForce
  readonly listen: ListenOptions
  readonly restartPolicy: RestartPolicy
  readonly healthPolicy: HealthPolicy
}

export interface ControlDependencies {
  readonly runtimeLog: RuntimeLog
  readonly forkWorker: ForkChild
  /** Start the writer of traffic records, the store of responses and the process of shared limits. */
  readonly forkService: Readonly<Record<ServiceName, ForkChild>>
  readonly signals: RenewalSignals
  /** Variables of the service manager, where one runs the gateway. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Writes one line to stderr, for the operator. */
  readonly writeError: (line: string) => void
  /** Called once, when every worker listens. */
  readonly onServing: (address: ServedAddress) => void
  /** Undefined while metrics are off. */
  readonly metrics?: SupervisorMetrics | undefined
  /** Undefined without a keys file. */
  readonly createLimits?: typeof createLimitsService | undefined
  /** Where the service processes listen; none for one that is not needed. */
  readonly socketPaths: Readonly<Partial<Record<ServiceName, string>>>
}

export interface Control {
  /** Starts the shutdown; a second call cancels running requests at once. */
  stop(): void
  /** Resolves after the last process has exited, with the exit code of this one. */
  readonly ended: Promise<ExitCode>
}

/** No worker sends these while metrics are off. */
const ignoreMetrics: WorkerMessageHandlers<MetricsMessageKind, MessageSender> = {
  'metrics-delta': () => undefined,
  'metrics-collected': () => undefined,
  'metrics-scrape': () => undefined
}

/** Starts the workers and everything that the supervisor owns while they run. */
export function startControl(dependencies: ControlDependencies, options: ControlOptions): Control {
  const { runtimeLog, metrics, socketPaths, writeError } = dependencies
  const { log } = runtimeLog
  const { plan, keys } = options
  const { settings, profiles, revisions } = plan
  const { promise: ended, resolve: end } = Promise.withResolvers<ExitCode>()
  const startupTimeoutMs = settings.startupTimeoutSeconds * 1000
  const drainTimeoutMs = settings.shutdownTimeoutSeconds * 1000
  const graceSeconds = settings.shutdownReadinessGraceSeconds
  const clocks = { nowMs: () => performance.now(), random: Math.random }

  const kept = createKeptServices(
    {
      log,
      ...clocks,
      forkService: dependencies.forkService,
      onEvent: receiveKept,
      onMetrics: receiveKeptMetrics,
      registry: metrics?.registry
    },
    {
      settings,
      socketPaths,
      isQuiet: options.isQuiet,
      startupTimeoutMs,
      restartPolicy: createRestartPolicy(1),
      healthPolicy: options.healthPolicy
    }
  )
  // The fleet needs the handlers of the services, and they need the fleet for what they send later.
  const services = createHostServices(
    {
      log,
      fleet: {
        send: (owner, message) => fleet.send(owner, message),
        broadcast: message => fleet.broadcast(message),
        nextReadyOwner: () => fleet.nextReadyOwner(),
        readyOwners: () => fleet.readyOwners()
      },
      keys,
      createLimits: dependencies.createLimits,
      sharedCounters: kept.counters,
      onCatalogFilled: () => lifecycle.dispatch({ kind: 'catalog-filled' })
    },
    plan
  )
  const fleet = createFleet(
    {
      log,
      ...clocks,
      fork: dependencies.forkWorker,
      services: { ...services.handlers, ...(metrics?.handlers ?? ignoreMetrics) },
      onEvent: receive
    },
    {
      workerCount: settings.workers,
      startupTimeoutMs,
      restartPolicy: options.restartPolicy,
      healthPolicy: options.healthPolicy,
      replacement: { drainTimeoutMs, sharesPort: options.listen.reusePort },
      revisions,
      configure: createWorkerConfiguration(
        {
          keys,
          listen: () => renewals.listen(),
          lifecycle: () => lifecycle.state,
          snapshot: services.snapshot,
          socketPaths
        },
        options
      )
    }
  )
  const serviceManager = createServiceManager({
    log,
    environment: dependencies.environment,
    pid: process.pid,
    // The fleet kills workers that do not answer.
    isAlive: () => fleet.readyOwners().length > 0
  })
  const startup = createStartup({
    log,
    fleet,
    kept,
    catalog: services.catalog,
    serviceManager,
    dispatch: event => lifecycle.dispatch(event),
    writeError,
    onServing: dependencies.onServing
  })
  const shutdown = createShutdown(
    { log, fleet, kept, slots: services.slots, limits: services.limits, serviceManager },
    { graceSeconds, drainTimeoutMs }
  )
  const lifecycle = createLifecycleRunner({
    steps: { ...startup.steps, ...shutdown.steps },
    timersMs: { grace: graceSeconds * 1000, drain: drainTimeoutMs, settle: SETTLE_MS, cleanup: CLEANUP_MS },
    onExit: finish
  })
  const renewals = startRenewals(
    {
      runtimeLog,
      signals: dependencies.signals,
      fleet,
      kept,
      keys,
      isLive: () => lifecycle.state.phase === 'live',
      registry: metrics?.registry
    },
    options
  )
  metrics?.connect({
    send: (owner, message) => {
      if (owner >= 0) fleet.send(owner, message)
      else if (message.kind === 'metrics-collect') kept.collectMetrics(owner, message.requestId)
    },
    readyOwners: () => [...fleet.readyOwners(), ...kept.readyOwners()]
  })
  metrics?.watch({
    nowMs: Date.now,
    settings,
    profiles,
    lifecycle: () => lifecycle.state,
    fleet,
    slots: services.slots,
    catalog: services.catalog,
    health: services.health,
    limits: services.limits,
    certificate: renewals.certificate
  })

  function receive(event: FleetEvent): void {
    switch (event.kind) {
      case 'startup-completed':
        startup.workersListen(event.address)
        break
      case 'startup-failed':
        startup.failed(workerFailure(event.reason, event.detail, options.listen))
        break
      case 'workers-keep-dying':
        writeError('workers_keep_dying: workers exit faster than they can be respawned')
        log.fatal({ event: 'workers_keep_dying' }, 'Workers exit faster than they can be respawned')
        lifecycle.dispatch(event)
        break
      case 'drain-acknowledged':
      case 'requests-done':
        lifecycle.dispatch(event)
        break
      case 'worker-exited':
        services.releaseOwner(event.owner)
        metrics?.releaseOwner(event.owner)
        break
      case 'all-exited':
        lifecycle.dispatch({ kind: 'workers-exited' })
        break
    }
  }

  function receiveKept(event: KeptServicesEvent): void {
    switch (event.kind) {
      case 'started':
        startup.servicesStarted()
        break
      case 'start-failed':
        startup.failed(new StartFailure(event.reason, event.detail))
        break
      case 'exited':
        metrics?.releaseOwner(event.owner)
        break
      case 'closed':
        lifecycle.dispatch({ kind: 'services-closed' })
        break
    }
  }

  function receiveKeptMetrics(message: ServiceMetricsMessage, owner: number): void {
    const sender = { owner, workerId: 0 }
    if (message.kind === 'metrics-delta') metrics?.handlers['metrics-delta'](message, sender)
    else metrics?.handlers['metrics-collected'](message, sender)
  }

  function finish(exitCode: ExitCode): void {
    shutdown.close()
    renewals.close()
    serviceManager?.close()
    services.close()
    if (exitCode === EXIT_CODES.cleanupExceeded) writeError('cleanup_exceeded: closing took longer than its bound')
    log.info({ event: 'shutdown_complete', exit_code: exitCode }, 'Application shutdown complete')
    end(exitCode)
  }

  lifecycle.dispatch({ kind: 'start-accepted' })
  return { stop: () => lifecycle.dispatch({ kind: 'stop-signal' }), ended }
}
